// The proposer of transformations: changed versions of the best kernels so far, by the table of transform.h.
#pragma once

#include <memory>

#include "propose/proposer.h"

namespace kforge::propose {

// Derives from the frontier's candidates: their sources, and what the judge found and counted. Without the CUDA grammar it proposes nothing
// (kforge doctor names it). What can be made of a candidate is worked out once: a proposer serves one run.
std::unique_ptr<Proposer> make_transform_proposer();

}  // namespace kforge::propose
