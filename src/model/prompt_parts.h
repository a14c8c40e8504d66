// The parts of a prompt out of task, GPU, plan, rules and what was tried; and the whole request of a move.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/tool_row.h"
#include "llm/chat.h"
#include "model/moves.h"
#include "model/prompt_text.h"
#include "propose/proposer.h"

namespace kforge::model {

struct PromptOptions {
  std::uint64_t tokens = 24'000;       // of a whole prompt, estimated
  std::string device = "an emulated GPU";
  std::string reference;               // the reference's text; "" with a formula
  bool tools = false;
  std::size_t tool_calls = 12;
  bool bare_feedback = false;          // as VerdictWords
  std::string from_gpu;                // of port
  ContextSearch context;               // may be empty
};

// What stays the same for the whole run, for the provider to cache: role, task, interface, GPU. Errors: bad_input (a template).
Expected<std::string> system_text(const propose::Situation& situation, const PromptOptions& options);
// What a move asks for. `left_out`: parts that did not fit whole. Errors: bad_input (a template).
Expected<std::string> move_text(const propose::Situation& situation, const WantedMove& move, const PromptOptions& options, std::vector<std::string>* left_out = nullptr);

}  // namespace kforge::model
