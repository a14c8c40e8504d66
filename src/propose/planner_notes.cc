// What a plan says besides its steps: instructions that a generation adds or that this one lacks, the kernel's share in the whole, and
// what the planner could not tell.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "propose/planner.h"
#include "propose/reference_source.h"

namespace kforge::propose {
namespace {

using task::Dtype;

enum class Needs : std::uint8_t { anything, matrix_type, integers, f32_matrix };

struct MoveRow {
  int first_sm, last_sm;            // 0: no end
  std::string_view patterns;        // words between blanks; empty: all
  Needs needs;
  std::string_view move, rule;
};
// CUDA C++ Programming Guide 13.0 and PTX ISA 9.0, the sections of each instruction.
constexpr std::array<MoveRow, 10> kMoves{{
    {80, 0, "gemm convolution attention stencil", Needs::anything, "cp.async copies global to shared memory in the background", "async-copies"},
    {90, 0, "gemm convolution attention stencil transpose", Needs::anything, "TMA (cp.async.bulk.tensor) copies whole tiles with one thread and an mbarrier", "hopper-wgmma-tma"},
    {90, 90, "gemm convolution attention", Needs::matrix_type, "wgmma multiplies tiles from shared memory, fed by TMA, by warpgroups with roles of their own", "hopper-wgmma-tma"},
    {100, 0, "gemm convolution attention", Needs::matrix_type, "tcgen05 matrix products accumulate in tensor memory", "tensor-cores"},
    {75, 0, "gemm convolution attention", Needs::matrix_type, "mma.sync on tensor cores", "tensor-cores"},
    {80, 0, "gemm convolution attention", Needs::f32_matrix, "tf32 tensor cores are three times and more as fast, and not exact enough for f32: only if the task states its own bounds", "tensor-cores"},
    {90, 0, "scan stencil reduction", Needs::integers, "DPX instructions do a maximum of sums in one step, for dynamic programming on integers", "dpx-dynamic-programming"},
    {80, 0, "reduction arg_reduction", Needs::integers, "redux.sync reduces integers of a warp in one instruction", "redux-integers"},
    {90, 0, "reduction softmax layer_norm rms_norm histogram", Needs::anything, "thread block clusters share rows or bins across blocks in distributed shared memory", "retarget"},
    {89, 0, "gemm attention", Needs::matrix_type, "fp8 tensor cores double the rate where the task's types allow e4m3 or e5m2", "tensor-cores"},
}};

bool lists(std::string_view patterns, std::string_view pattern) {
  if (patterns.empty()) return true;
  for (std::size_t at = patterns.find(pattern); at != std::string_view::npos; at = patterns.find(pattern, at + 1)) {
    const std::size_t end = at + pattern.size();
    if ((at == 0 || patterns[at - 1] == ' ') && (end == patterns.size() || patterns[end] == ' ')) return true;
  }
  return false;
}

bool meets(Needs needs, const task::Task& task) {
  const Dtype dtype = task.tensors.empty() ? Dtype::f32 : task.tensors.front().dtype;
  switch (needs) {
    case Needs::anything: return true;
    case Needs::matrix_type: return dtype != Dtype::f32 && dtype != Dtype::f64 && dtype != Dtype::i32 && dtype != Dtype::u32 && dtype != Dtype::i64 && dtype != Dtype::boolean;
    case Needs::integers: return !task::is_float(dtype);
    case Needs::f32_matrix: return dtype == Dtype::f32;
  }
  return false;
}

std::string move_note(const MoveRow& row, const hardware::DataSheet& sheet) {
  const bool there = sheet.sm() >= row.first_sm && (row.last_sm == 0 || sheet.sm() <= row.last_sm);
  if (there) return fmt::format("on {} (sm_{}): {} (rule {})", sheet.name, sheet.sm(), row.move, row.rule);
  const std::string since = row.last_sm == row.first_sm ? fmt::format("only on sm_{}", row.first_sm) : fmt::format("from sm_{} on", row.first_sm);
  return fmt::format("not on {} (sm_{}), {}: {} (rule {})", sheet.name, sheet.sm(), since, row.move, row.rule);
}

// Amdahl, AFIPS 1967: with share p of the time, a kernel that takes no time at all makes the whole 1 / (1 - p) times as fast.
std::string share_note(const task::Task& task, const Plan& plan) {
  if (!task.program)
    return "share in the whole: not known. Give [program] total_us and share: a kernel that takes 1% of the time cannot repay work on it (rule share-of-the-whole)";
  const double share = task.program->share, now = task.program->total_us * share;
  double target = 0;
  for (const PlanSize& size : plan.sizes) target += size.target_us;
  if (share >= 1) return fmt::format("share in the whole: all of {:.4g} us; the program gains what the kernel gains", task.program->total_us);
  std::string out = fmt::format("share in the whole: {:.3g}% of {:.4g} us; the program cannot become more than {:.3g} times as fast, whatever the kernel gains (Amdahl)",
                                share * 100, task.program->total_us, 1 / (1 - share));
  if (target > 0 && target < now) out += fmt::format("; at the target of {:.4g} us a call it is {:.3g} times as fast if it calls the kernel once", target, 1 / (1 - share + share * target / now));
  return out + " (rule share-of-the-whole)";
}

// A reference whose integers have the sizes' names in another order than they are passed in computes something else. "": nothing of that kind is seen.
std::string order_note(const task::Task& task) {
  const auto text = task.reference.empty() ? Expected<std::string>("") : read_file(task.reference, 4u << 20);
  const auto functions = text ? reference::functions_of(*text, reference::Casts::drop) : Expected<std::vector<reference::Function>>(Unexpected(text.error()));
  const reference::Function* function = functions ? reference::find(*functions, task.function) : nullptr;
  if (!function) return "";
  const std::vector<std::string> passed = task.size_names();
  std::vector<std::string> taken;
  for (const reference::Declared& parameter : function->parameters)
    if (!parameter.pointer && std::find(passed.begin(), passed.end(), parameter.name) != passed.end()) taken.push_back(parameter.name);
  if (taken == passed || !std::is_permutation(taken.begin(), taken.end(), passed.begin(), passed.end())) return "";
  return fmt::format("the reference takes the sizes as {}, and they are passed as {} (in the order in which they first appear in the shapes): bring its parameters into that order, or it computes at other sizes",
                     join(taken, ", "), join(passed, ", "));
}

// A logarithm of one and a little: the sum rounds away what its logarithm is made of, so that the formula's own kernel is judged wrong in f32.
std::string precision_note(const task::Task& task) {
  std::string formula = task.formula;
  std::erase_if(formula, [](char c) { return c == ' ' || c == '\t' || c == '\n'; });
  if (formula.find("log(1+") == std::string::npos && formula.find("log(1.0+") == std::string::npos) return "";
  return "log(1 + e) loses what is small beside 1, and may be judged wrong in single precision: write log1p(e)";
}

}  // namespace

std::vector<std::string> plan_notes(const task::Task& task, const hardware::DataSheet& sheet, const Plan& plan) {
  std::vector<std::string> out;
  if (std::string note = order_note(task); !note.empty()) out.push_back(std::move(note));
  if (std::string note = precision_note(task); !note.empty()) out.push_back(std::move(note));
  out.push_back(share_note(task, plan));
  if (plan.guess.confidence < 0.7)
    out.push_back(fmt::format("the pattern is {} sure only: say [semantics] pattern = \"...\" in the task, or edit it here", fmt::format("{:.0f}%", plan.guess.confidence * 100)));
  for (const PlanSize& size : plan.sizes)
    if (size.bound == "latency") {
      out.push_back("a size is so small that the launch costs more than the work: fuse it with its neighbours, or capture the launches in a graph (rule fuse-element-wise)");
      break;
    }
  for (const MoveRow& row : kMoves)
    if (lists(row.patterns, plan.guess.pattern) && meets(row.needs, task)) out.push_back(move_note(row, sheet));
  if (task.goal && !task.goal->versus.empty() && !task.goal->us && !task.goal->roofline)
    out.push_back("the goal compares with a library or a kernel: without a measurement of it the target is what good kernels reach of the floor");
  return out;
}

}  // namespace kforge::propose
