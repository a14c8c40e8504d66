// The line by line difference of two sources, by dtl, as hunks with context.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kforge::report {

struct DiffLine {
  char kind = ' ';            // ' ' both, '-' only before, '+' only after
  int before = 0, after = 0;  // line numbers, from 1; 0: not there
  std::string text;
};
struct Hunk {
  std::vector<DiffLine> lines;
};
struct Difference {
  std::vector<Hunk> hunks;    // empty: equal
  int added = 0, removed = 0;
  bool too_large = false;     // more than 4,000 lines: not compared
};
Difference difference(std::string_view before, std::string_view after, int context = 3);

}  // namespace kforge::report
