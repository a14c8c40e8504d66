#include "forge/judge_candidate.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/files.h"
#include "judge/judge.h"
#include "judge/modelled_time.h"
#include "kforge/knowledge.h"

namespace kforge::forge {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double extent(const task::Sizes& sizes) {
  double product = 1;
  for (const auto& [name, value] : sizes) product *= static_cast<double>(value);
  return product;
}

double bytes_of_tensors(const task::Task& task, const task::Sizes& sizes) {
  double bytes = 0;
  for (const task::Tensor& tensor : task.tensors)
    if (const auto found = task::layout(tensor, sizes)) bytes += static_cast<double>(found->bytes);
  return bytes;
}

// Keeps what was counted at the measure sizes: for the model of time, and the largest one's for the forge.
class ProfileKeeper {
 public:
  void see(const trial::CallEvidence& call) {
    if (!call.run.measure || !call.completed) return;
    const auto same = std::find_if(seen_.begin(), seen_.end(), [&](const Seen& s) { return s.sizes == call.run.sizes; });
    Seen& seen = same == seen_.end() ? seen_.emplace_back() : *same;   // of a repeated case the last call
    seen = {call.run.sizes, call.log.kernels, call.log.sampled_blocks};
  }

  // Modelled: nothing when some measure size did not run.
  std::optional<TimeReport> time(const task::Task& task, const hardware::DataSheet& sheet, const build::Artefact& artefact) const {
    if (seen_.size() < task.measure.size()) return std::nullopt;
    std::vector<std::optional<hardware::ModelledTime>> times;
    for (const Seen& seen : seen_) {
      judge::PerformanceInput input;
      input.task = &task;
      input.sheet = &sheet;
      input.reports = &artefact.kernels;
      input.kernels = &seen.kernels;
      input.compulsory_bytes = bytes_of_tensors(task, seen.sizes);
      input.sampled_blocks = seen.sampled_blocks;
      times.push_back(judge::modelled_time(input));
    }
    return judge::time_report(times);
  }

  std::vector<evidence::KernelProfile> take() {
    const auto largest = std::max_element(seen_.begin(), seen_.end(), [](const Seen& a, const Seen& b) { return extent(a.sizes) < extent(b.sizes); });
    return largest == seen_.end() ? std::vector<evidence::KernelProfile>{} : std::move(largest->kernels);
  }

 private:
  struct Seen {
    task::Sizes sizes;
    std::vector<evidence::KernelProfile> kernels;
    std::uint64_t sampled_blocks = 0;
  };
  std::vector<Seen> seen_;
};

trial::TrialRequest trial_request(const JudgeRequest& request, const task::Task& task) {
  trial::TrialRequest out;
  out.task = &task;
  out.candidate = request.candidate;
  out.sheet = *request.sheet;
  out.sheet_name = request.sheet_name;
  out.budget = request.budget;
  out.seed = request.seed;
  out.profile = !request.only_correctness;
  out.progress = request.progress;
  return out;
}

}  // namespace

Expected<hardware::DataSheet> target_sheet(const std::string& name) {
  auto sheet = hardware::find_sheet(name);
  if (!sheet) return sheet;
  const std::string reason = hardware::untargetable_reason(*sheet);
  if (!reason.empty()) return fail(ErrorCode::unsupported, reason, {}, "kforge gpus lists the GPUs that check can target");
  return sheet;
}

std::string sheet_name(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(name, ignored) ? std::filesystem::absolute(name, ignored).string() : name;
}

Expected<Judgement> judge_candidate(const JudgeRequest& request) {
  const auto start = Clock::now();
  task::Task task = *request.task;
  task.flags.insert(task.flags.end(), request.flags.begin(), request.flags.end());

  judge::Judge judge(task, *request.sheet, {request.candidate, request.only_correctness});
  ProfileKeeper profiles;
  auto wanted = trial_request(request, task);
  bool cancelled = false;
  wanted.stop = [&] {
    cancelled = cancelled || (request.cancelled && request.cancelled());
    return cancelled || (request.stop_early && judge.rejected());
  };
  const auto trial = trial::run_trial(wanted, [&](const trial::CallEvidence& call) {
    judge.see(call);
    profiles.see(call);
  });
  if (!trial) return Unexpected(trial.error());
  if (cancelled) return fail(ErrorCode::limit, "the trial was cancelled");
  auto verdict = judge.conclude(*trial);
  if (!verdict) return Unexpected(verdict.error());
  cite_rules(*verdict);

  Judgement out;
  out.verdict = std::move(*verdict);
  out.verdict.seconds = seconds_since(start);
  if (!out.verdict.time && !request.only_correctness) out.verdict.time = profiles.time(task, *request.sheet, trial->artefact);
  if (!request.only_correctness) {
    judge::GoalFigures figures = request.goal;
    figures.time = out.verdict.time;
    judge::settle_goal(out.verdict, task, figures);
  }
  out.profiles = profiles.take();
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
    const auto judged = judge_candidate(wanted);
    if (!judged) return Unexpected(judged.error());
    if (!judged->verdict.time)
      return fail(ErrorCode::bad_input, "the goal's baseline has no time: " + judged->verdict.why, {versus, 0, 0}, "kforge check it, or take it out of [goal] versus");
    out.baselines_us[versus] = judged->verdict.time->us;
  }
  return out;
}

}  // namespace kforge::forge
