// `check`: one candidate through the rungs to its verdict.
#include "kforge/check.h"

#include <chrono>
#include <filesystem>

#include "base/clock.h"
#include "forge/baselines.h"
#include "forge/ceilings.h"
#include "forge/judge_call.h"
#include "forge/remote.h"
#include "forge/target.h"
#include "kforge/plan.h"
#include "task/formula.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;

// The candidate, else the naive kernel: beside the task, or made from its formula.
Expected<std::string> candidate_path(const CheckOptions& options, const task::Task& task) {
  const bool given = !options.candidate.empty();
  const std::string path = given ? options.candidate : (fs::path(options.task).parent_path() / "naive.cu").string();
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return path;
  if (!given && !task.formula.empty()) return task::formula::write_naive(task);
  return fail(ErrorCode::bad_input, given ? "no such candidate file" : "the task has no naive.cu beside it", {path, 0, 0},
              "kforge check TASK.toml CANDIDATE.cu");
}

// The roofline of what this GPU was seen to reach, beside the data sheet's: the rung "ceilings".
RungReport ceilings_rung(const TimeReport& time, const task::Task& task, const forge::Target& target, const CheckOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  std::string pattern = task.pattern;
  if (pattern.empty() && forge::bound_by_matrix_rate(task, "gemm"))
    if (const auto planned = plan(options.task, target.sheet_name)) pattern = planned->guess.pattern;
  const bool product = forge::bound_by_matrix_rate(task, pattern);
  trial::TrialRequest request;
  request.task = &task;
  request.sheet = target.sheet;
  request.sheet_name = target.sheet_name;
  request.gpu = target.gpu;
  request.defences = target.defences;
  request.progress = options.progress;
  const forge::Ceilings reached = forge::ceilings_of(request, product);
  double us = 0;
  for (const task::Sizes& sizes : task.measure) us += forge::ceiling_us(task, sizes, reached, product);
  RungReport rung{"ceilings", us > 0 ? Status::passed : Status::unknown, 0, us > 0 ? forge::describe(reached, target.sheet, us, time) : "the copy bandwidth could not be measured"};
  rung.seconds = seconds_since(start);
  return rung;
}

}  // namespace

namespace forge {

Expected<Judgement> judge_call(const CheckOptions& options, build::CompileServer* compile_server) {
  auto task = task::read_task(options.task);
  if (!task) return Unexpected(task.error());
  const auto candidate = candidate_path(options, *task);
  if (!candidate) return Unexpected(candidate.error());
  if (options.device.starts_with("cmd:")) {
    auto verdict = check_by_command(options.device.substr(4), options, *task, *candidate);
    if (!verdict) return Unexpected(verdict.error());
    Judgement out;
    out.verdict = std::move(*verdict);
    return out;
  }
  const std::string& gpu = options.gpu.empty() ? task->gpu : options.gpu;
  const auto target = open_target(gpu, options.device);
  if (!target) return Unexpected(target.error());

  JudgeRequest request;
  request.task = &*task;
  aim(request, *target);
  request.candidate = *candidate;
  request.compile_server = compile_server;
  request.only_correctness = options.only_correctness;
  request.seed = options.seed;
  request.fresh_seed = options.fresh_seed;
  request.budget.call_seconds = options.call_seconds;
  request.budget.call_thread_instructions = options.call_instructions;
  request.budget.measure_thread_instructions = options.measure_instructions;
  request.progress = options.progress;
  request.cancelled = options.interrupted;
  request.time.seconds = options.time_seconds;
  request.time.warm = options.warm;
  request.sanitize = options.sanitize;
  request.counters = options.counters;
  if (task->goal && !options.only_correctness) {
    double floor_us = 0;
    std::string pattern;
    if (const auto planned = plan(options.task, target->sheet_name)) {   // without a plan the floor is not known, and the goal says so
      for (const PlanSize& size : planned->sizes) floor_us += size.floor_us;
      pattern = planned->guess.pattern;
    }
    auto figures = goal_figures(request, floor_us);
    if (!figures) return Unexpected(figures.error());
    request.goal = std::move(*figures);
    if (target->gpu) request.baselines = goal_baselines(*task, pattern);
  }
  auto judged = judge_candidate(request);
  if (judged && judged->verdict.time && judged->verdict.time->source == "measured") judged->verdict.rungs.push_back(ceilings_rung(*judged->verdict.time, *task, *target, options));
  return judged;
}

}  // namespace forge

Expected<Verdict> check(const CheckOptions& options) {
  return forge::judge_call(options).map([](forge::Judgement judgement) { return std::move(judgement.verdict); });
}

}  // namespace kforge
