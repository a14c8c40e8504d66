// Mutants of a right kernel, each with one safeguard taken away: a barrier, a bounds test, an initialisation, a `+ 1` of padding
// or halo. A judge that sees must reject them.
#pragma once

#include <string>
#include <vector>

namespace kforge::tests {

struct Mutant {
  std::string kind;      // barrier, bounds, initialisation, padding
  int line = 0;          // of the change, from 1
  std::string change;    // "if (row < rows) -> if (true)"
  std::string source;    // the whole mutated text
};
std::vector<Mutant> mutants(const std::string& source);

}  // namespace kforge::tests
