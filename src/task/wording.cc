#include "task/wording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"

namespace kforge::task {

std::string suggestion(std::string_view word, std::span<const std::string_view> known) {
  if (const auto near = nearest(word, known)) return fmt::format("did you mean '{}'?", *near);
  if (known.empty()) return "nothing is known here";
  return fmt::format("known: {}", fmt::join(known, ", "));
}

std::string printable(std::string_view word, std::size_t most) {
  std::string text;
  for (const char c : word.substr(0, most)) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  if (word.size() <= most) return text;
  // Never cut a UTF-8 sequence in half.
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
  if (!text.empty() && (static_cast<unsigned char>(text.back()) & 0x80) != 0) text.pop_back();
  return text + "...";
}

}  // namespace kforge::task
