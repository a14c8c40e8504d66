// Tools that a model may call while it works on a kernel, as the model sees them. What they do is the forge's (forge/tool_box.h).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kforge/context.h"

namespace kforge::model {

struct ToolRow {
  std::string_view name;           // "check"
  std::string_view description;    // what it does and answers
  std::string_view parameters;     // JSON schema of the object that it takes
};

struct ToolAnswer {
  std::string text;
  bool failed = false;             // the call was wrong or nothing could be done; `text` says why. A rejected candidate is no failure
  std::string candidate{};         // id of the candidate that the call checked or spoke of; ""
};

// Passages of the user's context folders for some words, best first.
using ContextSearch = std::function<std::vector<ContextPassage>(const std::string& query, std::size_t count)>;

}  // namespace kforge::model
