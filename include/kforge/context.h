// Context folders: documentation and code that a user lends to a model or an agent (`--context DIR`), searched by words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kforge/error.h"

namespace kforge {

// A piece of a file of a context folder. Lines count from 1 and both are part of it. Of HTML they are the source's lines, of PDF those of
// the text that pdftotext makes.
struct ContextPassage {
  std::string file;            // the folder as it was named, "/", and the path below it
  std::uint32_t first_line = 0, last_line = 0;
  std::string text;
};

struct ContextAnswer {
  std::vector<ContextPassage> passages;   // best first
  std::vector<std::string> notes;         // files that were not taken in, and why
};

// Brings the index of the folders up to date and searches it. Errors: bad_input (no such folder, no word in the query), failed.
Expected<ContextAnswer> search_context(const std::vector<std::string>& folders, std::string_view query, std::size_t count);

std::string to_text(const ContextAnswer& answer);   // for people
std::string to_json(const ContextAnswer& answer);   // schema kforge.context/1

}  // namespace kforge
