// The cheap rung of a search: a candidate is built and runs on a few sampled blocks of the measure sizes, and only where its modelled time
// there is worth it do the other rungs prove it. A candidate that is screened out has a time and no proof: it is never right, never wins,
// and nothing derives from it; it tells the search where not to look.
#pragma once

#include "forge/judge_candidate.h"

namespace kforge::forge {

// As judge_candidate, but a candidate whose time on sampled blocks is above `worth_us` comes back with the verdict `error` and a failed rung
// "screen". 0: everything is proven.
Expected<Judgement> screen_candidate(const JudgeRequest& request, double worth_us);

bool is_screened(const Verdict& verdict);

}  // namespace kforge::forge
