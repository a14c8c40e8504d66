// A tool: its name, what it takes, and the function that answers. From its row come the schema that clients see and the check of what they send.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kforge/error.h"
#include "mcp/json_rpc.h"
#include "mcp/workspace.h"

namespace kforge::mcp {

enum class ParameterKind : std::uint8_t { text, integer, boolean, texts, choices };   // choices: an object of name: [values]

struct Parameter {
  std::string_view name;
  ParameterKind kind;
  bool required;
  std::string_view what;
  std::int64_t least = 0, most = 0;    // of an integer; of a text's or a list's length the most; 0: no bound
};

struct Answer {
  std::string text;                    // short, for the model
  Json data = Json::object();          // the same as values
  std::vector<Link> links;
};

// One call as its tool sees it.
struct ToolCall {
  Workspace* workspace = nullptr;
  const Json* arguments = nullptr;     // fits the tool's parameters
  std::function<void(std::string_view)> progress;   // one line a step
  std::function<bool()> cancelled;

  bool has(std::string_view name) const { return arguments->contains(name); }
  std::string text(std::string_view name) const { return arguments->value(name, std::string()); }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const { return arguments->value(name, otherwise); }
  bool flag(std::string_view name) const { return arguments->value(name, false); }
  std::vector<std::string> texts(std::string_view name) const { return arguments->value(name, std::vector<std::string>()); }
};

struct Tool {
  std::string_view name, title, what;
  std::span<const Parameter> parameters;
  bool writes;                         // leaves something behind: in the store, or a kernel in the cache
  Expected<Answer> (*run)(const ToolCall& call);
};

// All tools, in the order in which clients are shown them.
std::span<const Tool> tools();
const Tool* find_tool(std::string_view name);

Json schema_of(const Tool& tool);                             // JSON Schema of the arguments
std::string argument_fault(const Tool& tool, const Json& arguments);   // "" when they fit

// The functions behind the rows, one file each or a small group.
Expected<Answer> plan_task(const ToolCall& call);
Expected<Answer> check_candidate(const ToolCall& call);
Expected<Answer> profile_candidate(const ToolCall& call);
Expected<Answer> compare(const ToolCall& call);
Expected<Answer> explain_finding(const ToolCall& call);
Expected<Answer> search_knowledge_tool(const ToolCall& call);
Expected<Answer> search_context_tool(const ToolCall& call);
Expected<Answer> sweep_parameters(const ToolCall& call);
Expected<Answer> list_runs_tool(const ToolCall& call);
Expected<Answer> get_best(const ToolCall& call);
Expected<Answer> gpu_sheet(const ToolCall& call);

}  // namespace kforge::mcp
