#include "build/target.h"

#include <algorithm>

namespace kforge::build {
namespace {

struct Specific { int sm; std::string_view word; };
constexpr Specific kWords[] = {{90, "wgmma"}, {90, "setmaxnreg"}, {90, "sm_90a"}, {100, "tcgen05"}, {100, "setmaxnreg"}, {100, "sm_100a"}};

}  // namespace

std::string target_of(int sm, std::string_view source) {
  const bool specific = std::any_of(std::begin(kWords), std::end(kWords), [&](const Specific& s) { return s.sm == sm && source.find(s.word) != std::string_view::npos; });
  return std::to_string(sm) + (specific ? "a" : "");
}

}  // namespace kforge::build
