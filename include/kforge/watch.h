// Judges a candidate whenever it or its task changes: `kforge check --watch` as a function.
#pragma once

#include <functional>
#include <string>

#include "kforge/check.h"
#include "kforge/error.h"
#include "kforge/verdict.h"

namespace kforge {

struct WatchOptions {
  CheckOptions check;                    // `interrupted` too: true ends the watch
  double settle_seconds = 0.2;           // files must have been still for so long: editors write in several steps
  // After each judgement, and once when the candidate or the task file goes away (bad_input). A judgement that a further change overtook is dropped.
  std::function<void(const Expected<Verdict>&)> answer;
};

// What counts as a change is the content of the candidate, the task file, and the sources beside either of them. Looks at the files ten times a second: a file
// that an editor replaces, or that is deleted and comes back, is seen wherever it lies. Returns when interrupted. Errors: bad_input (no candidate named, and no
// naive.cu beside the task).
Expected<void> watch(const WatchOptions& options);

}  // namespace kforge
