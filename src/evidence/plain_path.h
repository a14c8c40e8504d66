// Paths that compilers can be told, and the name that a source gets where its own path is none of them.
#pragma once

#include <string>
#include <string_view>

namespace kforge::evidence {

// Whether a path stands for itself in an #include, on a command line that a shell reads, in a Makefile rule and in PTX. In folders and files with
// quotes, backslashes, control characters and the like it does not: there a source is compiled under another name.
bool is_plain_path(std::string_view path);

// That name: of the file alone, with '_' for each character that is not plain. SourcePosition::line_in knows it.
std::string plain_source_name(std::string_view path);

}  // namespace kforge::evidence
