// Where an instruction came from: the chain of inlined frames that `.loc ... inlined_at` gives, so
// that every finding can name a line the author of the candidate wrote, and not a line of a CUDA header.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kforge::evidence {

struct SourceFrame {
  std::string file;      // as the compiler wrote it
  std::uint32_t line = 0;    // from 1; 0 is unknown
  std::uint32_t column = 0;  // from 1; 0 is unknown
  std::string function;  // the inlined function's name; empty for the outermost frame
  bool operator==(const SourceFrame&) const = default;
};

// Innermost frame first. Empty when the PTX carries no line information.
struct SourcePosition {
  std::vector<SourceFrame> frames;
  bool operator==(const SourcePosition&) const = default;

  // The innermost frame that lies in `file` (compared by path, then by file name); else the
  // innermost frame; else a frame with line 0. This is the line a finding reports (contracts.md).
  SourceFrame line_in(std::string_view file) const;
};

}  // namespace kforge::evidence
