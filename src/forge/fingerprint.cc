#include "forge/fingerprint.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/paths.h"
#include "base/text.h"
#include "build/builder.h"
#include "kforge/version.h"

namespace kforge::forge {
namespace {

// A build of this program: what judges is the program, its worker and its emulated device, and a changed one may judge otherwise.
std::string program_fingerprint() {
  Hasher hasher;
  hasher.field(kVersion);
  const auto folder = executable_folder();
  for (const char* file : {"kforge", "kforge-worker", "libkforge_cudart.so"}) {
    const auto hash = hash_file(folder / file);
    hasher.field(hash ? *hash : "absent");
  }
  return fmt::format("{}+{}", kVersion, hasher.hex().substr(0, 12));
}

std::string sizes_text(const task::Task& task) {
  std::string out;
  for (const task::Sizes& sizes : task.measure) {
    if (!out.empty()) out += "; ";
    for (const auto& [name, value] : sizes) out += fmt::format("{}{}={}", out.empty() || out.ends_with(' ') ? "" : " ", name, value);
  }
  return out;
}

std::string output_dtype(const task::Task& task) {
  for (const task::Tensor& tensor : task.tensors)
    if (tensor.role != task::Role::in) return std::string(task::name(tensor.dtype));
  return {};
}

// Launcher, tensors and reference: what a kernel must be to serve.
std::string interface_hash(const task::Task& task, const Surroundings& around) {
  Hasher hasher;
  hasher.field(task.function).field(task.sizes_are_64_bit ? "64" : "32").field(around.reference);
  for (const task::Tensor& t : task.tensors) {
    hasher.field(t.name).field(task::name(t.dtype)).field(std::to_string(static_cast<int>(t.role))).field(join(t.shape, ",")).field(join(t.strides, ","));
  }
  for (const task::Scalar& s : task.scalars) hasher.field(s.name).field(task::name(s.dtype)).field(fmt::format("{}", s.value));
  for (const std::string& condition : task.where) hasher.field(condition);
  return hasher.hex();
}

// Every number of the sheet counts; its source need not.
std::string sheet_hash(const hardware::DataSheet& s) {
  Hasher hasher;
  hasher.field(fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", s.name, s.sm(), s.multiprocessors, s.boost_mhz, s.base_mhz, s.memory_bytes, s.dram_bytes_per_s, s.dram_sustained_bytes_per_s, s.l2_bytes_per_s, s.l2_bytes,
                           s.max_threads_per_sm, s.max_warps_per_sm));
  hasher.field(fmt::format("{} {} {} {} {} {} {} {} {} {} {}", s.max_blocks_per_sm, s.registers_per_sm, s.max_registers_per_block, s.max_registers_per_thread, s.shared_bytes_per_sm,
                           s.shared_bytes_per_block, s.shared_bytes_per_block_optin, s.shared_reserved_per_block, s.l1_bytes, s.schedulers_per_sm, s.max_cluster_blocks));
  hasher.field(fmt::format("{} {} {} {} {} {} {} {} {} {} {}", s.fp32_lanes, s.fp64_lanes, s.fp16_lanes, s.int32_lanes, s.special_lanes, s.load_store_lanes, s.dram_latency, s.l2_latency,
                           s.l1_latency, s.shared_latency, s.alu_latency));
  for (const auto& [type, rate] : s.tensor_ops) hasher.field(fmt::format("{}={}", type, rate));
  return hasher.hex();
}

}  // namespace

Expected<Surroundings> surroundings_of(const task::Task& task) {
  Surroundings out;
  auto text = read_file(task.path);
  if (!text) return Unexpected(text.error());
  out.task_text = std::move(*text);
  if (!task.reference.empty()) {
    auto reference = read_file(task.reference);
    if (!reference) return Unexpected(reference.error());
    out.reference = std::move(*reference);
  }
  if (!task.formula.empty()) out.reference = task.formula;
  const auto tools = build::find_toolchain();
  if (!tools) return Unexpected(tools.error());
  out.toolkit = tools->version;
  out.program = program_fingerprint();
  return out;
}

bool includes_own_files(const std::string& source) {
  for (const std::string_view line : split_lines(source)) {
    std::string_view rest = trim(line);
    if (!rest.starts_with('#')) continue;
    rest = trim(rest.substr(1));
    if (rest.starts_with("include") && trim(rest.substr(7)).starts_with('"')) return true;
  }
  return false;
}

std::string verdict_key(const Candidate& candidate, const Surroundings& around, const hardware::DataSheet& sheet, std::uint64_t seed) {
  if (includes_own_files(candidate.source)) return {};
  Hasher hasher;
  hasher.field("verdict").field(candidate.id).field(around.task_text).field(around.reference).field(around.toolkit).field(around.program).field(around.device).field(sheet_hash(sheet)).field(std::to_string(seed));
  return hasher.hex();
}

store::WinnerKey winner_key(const task::Task& task, const Plan& plan, const Surroundings& around, const hardware::DataSheet& sheet) {
  return {plan.guess.pattern, sizes_text(task), output_dtype(task), around.device == "emulator" ? sheet.name : fmt::format("{} on {}", sheet.name, around.device), around.toolkit, around.program, interface_hash(task, around)};
}

}  // namespace kforge::forge
