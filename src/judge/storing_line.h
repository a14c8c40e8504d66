// Which of the candidate's lines stores a tensor: what findings about its values (numerics, launch.coverage) name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/launch_log.h"
#include "task/cases.h"

namespace kforge::judge {

struct StoringLine {
  evidence::SourcePosition position;   // empty: no line of the candidate is known to store it
  std::string kernel;                  // mangled
};

// The lines of one call that store one tensor, with where in it.
class StoringLines {
 public:
  StoringLines() = default;
  // Lines that store `tensor`; when there are none (its values came by a copy), those that store what is no output.
  StoringLines(const evidence::LaunchLog& log, std::string_view tensor);

  // The one that stores the byte `offset` of the tensor, or nearest to it by the ranges of what they store; of several the one that stores most, then the last.
  StoringLine nearest(std::uint64_t offset) const;
  StoringLine busiest() const;
  StoringLine of_itself() const { return own_ ? busiest() : StoringLine{}; }   // only a line that stores the tensor

 private:
  struct Entry { StoringLine line; evidence::StoreRange range; };
  std::vector<Entry> entries_;
  bool own_ = false;   // entries store the tensor itself
};

// Offset in bytes of the element with the row-major index `element`.
std::size_t byte_offset(const task::TensorLayout& layout, std::size_t element, task::Dtype dtype);

}  // namespace kforge::judge
