#include "forge/screen.h"

#include <algorithm>

#include <fmt/format.h>

namespace kforge::forge {
namespace {

constexpr const char* kRung = "screen";

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
  Verdict& verdict = sampled->verdict;
  if (did_not_build(verdict)) return sampled;
  if (!verdict.time || verdict.time->us <= worth_us) {
    auto proven = judge_candidate(request);
    if (proven) proven->build_s += sampled->build_s, proven->judge_s += sampled->judge_s;
    return proven;
  }
  const std::string why = fmt::format("{:.4g} us on sampled blocks, and above {:.4g} us it is not worth a proof", verdict.time->us, worth_us);
  verdict.status = VerdictStatus::error;
  verdict.why = why;
  verdict.rungs.push_back({kRung, Status::failed, sampled->judge_s, why});
  return sampled;
}

}  // namespace kforge::forge
