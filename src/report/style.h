// Colours of the terminal report, and text made safe to print.
#pragma once

#include <string>
#include <string_view>

namespace kforge::report {

enum class Colour { red, green, yellow, blue, bold, dim };

class Painter {
 public:
  explicit Painter(bool enabled) : enabled_(enabled) {}
  std::string operator()(Colour colour, std::string_view text) const;

 private:
  bool enabled_;
};

// Control characters (escape sequences of a hostile source file) become '?'; tabs become four spaces.
std::string printable(std::string_view text);

}  // namespace kforge::report
