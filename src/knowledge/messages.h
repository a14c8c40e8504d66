// The table of compiler messages, data/knowledge/compiler-messages.toml, with the sources that provoke them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kforge/knowledge.h"

namespace kforge::knowledge {

// What makes the tool write the message: the tests run it.
struct Provocation {
  std::string with;                    // "nvrtc"; "ptx", "cubin", "nvcc" (nvcc -ptx, -cubin, -c); "link" (nvcc to a program); "ptxas" (the source is PTX)
  std::vector<std::string> flags;
  std::string source;
};

struct MessageRow {
  CompilerMessage message;
  Provocation provoke;
};

// Errors: bad_input with file, line, key and the nearest known key.
Expected<std::vector<MessageRow>> parse_messages(std::string_view text, const std::string& file);
// The embedded table.
const std::vector<MessageRow>& message_rows();

}  // namespace kforge::knowledge
