#include "forge/judge_candidate.h"

#include <chrono>
#include <map>

#include "base/clock.h"
#include "base/files.h"
#include "judge/judge.h"
#include "kforge/knowledge.h"
#include "trial/time_candidates.h"

namespace kforge::forge {
namespace {

using Clock = std::chrono::steady_clock;

double extent(const task::Sizes& sizes) {
  double product = 1;
  for (const auto& [name, value] : sizes) product *= static_cast<double>(value);
  return product;
}

// Keeps what was counted at the largest measure size, for the forge.
class ProfileKeeper {
 public:
  void see(const trial::CallEvidence& call) {
    if (!call.run.measure || !call.completed || call.on_gpu || extent(call.run.sizes) < extent_) return;
    extent_ = extent(call.run.sizes);
    kernels_ = call.log.kernels;
  }
  std::vector<evidence::KernelProfile> take() { return std::move(kernels_); }

 private:
  double extent_ = 0;
  std::vector<evidence::KernelProfile> kernels_;
};

trial::TrialRequest trial_request(const JudgeRequest& request, const task::Task& task) {
  trial::TrialRequest out;
  out.task = &task;
  out.candidate = request.candidate;
  out.sheet = *request.sheet;
  out.sheet_name = request.sheet_name;
  out.budget = request.budget;
  out.seed = request.seed;
  out.fresh_seed = request.known_inputs ? 0 : request.fresh_seed != 0 ? request.fresh_seed : trial::draw_fresh_seed();
  out.defences = request.defences;
  out.profile = !request.only_correctness;
  out.sampled_only = request.sampled_only;
  out.progress = request.progress;
  out.compile_server = request.compile_server;
  out.prepared = request.prepared;
  out.costs = request.costs;
  out.gpu = request.gpu;
  out.time = request.time;
  out.sanitize = request.sanitize;
  out.counters = request.counters;
  out.baselines = request.baselines;
  return out;
}

}  // namespace

Expected<Judgement> judge_candidate(const JudgeRequest& request) {
  const auto start = Clock::now();
  task::Task task = *request.task;
  task.flags.insert(task.flags.end(), request.flags.begin(), request.flags.end());

  judge::JudgeOptions options{request.candidate, request.only_correctness, request.gpu.has_value(), {}, request.defences};
  if (request.gpu) options.conditions = {request.gpu->device.name, request.gpu->driver_version, request.toolkit, 0, 0, 0, 0, false};
  judge::Judge judge(task, *request.sheet, std::move(options));
  ProfileKeeper profiles;
  auto wanted = trial_request(request, task);
  bool cancelled = false;
  wanted.stop = [&] {
    cancelled = cancelled || (request.cancelled && request.cancelled());
    return cancelled || (request.stop_early && judge.rejected());
  };
  std::string twin;
  if (request.twin)
    wanted.worth_running = [&](const build::Artefact& built) {
      const auto ptx = built.ptx_path.empty() ? fail(ErrorCode::missing, "no PTX") : read_file(built.ptx_path);
      if (ptx) twin = request.twin(*ptx, built.kernels);
      return twin.empty();
    };
  wanted.worth_timing = [&] { return !judge.rejected(); };
  wanted.suspect = [&](const trial::TrialResult& so_far, const task::Sizes& sizes) { return judge.suspect(so_far, sizes); };
  std::map<std::string, judge::Judge> baselines;   // one that answers wrongly is no baseline
  wanted.on_baseline = [&](const std::string& name, const trial::CallEvidence& call) { baselines.try_emplace(name, task, *request.sheet, judge::JudgeOptions{name, true, true, {}, {}}).first->second.see(call); };
  auto trial = trial::run_trial(wanted, [&](const trial::CallEvidence& call) {
    const StageTimer timer(request.costs, "judge");
    judge.see(call);
    profiles.see(call);
  });
  if (!trial) return Unexpected(trial.error());
  for (trial::Timing& timing : trial->times) {
    const auto judged = baselines.find(timing.name);
    if (!timing.name.empty() && timing.failure.empty() && (judged == baselines.end() || judged->second.rejected())) timing.failure = "its outputs are wrong, or were not compared";
  }
  if (cancelled) return fail(ErrorCode::limit, "the trial was cancelled");
  if (!twin.empty()) {
    Judgement known;
    known.twin = std::move(twin);
    known.build_s = seconds_since(start);
    return known;
  }
  const StageTimer timer(request.costs, "judge");
  auto verdict = judge.conclude(*trial);
  if (!verdict) return Unexpected(verdict.error());
  cite_rules(*verdict);

  Judgement out;
  out.verdict = std::move(*verdict);
  out.verdict.seconds = seconds_since(start);
  out.verdict.fresh_seed = wanted.fresh_seed;
  out.verdict.unproven.insert(out.verdict.unproven.end(), request.warnings.begin(), request.warnings.end());
  if (!request.only_correctness) {
    judge::GoalFigures figures = request.goal;
    figures.time = out.verdict.time;
    if (figures.time)   // measured in turns with the candidate
      for (const BaselineTime& baseline : figures.time->baselines) figures.baselines_us[baseline.name] = baseline.us;
    judge::settle_goal(out.verdict, task, figures);
  }
  out.profiles = profiles.take();
  out.counters = std::move(trial->counters);
  if (!trial->artefact.ptx_path.empty())
    if (auto ptx = read_file(trial->artefact.ptx_path)) out.ptx = std::move(*ptx);
  for (const trial::Rung& rung : trial->rungs)
    if (rung.name == "build") out.build_s = rung.seconds;
  out.judge_s = out.verdict.seconds - out.build_s;
  return out;
}

Expected<judge::GoalFigures> goal_figures(const JudgeRequest& request, double floor_us) {
  judge::GoalFigures out;
  if (!request.task->goal) return out;
  out.floor_us = floor_us;
  task::Task without_goal = *request.task;
  without_goal.goal.reset();
  for (const std::string& versus : request.task->goal->versus) {
    if (!versus.ends_with(".cu")) continue;
    JudgeRequest wanted = request;
    wanted.task = &without_goal;
    wanted.candidate = versus;
    wanted.flags.clear();
    wanted.time.wanted = false;   // it is timed in turns with each candidate
    wanted.baselines.clear();
    const auto judged = judge_candidate(wanted);
    if (!judged) return Unexpected(judged.error());
    if (request.gpu && judged->verdict.status != VerdictStatus::rejected) continue;   // measured beside each candidate
    if (!judged->verdict.time)
      return fail(ErrorCode::bad_input, "the goal's baseline has no time: " + judged->verdict.why, {versus, 0, 0}, "kforge check it, or take it out of [goal] versus");
    out.baselines_us[versus] = judged->verdict.time->us;
  }
  return out;
}

}  // namespace kforge::forge
