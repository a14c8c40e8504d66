// Formulas over bytes whose every value stays so small that halves hold it exactly: sums of weighted neighbours, absolute values, minima and
// maxima. Their text names operations (data/kernels/parts/pairs.cu) that work on integers and on pairs of halves alike.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "propose/template_term.h"

namespace kforge::propose {

// A neighbour: a line's row `along` steps on in the march, `dx` columns on.
struct Tap {
  std::size_t line = 0;
  std::int64_t along = 0, dx = 0;
  auto operator<=>(const Tap&) const = default;
};

using RowFilter = std::map<std::int64_t, std::int64_t>;   // weight by column offset

struct SmallFormula {
  std::vector<std::string> statements;      // "const Value s0 = ...;"
  std::string value;
  std::vector<std::vector<RowFilter>> filters;   // of each line; "f0" is the first of a line
};


// `taps`: of each load, by key_of. `lowest`: the least `along` of each line. Loads are bytes (0 to 255); nothing when the result is not proven to be
// one, a value in between may exceed 2048 (the integers that a half of IEEE 754 holds, 11 bits of significand), or an operation is of another kind.
std::optional<SmallFormula> small_formula(const TermPtr& term, const std::map<std::string, Tap>& taps, const std::vector<std::int64_t>& lowest);

// "f0[e] = add(at(e + 1), ...);"
std::string filter_line(const RowFilter& filter, std::size_t number);

}  // namespace kforge::propose
