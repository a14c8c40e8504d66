// A list of words as one text and back: each word as "length:word", so that a word may hold any bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kforge::store {

std::string to_word_list(const std::vector<std::string>& words);
// What does not read as a list ends it.
std::vector<std::string> from_word_list(std::string_view text);

}  // namespace kforge::store
