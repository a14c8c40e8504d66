// The proposer that asks a language model: chooses moves, writes their prompts, talks, and hands on the kernels that come back.
//
// It keeps nothing that the situation, the model's answers and their order do not give, so that a run whose answers are recorded can be gone through again. What an
// answer claims is not believed: the loop judges each candidate like any other.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/tool_row.h"
#include "llm/budget.h"
#include "llm/chat.h"
#include "model/moves.h"
#include "model/prompt_parts.h"
#include "propose/proposer.h"

namespace kforge::model {

struct ModelSetup {
  llm::Client* client = nullptr;                 // outlives the proposer, as all of these
  llm::Spending* spending = nullptr;
  PromptOptions prompt;
  MoveOptions moves;
  std::size_t at_once = 1;                       // moves of one round
  std::uint64_t answer_tokens = 16'384;          // of one answer at most
  std::string effort;                            // as llm::Request
  std::span<const ToolRow> tools;                // what `prompt.tools` offers beside `finish`
  std::function<ToolAnswer(const std::string& name, const std::string& arguments)> call_tool;
  // Of this run: an answer that was given to the same request before; and where a new one is kept before it is used. Either may be empty.
  std::function<std::optional<llm::Answer>(const std::string& request)> recall;
  std::function<Expected<void>(const llm::Request& request, const llm::Answer& answer)> keep;
  std::function<void(const std::string& kind, const std::string& text)> note;   // for the journal; may be empty
  // A person's look at a prompt before it is sent: what is sent in its place, or nothing to stop. May be empty.
  std::function<std::optional<std::string>(const std::string& prompt)> review;
  std::function<bool()> cancelled;
  std::function<void(std::string_view)> progress;
};

class ModelProposer : public propose::Proposer {
 public:
  // Why the model can be asked no more; nothing while it can. `limit`: a budget or a record is used up, the run goes on without it; others end the run.
  virtual std::optional<Error> failure() const = 0;
};

std::unique_ptr<ModelProposer> make_model_proposer(ModelSetup setup);

}  // namespace kforge::model
