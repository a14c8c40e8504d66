// The files of context folders that may be taken in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace kforge::knowledge {

enum class ContextKind : std::uint8_t { markdown, text, html, pdf, code };

struct ContextFile {
  std::string path;              // absolute, links resolved
  ContextKind kind = ContextKind::text;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // since the epoch
};

struct ContextWalk {
  std::vector<ContextFile> files;   // in order of their paths, each once
  std::vector<std::string> notes;   // what was left out, and why
};

// Below the folders (absolute, links resolved) all files whose name's ending is known. Links are followed where they stay below one of the folders;
// names that begin with a dot are left out.
ContextWalk walk_context(const std::vector<std::string>& folders);

}  // namespace kforge::knowledge
