#include "base/counted.h"

namespace kforge {

std::string counted(std::uint64_t count, std::string_view one, std::string_view several) {
  std::string out = std::to_string(count) + " ";
  if (count == 1) return out.append(one);
  return several.empty() ? out.append(one).append("s") : out.append(several);
}

}  // namespace kforge
