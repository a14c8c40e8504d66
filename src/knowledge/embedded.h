// The files of data/knowledge, and the sources that its examples name, as they were when the library was built.
#pragma once

#include <span>
#include <string_view>

namespace kforge::knowledge {

struct EmbeddedFile {
  std::string_view path;  // from the project's root: "data/knowledge/pad-shared-rows.md"
  std::string_view text;
};
std::span<const EmbeddedFile> embedded_files();
// Empty when there is no such file.
inline std::string_view embedded_text(std::string_view path) {
  for (const EmbeddedFile& file : embedded_files())
    if (file.path == path) return file.text;
  return {};
}

}  // namespace kforge::knowledge
