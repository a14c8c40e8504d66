// A candidate's name is its content: sources and flags that are equal have equal ids, whoever proposed them.
#include "kforge/candidate.h"

#include "base/hash.h"

namespace kforge {

std::string identity(std::string_view source, const std::vector<std::string>& flags) {
  Hasher hasher;
  hasher.field(source);
  for (const std::string& flag : flags) hasher.field(flag);
  return hasher.hex().substr(0, 16);
}

}  // namespace kforge
