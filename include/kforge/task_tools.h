// Tools over one task, for whoever writes kernels with a program's help: a language model in `optimize`, an agent through `kforge mcp`.
//
// A table of named tools; each takes a JSON object and answers with a short text, and names more by handles: a candidate by its id (16 hex digits), a finding by
// its number. Candidates that were checked are kept, so that they can be profiled, explained and looked into afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kforge/context.h"
#include "kforge/error.h"
#include "kforge/verdict.h"

namespace kforge {

struct ToolRow {
  std::string_view name;           // "check"
  std::string_view description;    // what it does and answers, for the model
  std::string_view parameters;     // JSON schema of the object that it takes
};

// check, profile, finding, ptx, sweep, search_knowledge, search_context, read_context: in this order.
std::span<const ToolRow> task_tools();

struct ToolAnswer {
  std::string text;
  bool failed = false;             // the call was wrong or nothing could be done; `text` says why. A rejected candidate is no failure
  std::string candidate{};         // id of the candidate that the call checked or spoke of; ""
};

// Searches the user's context folders.
using ContextSearch = std::function<std::vector<ContextPassage>(const std::string& query, std::size_t count)>;

struct TaskToolsOptions {
  std::string task;                // path
  std::string gpu, device;         // as CheckOptions
  std::uint64_t seed = 1;
  ContextSearch context;           // may be empty: no folder was given
  std::vector<std::string> context_folders;      // files below them may be read by read_context
  std::function<bool()> cancelled; // asked between calls of a trial; may be empty
  std::function<void(std::string_view)> progress;   // one line a step; may be empty
};

class TaskTools {
 public:
  // Errors: bad_input (task, GPU), missing (compiler, GPU).
  static Expected<TaskTools> open(const TaskToolsOptions& options);
  TaskTools(TaskTools&&) noexcept;
  TaskTools& operator=(TaskTools&&) noexcept;
  ~TaskTools();

  // `arguments`: a JSON object as a model wrote it. Never throws; what is wrong with it is the answer. One call at a time.
  ToolAnswer call(std::string_view name, std::string_view arguments);
  // Of a candidate that was checked; null when there is none.
  const Verdict* verdict(const std::string& candidate) const;
  const std::string* source(const std::string& candidate) const;

 private:
  struct State;
  explicit TaskTools(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kforge
