// `check`: one candidate through the rungs to its verdict.
#include "kforge/check.h"

#include <chrono>
#include <filesystem>

#include <fmt/format.h>

#include "hardware/data_sheet.h"
#include "judge/judge.h"
#include "task/task.h"
#include "trial/trial.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;

Expected<std::string> candidate_path(const CheckOptions& options) {
  const bool given = !options.candidate.empty();
  const std::string path = given ? options.candidate : (fs::path(options.task).parent_path() / "naive.cu").string();
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return path;
  return fail(ErrorCode::bad_input, given ? "no such candidate file" : "the task has no naive.cu beside it", {path, 0, 0},
              "kforge check TASK.toml CANDIDATE.cu");
}

Expected<hardware::DataSheet> target_sheet(const std::string& name) {
  auto sheet = hardware::find_sheet(name);
  if (!sheet) return sheet;
  const std::string reason = hardware::untargetable_reason(*sheet);
  if (!reason.empty()) return fail(ErrorCode::unsupported, reason, {}, "kforge gpus lists the GPUs that check can target");
  return sheet;
}

// A sheet given as a file is found by its absolute path: the worker runs in another folder.
std::string sheet_name(const CheckOptions& options, const task::Task& task) {
  const std::string& name = options.gpu.empty() ? task.gpu : options.gpu;
  std::error_code ignored;
  return fs::is_regular_file(name, ignored) ? fs::absolute(name, ignored).string() : name;
}

trial::TrialRequest trial_request(const CheckOptions& options, const task::Task& task, const std::string& candidate,
                                  const hardware::DataSheet& sheet) {
  trial::TrialRequest request;
  request.task = &task;
  request.candidate = candidate;
  request.sheet = sheet;
  request.sheet_name = sheet_name(options, task);
  request.budget.call_seconds = options.call_seconds;
  request.budget.call_thread_instructions = options.call_instructions;
  request.budget.measure_thread_instructions = options.measure_instructions;
  request.seed = options.seed;
  request.profile = !options.only_correctness;
  request.progress = options.progress;
  return request;
}

}  // namespace

Expected<Verdict> check(const CheckOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  auto task = task::read_task(options.task);
  if (!task) return Unexpected(task.error());
  const auto candidate = candidate_path(options);
  if (!candidate) return Unexpected(candidate.error());
  const auto sheet = target_sheet(options.gpu.empty() ? task->gpu : options.gpu);
  if (!sheet) return Unexpected(sheet.error());

  judge::Judge judge(*task, *sheet, {*candidate, options.only_correctness});
  const auto trial = trial::run_trial(trial_request(options, *task, *candidate, *sheet),
                                      [&](const trial::CallEvidence& call) { judge.see(call); });
  if (!trial) return Unexpected(trial.error());
  auto verdict = judge.conclude(*trial);
  if (verdict) verdict->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return verdict;
}

}  // namespace kforge
