// What `check` does, with the evidence that its verdict came from: `profile` keeps it.
#pragma once

#include "forge/judge_candidate.h"
#include "kforge/check.h"

namespace kforge::forge {

// Errors: as check. Of a worker elsewhere there is the verdict alone. With a compile server, which may be null, many candidates are built in less time.
Expected<Judgement> judge_call(const CheckOptions& options, build::CompileServer* compile_server = nullptr);

}  // namespace kforge::forge
