#include "evidence/profile.h"

namespace kforge::evidence {

std::string_view name(Source source) {
  static constexpr std::string_view kNames[] = {"ncu", "emulator", "emulator(ptx)", "sass", "ptxas", "ptx"};
  return kNames[static_cast<std::size_t>(source)];
}

}  // namespace kforge::evidence
