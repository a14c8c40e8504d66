// A recorded conversation: JSON Lines (schema kforge.llm-record/1). The first line says who answered; each further one holds the identity of a request (chat.h)
// and its answer. Requests themselves are not kept: they follow from task, program and seed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "llm/chat.h"

namespace kforge::llm {

struct Exchange { std::string request; Answer answer; };   // request: its identity

struct Record {
  std::string provider;            // name of the client that answered
  bool tools = false;              // requests offered tools
  std::vector<Exchange> exchanges; // in the order of the run
};

std::string to_text(const Record& record);
// Errors: bad_input with the line.
Expected<Record> read_record(std::string_view text, const std::string& file);

// One answer as JSON in one line, and back. Errors: bad_input.
std::string answer_text(const Answer& answer);
Expected<Answer> read_answer(std::string_view text);

}  // namespace kforge::llm
