// One rule: a TOML head between two lines "+++", then Markdown with the sections "## Why" and "## What to do" (docs/knowledge.md).
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "kforge/knowledge.h"

namespace kforge::knowledge {

// Errors: bad_input with file, line, key and the nearest known key or value.
Expected<KnowledgeRule> parse_rule(std::string_view text, const std::string& file);

}  // namespace kforge::knowledge
