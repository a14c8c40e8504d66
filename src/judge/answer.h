// From the contracts to the answer, by the rules of contracts.md, "The verdict". The one place that knows them.
#pragma once

#include "kforge/verdict.h"

namespace kforge::judge {

// Sets `status` and `why`: rejected when a required contract failed, else error when a must-know one is unknown, else accepted.
// REQUIRES: verdict.contracts are the table's.
void answer(Verdict& verdict, bool only_correctness);

}  // namespace kforge::judge
