#include "store/word_list.h"

#include "base/text.h"

namespace kforge::store {

std::string to_word_list(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += std::to_string(word.size()) + ":" + word;
  return out;
}

std::vector<std::string> from_word_list(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return out;
    const auto length = parse_unsigned(text.substr(0, colon));
    text.remove_prefix(colon + 1);
    if (!length || *length > text.size()) return out;
    out.emplace_back(text.substr(0, *length));
    text.remove_prefix(*length);
  }
  return out;
}

}  // namespace kforge::store
