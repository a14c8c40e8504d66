// The kernel out of a model's answer: one fenced file. What cannot be a candidate is told with the reason, so that the model can mend it; all else is the judge's
// business, which believes no text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kforge/error.h"
#include "llm/chat.h"
#include "task/task.h"

namespace kforge::model {

struct Extracted {
  std::string source;              // the whole .cu file, ending in a newline
  std::string strategy;            // of its first line's comment; "" when it has none
};

// Errors: bad_input: a refusal, an answer that was cut off, no file in it, several, one without the launcher, a library, a talk with the host. The hint says what to do.
Expected<Extracted> extract(const llm::Answer& answer, const task::Task& task);
// The same of a file that came through a tool call.
Expected<Extracted> inspect(std::string source, const task::Task& task);

}  // namespace kforge::model
