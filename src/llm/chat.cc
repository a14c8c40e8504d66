#include "llm/chat.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace kforge::llm {

std::string_view name(StopReason reason) {
  switch (reason) {
    case StopReason::finished: return "finished";
    case StopReason::tool_calls: return "tool_calls";
    case StopReason::length: return "length";
    case StopReason::refused: return "refused";
  }
  return "";
}

Usage& Usage::operator+=(const Usage& other) {
  input += other.input;
  output += other.output;
  cached_input += other.cached_input;
  cache_writes += other.cache_writes;
  told = told && other.told;
  return *this;
}

Message message_of(const Answer& answer) {
  const bool silent = answer.text.empty() && answer.calls.empty();   // no server takes an empty message back
  return {Role::assistant, silent ? "(no answer)" : answer.text, answer.calls, "", false, silent ? "" : answer.own};
}

std::string transcript(const Request& request) {
  std::string out = "# system\n\n" + request.system + "\n";
  for (const Message& message : request.messages) {
    if (message.role == Role::tool) {
      out += fmt::format("\n# answer of tool call {}{}\n\n{}\n", message.call, message.failed ? " (it failed)" : "", message.text);
      continue;
    }
    out += fmt::format("\n# {}\n\n{}\n", message.role == Role::user ? "user" : "assistant", message.text);
    for (const ToolCall& call : message.calls) out += fmt::format("\n## tool call {}: {}\n\n{}\n", call.id, call.name, call.arguments);
  }
  return out;
}

std::string identity(const Request& request) {
  Hasher hasher;
  hasher.field(transcript(request));
  for (const Tool& tool : request.tools) {
    hasher.field(tool.name);
    hasher.field(tool.description);
    hasher.field(tool.parameters);
  }
  return hasher.hex();
}

std::uint64_t estimated_tokens(std::string_view text) { return (text.size() + 3) / 4; }

}  // namespace kforge::llm
