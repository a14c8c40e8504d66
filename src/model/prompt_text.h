// The prompts' texts: templates of data/prompts filled with data, put together within a budget of tokens.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded_text.h"
#include "base/error.h"

namespace kforge::model {

std::span<const EmbeddedText> embedded_prompts();

// What a template's tags stand for. A flag is false where it is absent; a text that is set and not empty is a true flag, too.
struct Fields {
  std::map<std::string, std::string> texts{};
  std::map<std::string, bool> flags{};
  std::map<std::string, std::vector<Fields>> lists{};
};

// "task" is data/prompts/task.md, filled. Errors: bad_input: there is none, it is no template, or a tag of it is unknown to `fields`.
Expected<std::string> fill(std::string_view name, const Fields& fields);

int prompt_version();

// A part of a prompt. Its priority is that of its name in data/prompts/prompts.toml.
struct Part {
  std::string name;
  std::string text;
  std::string shorter{};       // when there is no room for the whole; "": nothing
};
// The parts in the order given, as far as they fit: parts of the last priority become shorter first, then go. `left_out` gets their names.
std::string put_together(const std::vector<Part>& parts, std::uint64_t tokens, std::vector<std::string>* left_out = nullptr);

}  // namespace kforge::model
