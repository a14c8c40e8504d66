// What `check` does, with the evidence that its verdict came from: `profile` keeps it.
#pragma once

#include "forge/judge_candidate.h"
#include "kforge/check.h"

namespace kforge::forge {

// Errors: as check. Of a worker elsewhere there is the verdict alone.
Expected<Judgement> judge_call(const CheckOptions& options);

}  // namespace kforge::forge
