// Lines of host code: what addr2line makes of addresses in programs and libraries.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "evidence/source.h"

namespace kforge::forge {

struct HostAddress {
  std::string module;            // file of the program or library
  std::uint64_t offset = 0;
  auto operator<=>(const HostAddress&) const = default;
};

class HostLines {
 public:
  // The frames of a call, innermost first, without those of the toolkit's and the system's headers; empty where nothing is known.
  evidence::SourcePosition resolve(const std::vector<HostAddress>& frames);

 private:
  const std::vector<evidence::SourceFrame>& lines_of(const HostAddress& address);
  std::map<HostAddress, std::vector<evidence::SourceFrame>> known_;
};

}  // namespace kforge::forge
