#include "export/parcel.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "base/files.h"
#include "hardware/data_sheet.h"
#include "task/formula.h"

namespace kforge::exporting {
namespace {

Unexpected wrong(std::string message, std::string hint = {}) { return fail(ErrorCode::bad_input, std::move(message), {}, std::move(hint)); }

constexpr const char* kOnlyAccepted = "only an accepted candidate is delivered; kforge report shows why none was";

// The task as the run saw it: its text is in the record; files that it names are looked for where the task file lay.
Expected<task::Task> task_of(const RunRecord& run) {
  auto parsed = task::parse_task(run.task_text, run.task_path);
  if (!parsed) return parsed;
  parsed->path = run.task_path;
  return parsed;
}

std::string identifier(const std::string& text) {
  std::string out;
  for (const char c : text) out += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ? c : '_';
  return out.empty() || (out[0] >= '0' && out[0] <= '9') ? "kernel_" + out : out;
}

void find_reference(Parcel& parcel) {
  if (!parcel.task.formula.empty()) {
    auto source = task::formula::to_reference_source(parcel.task);
    if (source) parcel.reference = std::move(*source);
    else parcel.no_reference = source.error().message;
    return;
  }
  const std::string extension = std::filesystem::path(parcel.task.reference).extension().string();
  if (extension != ".cpp" && extension != ".cc" && extension != ".cxx") {
    parcel.no_reference = "the reference is no C++ (" + parcel.task.reference + ")";
    return;
  }
  auto text = read_file(parcel.task.reference, 4 << 20);
  if (text) parcel.reference = std::move(*text);
  else parcel.no_reference = text.error().message;
}

Expected<Winner> winner_of(const RunRecord& run) {
  const TriedCandidate* tried = run.winner.empty() ? nullptr : run.find(run.winner);
  if (!tried) return wrong("run " + run.id + " has no winner", kOnlyAccepted);
  if (tried->verdict.status != VerdictStatus::accepted) return wrong("the winner of run " + run.id + " is not accepted", kOnlyAccepted);
  if (tried->candidate.source.empty()) return wrong("run " + run.id + " holds no source of its winner");
  Winner winner;
  winner.run = &run;
  winner.tried = tried;
  if (!run.plan.sizes.empty()) winner.sizes = run.plan.sizes.front().sizes;
  return winner;
}

}  // namespace

Expected<Parcel> make_parcel(const std::vector<const RunRecord*>& runs) {
  if (runs.empty()) return wrong("no run to export");
  Parcel parcel;
  auto task = task_of(*runs.front());
  if (!task) return Unexpected(task.error());
  parcel.task = std::move(*task);
  parcel.name = identifier(parcel.task.name);
  const auto sheet = hardware::find_sheet(runs.front()->gpu);
  if (!sheet) return Unexpected(sheet.error());
  parcel.sm = sheet->sm();
  for (const RunRecord* run : runs) {
    auto other = task_of(*run);
    if (!other) return Unexpected(other.error());
    if (other->function != parcel.task.function || parameters(*other) != parameters(parcel.task))
      return wrong(fmt::format("runs {} and {} have different interfaces", runs.front()->id, run->id), "export runs of one task at different measure sizes");
    if (run->gpu != runs.front()->gpu) return wrong(fmt::format("runs {} and {} are for different GPUs ({}, {})", runs.front()->id, run->id, runs.front()->gpu, run->gpu), "export them into two folders");
    auto winner = winner_of(*run);
    if (!winner) return Unexpected(winner.error());
    if (winner->sizes.empty() && !other->measure.empty()) winner->sizes = other->measure.front();
    parcel.winners.push_back(std::move(*winner));
  }
  const bool several = parcel.winners.size() > 1;
  for (std::size_t i = 0; i < parcel.winners.size(); ++i) {
    parcel.winners[i].file = several ? fmt::format("winner_{}.cu", i + 1) : "winner.cu";
    parcel.winners[i].symbol = several ? fmt::format("{}_{}", parcel.task.function, i + 1) : parcel.task.function;
  }
  find_reference(parcel);
  return parcel;
}

std::string size_type(const task::Task& task) { return task.sizes_are_64_bit ? "long long" : "int"; }

std::string parameters(const task::Task& task) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  for (const task::Tensor& tensor : task.tensors) add(fmt::format("{}{}* {}", tensor.role == task::Role::in ? "const " : "", task::cuda_type(tensor.dtype), tensor.name));
  for (const std::string& size : task.size_names()) add(size_type(task) + " " + size);
  for (const task::Scalar& scalar : task.scalars) add(fmt::format("{} {}", task::cuda_type(scalar.dtype), scalar.name));
  return out;
}

std::string arguments(const task::Task& task) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  for (const task::Tensor& tensor : task.tensors) add(tensor.name);
  for (const std::string& size : task.size_names()) add(size);
  for (const task::Scalar& scalar : task.scalars) add(scalar.name);
  return out;
}

std::string include_lines(const task::Task& task) {
  struct Row { std::string_view type, header; };
  static constexpr std::array<Row, 4> kHeaders = {{{"__half", "cuda_fp16.h"}, {"__nv_bfloat16", "cuda_bf16.h"}, {"__nv_fp8_e4m3", "cuda_fp8.h"}, {"__nv_fp8_e5m2", "cuda_fp8.h"}}};
  std::vector<std::string> lines = {"#include <cuda_runtime.h>\n"};
  const auto add = [&](std::string line) { if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line)); };
  const auto see = [&](std::string_view type) {
    for (const Row& row : kHeaders)
      if (row.type == type) add(fmt::format("#include <{}>\n", row.header));
    if (type.ends_with("_t")) add("#include <stdint.h>\n");
  };
  for (const task::Tensor& tensor : task.tensors) see(task::cuda_type(tensor.dtype));
  for (const task::Scalar& scalar : task.scalars) see(task::cuda_type(scalar.dtype));
  std::string out;
  for (const std::string& line : lines) out += line;
  return out;
}

}  // namespace kforge::exporting
