// What a loop makes of the values that it carries from one step to the next: reductions, positions of extremes, scans. A step is a term in
// which `carried` terms stand for the values of the step before; what is not recognised is refused, never guessed.
#pragma once

#include <map>
#include <string>

#include "propose/template_lift.h"

namespace kforge::propose {

struct CarriedLoop {
  TermPtr index;                           // its variable
  std::int64_t from = 0;                   // it runs from here
  TermPtr high;                            // to high - 1
  std::map<std::string, TermPtr> starts;   // of carried values, before the first step; nullptr: unknown
  std::map<std::string, TermPtr> steps;    // after a step; nullptr: unknown
};

// The value of `name` after the loop; nullptr when it is no reduction that is known.
TermPtr fold_carried(const CarriedLoop& loop, const std::string& name);

// `value`, which a step stores, with running sums as scans over the loop; nullptr when a carried value of this loop is left.
TermPtr fold_stored(const CarriedLoop& loop, TermPtr value);

}  // namespace kforge::propose
