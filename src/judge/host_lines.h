// Where the candidate's host code launches a kernel or calls a runtime function, read from the source's text: the runtime sees who was
// called and not from where, and host code carries no line tables. A name that the text does not launch or call (it is behind a macro or
// a pointer) has no line.
#pragma once

#include <string>
#include <string_view>

namespace kforge::judge {

class HostLines {
 public:
  HostLines() = default;
  explicit HostLines(std::string_view source);

  // Lines are numbered from 1; 0: none is known. `kernel` is readable ("ns::name<float>"). Of several launches the first one that names
  // no stream if `without_stream`, else the first.
  int launch_of(std::string_view kernel, bool without_stream) const;
  // The first call of a function whose name begins with `prefix`.
  int call_of(std::string_view prefix) const;

 private:
  int line_at(std::size_t offset) const;
  std::string text_;   // comments and literals blanked, lines kept
};

}  // namespace kforge::judge
