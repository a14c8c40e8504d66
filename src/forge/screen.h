// The cheap rung of a search: a candidate is built and runs on a few sampled blocks of the measure sizes, and only where its modelled time
// there is worth it do the other rungs prove it. On a GPU it is timed there, its outputs compared once, and proven only where it is
// faster than what is proven already. A candidate that is screened out has a time and no proof: it is never right, never wins,
// and nothing derives from it; it tells the search where not to look.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>

#include "forge/judge_candidate.h"

namespace kforge::forge {

// As judge_candidate, but a candidate whose time on sampled blocks is above `worth_us` comes back with the verdict `error` and a failed rung
// "screen". 0: everything is proven.
Expected<Judgement> screen_candidate(const JudgeRequest& request, double worth_us);

// The least proven time of a run, and who waits for a proof: the fastest goes first, two at a time, and whoever is then no longer ahead goes without.
class Lead {
 public:
  // Of a right candidate, by the way in which others are compared with it.
  void prove(double us);
  // Waits for a turn; false: `us` is not below what is proven, which is then in `proven_us`, or `cancelled` said so (asked ten times a second; may be empty).
  // After true, leave() follows.
  bool enter(double us, double& proven_us, const std::function<bool()>& cancelled);
  // Behind what is proven by more than GPUs of one kind differ: a time that another one gave is then enough to say so.
  bool far_behind(double us, double& proven_us);
  void leave();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multiset<double> waiting_;
  std::size_t under_way_ = 0;
  double proven_us_ = 0;         // 0: nothing is
};

// The same on a GPU: timed and compared at a glance (trial::TimeOptions), and proven where `lead` lets it in. A wrong answer is a verdict at once.
// A glance at another GPU (request.glance_gpu) drops what is far behind; what is not is looked at again on the GPU that all proofs use, so that times
// are compared with times of the same GPU.
Expected<Judgement> glance_at_candidate(const JudgeRequest& request, Lead& lead);

bool is_screened(const Verdict& verdict);

}  // namespace kforge::forge
