// Parameters that a kernel's author declares in the source, for the search to try:
//
//   constexpr int kThreads = 256;  // tune: 128, 256, 512
//   #define TILE 64  // tune: 32, 64, 128
//   // tune where: kThreads * TILE <= 16384
//
// The declared number is the first point; another point is the same text with other numbers, so that each candidate is a whole file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "propose/space.h"

namespace kforge::model {

struct Tunable {
  std::string name;
  std::int64_t value = 0;                 // as the text has it; one of the choices
  std::vector<std::int64_t> choices;      // ascending
};

struct Tunables {
  std::vector<Tunable> parameters;        // at most kMostParameters; further ones stay as they are
  std::vector<std::string> rules;         // conditions over them (task/expression.h); what does not parse is left out
  bool empty() const { return parameters.empty(); }
  propose::Space space() const;
  propose::Values values() const;         // as the text has them
};
inline constexpr std::size_t kMostParameters = 6, kMostChoices = 16;

Tunables tunables_of(std::string_view source);
// The source with these numbers. What `values` does not name stays.
std::string with_values(std::string_view source, const propose::Values& values);

}  // namespace kforge::model
