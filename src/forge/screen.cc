#include "forge/screen.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "forge/standing.h"

namespace kforge::forge {
namespace {

constexpr const char* kRung = "screen";
constexpr std::size_t kProofsAtOnce = 2;
constexpr double kFarBehind = 1.05;      // GPUs of one kind differ by less
constexpr double kAhead = 0.995;         // of what is proven: samples of a search tell no smaller difference

void screen_out(Judgement& judgement, std::string why) {
  judgement.verdict.status = VerdictStatus::error;
  judgement.verdict.why = why;
  judgement.verdict.rungs.push_back({kRung, Status::failed, judgement.judge_s, std::move(why)});
}

bool did_not_build(const Verdict& verdict) {
  return std::any_of(verdict.rungs.begin(), verdict.rungs.end(), [](const RungReport& r) { return r.name == "build" && r.status == Status::failed; });
}

}  // namespace

bool is_screened(const Verdict& verdict) {
  return std::any_of(verdict.rungs.begin(), verdict.rungs.end(), [](const RungReport& r) { return r.name == kRung; });
}

Expected<Judgement> screen_candidate(const JudgeRequest& request, double worth_us) {
  if (!(worth_us > 0)) return judge_candidate(request);
  JudgeRequest cheap = request;
  cheap.sampled_only = true;
  auto sampled = judge_candidate(cheap);
  if (!sampled) return sampled;
  if (!sampled->twin.empty()) return sampled;
  Verdict& verdict = sampled->verdict;
  if (did_not_build(verdict)) return sampled;
  if (!verdict.time || verdict.time->us <= worth_us) {
    auto proven = judge_candidate(request);
    if (proven) proven->build_s += sampled->build_s, proven->judge_s += sampled->judge_s;
    return proven;
  }
  screen_out(*sampled, fmt::format("{:.4g} us on sampled blocks, and above {:.4g} us it is not worth a proof", verdict.time->us, worth_us));
  return sampled;
}

void Lead::prove(double us) {
  const std::lock_guard lock(mutex_);
  if (us > 0 && (proven_us_ <= 0 || us < proven_us_)) proven_us_ = us;
  changed_.notify_all();
}

bool Lead::far_behind(double us, double& proven_us) {
  const std::lock_guard lock(mutex_);
  proven_us = proven_us_;
  return proven_us_ > 0 && us > kFarBehind * proven_us_;
}

bool Lead::enter(double us, double& proven_us, const std::function<bool()>& cancelled) {
  std::unique_lock lock(mutex_);
  const auto own = waiting_.insert(us);
  const auto ahead = [&] { return proven_us_ <= 0 || us < kAhead * proven_us_; };
  bool stopped = false;
  while (ahead() && !stopped && (under_way_ >= kProofsAtOnce || own != waiting_.begin())) {
    changed_.wait_for(lock, std::chrono::milliseconds(100));
    stopped = cancelled && cancelled();
  }
  waiting_.erase(own);
  proven_us = proven_us_;
  const bool enters = ahead() && !stopped;
  under_way_ += enters;
  changed_.notify_all();
  return enters;
}

void Lead::leave() {
  const std::lock_guard lock(mutex_);
  --under_way_;
  changed_.notify_all();
}

Expected<Judgement> glance_at_candidate(const JudgeRequest& request, Lead& lead) {
  JudgeRequest quick = request;
  quick.time.glance = true;
  quick.baselines.clear();
  const bool elsewhere = request.glance_gpu && request.gpu && request.glance_gpu->device.index != request.gpu->device.index;
  if (elsewhere) quick.gpu = request.glance_gpu;
  auto glance = judge_candidate(quick);
  if (!glance && glance.error().code == ErrorCode::limit) return glance;
  if (glance && !glance->twin.empty()) return glance;
  if (elsewhere && glance && glance->verdict.time && glance->verdict.time->us > 0 && standing_of(glance->verdict).grade != Grade::wrong) {
    double proven_us = 0;
    if (lead.far_behind(glance->verdict.time->us, proven_us)) {
      screen_out(*glance, fmt::format("{:.4g} us at a glance at gpu:{}, and {:.4g} us are proven", glance->verdict.time->us, request.glance_gpu->device.index, proven_us));
      return glance;
    }
    quick.gpu = request.gpu;
    auto again = judge_candidate(quick);
    if (!again && again.error().code == ErrorCode::limit) return again;
    if (again) again->build_s += glance->build_s, again->judge_s += glance->judge_s;
    glance = std::move(again);
  }
  // Where one case is too few for a check that can fail, or the device has something to say, the proof tells.
  const bool timed = glance && glance->verdict.time && glance->verdict.time->us > 0;
  if (glance && (did_not_build(glance->verdict) || standing_of(glance->verdict).grade == Grade::wrong)) return glance;
  double proven_us = 0;
  const double us = timed ? glance->verdict.time->us : 0;
  if (!lead.enter(us, proven_us, request.cancelled)) {
    if (request.cancelled && request.cancelled()) return fail(ErrorCode::limit, "the trial was cancelled");
    screen_out(*glance, fmt::format("{:.4g} us at a glance, and {:.4g} us are proven", us, proven_us));
    return glance;
  }
  auto proven = judge_candidate(request);
  if (proven && standing_of(proven->verdict).right()) lead.prove(timed ? us : proven->verdict.time->us);
  lead.leave();
  if (proven && glance) proven->build_s += glance->build_s, proven->judge_s += glance->judge_s;
  return proven;
}

}  // namespace kforge::forge
