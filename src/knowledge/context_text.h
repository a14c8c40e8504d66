// Files as text with line numbers, and text as passages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "knowledge/context_files.h"

namespace kforge::knowledge {

struct ContextLine {
  int number = 0;     // in the file, from 1
  std::string text;
};

// Text of a page without its tags; headings begin with "#". Lines are the source's. Errors: unsupported (tags nest too deeply).
Expected<std::vector<ContextLine>> html_lines(std::string_view html, const std::string& file);

// Errors: unsupported (binary content, or nothing to read it with), failed (it cannot be read).
Expected<std::vector<ContextLine>> context_lines(const ContextFile& file);

struct TextPassage {
  std::string title;            // the headings above, "Memory > Padding"; "" where there are none
  int first_line = 0, last_line = 0;
  std::string text;
};

// Cut at headings, else where a paragraph or a function ends, at some 24 lines; never more than 60 lines or 4,000 bytes.
std::vector<TextPassage> cut_into_passages(const std::vector<ContextLine>& lines, ContextKind kind);

}  // namespace kforge::knowledge
