#include "report/style.h"

namespace kforge::report {

std::string Painter::operator()(Colour colour, std::string_view text) const {
  static constexpr std::string_view kCodes[] = {"31", "32", "33", "34", "1", "2"};
  if (!enabled_) return std::string(text);
  return "\x1b[" + std::string(kCodes[static_cast<int>(colour)]) + "m" + std::string(text) + "\x1b[0m";
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\t') out += "    ";
    else if (byte < 0x20 || byte == 0x7f) out += '?';
    else out += c;
  }
  return out;
}

}  // namespace kforge::report
