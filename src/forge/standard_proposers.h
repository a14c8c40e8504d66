// Who proposes in a run of `optimize`, in the order of the first turn.
#pragma once

#include "forge/round.h"

namespace kforge::forge {

Proposers standard_proposers();

}  // namespace kforge::forge
