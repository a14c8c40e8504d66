// The lines of a source file around a finding, with a caret.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/style.h"

namespace kforge::report {

class SourceFiles {
 public:
  // "  41 |   s[i] = x[i];\n     |   ^\n", two lines of context before; empty when the file cannot be read.
  // `column` 0 puts the caret under the first character that is not blank.
  std::string excerpt(const std::string& file, std::uint32_t line, std::uint32_t column, const Painter& paint);

 private:
  const std::vector<std::string>& lines(const std::string& file);
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace kforge::report
