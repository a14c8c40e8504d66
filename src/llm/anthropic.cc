// Anthropic's Messages: cached prefix, thinking, tools, streaming.
#include <array>
#include <map>

#include <fmt/format.h>

#include "llm/codec.h"
#include "llm/json_tools.h"

namespace kforge::llm {
namespace {

constexpr const char* kVersion = "2023-06-01";

// Models before Claude 4.6 take a budget of thinking tokens; later ones decide themselves and take an effort.
bool takes_budget(const std::string& model) {
  constexpr std::array<const char*, 7> kBefore{"claude-3", "claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-1", "claude-opus-4-2", "claude-sonnet-4-2"};
  for (const char* prefix : kBefore)
    if (model.starts_with(prefix)) return true;
  return false;
}

std::uint64_t thinking_budget(const std::string& effort) { return effort == "low" ? 4096 : effort == "medium" ? 12288 : 32768; }

const OrderedJson kCached{{"type", "ephemeral"}};

OrderedJson content_of(const Message& message) {
  if (!message.own.empty())
    if (auto own = OrderedJson::parse(message.own, nullptr, false); own.is_array() && !own.empty()) return own;
  OrderedJson content = OrderedJson::array();
  if (!message.text.empty()) content.push_back({{"type", "text"}, {"text", message.text}});
  for (const ToolCall& call : message.calls) content.push_back({{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", arguments_of(call.arguments)}});
  return content;
}

// Answers of tools that follow each other are one message of the user.
OrderedJson messages_of(const Request& request) {
  OrderedJson out = OrderedJson::array();
  bool after_tool = false;
  for (const Message& message : request.messages) {
    if (message.role == Role::tool) {
      OrderedJson result{{"type", "tool_result"}, {"tool_use_id", message.call}, {"content", message.text}, {"is_error", message.failed}};
      if (after_tool) out.back()["content"].push_back(std::move(result));
      else out.push_back({{"role", "user"}, {"content", OrderedJson::array({std::move(result)})}});
    } else {
      out.push_back({{"role", message.role == Role::user ? "user" : "assistant"}, {"content", content_of(message)}});
    }
    after_tool = message.role == Role::tool;
  }
  // The conversation so far is the next request's prefix.
  if (!out.empty() && out.back()["role"] == "user" && !out.back()["content"].empty()) out.back()["content"].back()["cache_control"] = kCached;
  return out;
}

struct Block { std::string type, id, name, text, arguments, signature, data; };

class Reader final : public AnswerReader {
 public:
  Expected<void> event(const Event& event) override {
    const Json json = parsed(event.data);
    if (!json.is_object()) return fail(ErrorCode::failed, "the stream holds an event that is no JSON");
    const std::string type = text_of(json, "type");
    if (type == "error") return fail(ErrorCode::failed, "the server says in the stream: " + error_words(event.data));
    if (type == "message_start") {
      const Json message = member(json, "message");
      answer_.model = text_of(message, "model");
      take_usage(member(message, "usage"));
    } else if (type == "content_block_start") {
      start(blocks_[count_of(json, "index")], member(json, "content_block"));
    } else if (type == "content_block_delta") {
      grow(blocks_[count_of(json, "index")], member(json, "delta"));
    } else if (type == "message_delta") {
      take_usage(member(json, "usage"));
      take_stop(member(json, "delta"));
    } else if (type == "message_stop") {
      done_ = true;
    }
    gather();
    return {};
  }

  Expected<void> whole(const std::string& body) override {
    const Json json = parsed(body);
    if (text_of(json, "type") != "message" || !member(json, "content").is_array()) return fail(ErrorCode::failed, "the answer is no message: " + error_words(body));
    answer_.model = text_of(json, "model");
    take_usage(member(json, "usage"));
    take_stop(json);
    for (const Json& block : json["content"]) start(blocks_[blocks_.size()], block);
    gather();
    done_ = true;
    return {};
  }

  bool done() const override { return done_; }
  const Answer& answer() const override { return answer_; }

 private:
  static void start(Block& block, const Json& json) {
    block = {text_of(json, "type"), text_of(json, "id"), text_of(json, "name"), text_of(json, "text") + text_of(json, "thinking"), "", text_of(json, "signature"), text_of(json, "data")};
    if (const Json input = member(json, "input"); input.is_object() && !input.empty()) block.arguments = input.dump();
  }
  static void grow(Block& block, const Json& delta) {
    block.text += text_of(delta, "text") + text_of(delta, "thinking");
    block.arguments += text_of(delta, "partial_json");
    block.signature += text_of(delta, "signature");
  }
  // The last event's figures are those of the whole.
  void take_usage(const Json& usage) {
    if (!usage.is_object()) return;
    Usage& u = answer_.usage;
    if (usage.contains("input_tokens")) {
      u.cached_input = count_of(usage, "cache_read_input_tokens");
      u.cache_writes = count_of(usage, "cache_creation_input_tokens");
      u.input = count_of(usage, "input_tokens") + u.cached_input + u.cache_writes;
    }
    u.output = count_of(usage, "output_tokens");
    u.told = true;
  }
  void take_stop(const Json& json) {
    const std::string reason = text_of(json, "stop_reason");
    if (reason == "refusal") {
      answer_.stop = StopReason::refused;
      answer_.why = "the model refused (stop reason refusal)";
    } else if (reason == "max_tokens" || reason == "model_context_window_exceeded") {
      answer_.stop = StopReason::length;
    } else if (reason == "tool_use") {
      answer_.stop = StopReason::tool_calls;
    }
  }
  void gather() {
    answer_.text.clear();
    answer_.calls.clear();
    OrderedJson own = OrderedJson::array();
    for (const auto& [index, block] : blocks_) {
      if (block.type == "text") {
        answer_.text += block.text;
        if (!block.text.empty()) own.push_back({{"type", "text"}, {"text", block.text}});
      } else if (block.type == "tool_use") {
        answer_.calls.push_back({block.id, block.name, block.arguments.empty() ? "{}" : block.arguments});
        own.push_back({{"type", "tool_use"}, {"id", block.id}, {"name", block.name}, {"input", arguments_of(block.arguments)}});
      } else if (block.type == "thinking") {
        own.push_back({{"type", "thinking"}, {"thinking", block.text}, {"signature", block.signature}});
      } else if (block.type == "redacted_thinking") {
        own.push_back({{"type", "redacted_thinking"}, {"data", block.data}});
      }
    }
    answer_.own = dumped(own);
  }

  std::map<std::uint64_t, Block> blocks_;
  Answer answer_;
  bool done_ = false;
};

class Anthropic final : public Codec {
 public:
  std::string path() const override { return "/v1/messages"; }
  std::vector<std::pair<std::string, std::string>> headers(const Key& key) const override {
    std::vector<std::pair<std::string, std::string>> out{{"anthropic-version", kVersion}};
    if (!key.empty()) out.emplace_back("x-api-key", key.value());
    return out;
  }
  std::string body(const Request& request, const Dialect& dialect) const override {
    OrderedJson body{{"model", dialect.model}, {"max_tokens", request.max_output_tokens}, {"stream", true}};
    if (!request.system.empty()) body["system"] = OrderedJson::array({{{"type", "text"}, {"text", request.system}, {"cache_control", kCached}}});
    body["messages"] = messages_of(request);
    for (const Tool& tool : request.tools) body["tools"].push_back({{"name", tool.name}, {"description", tool.description}, {"input_schema", schema_of(tool.parameters)}});
    if (request.effort.empty()) return dumped(body);
    if (takes_budget(dialect.model)) {
      const std::uint64_t budget = thinking_budget(request.effort);
      body["thinking"] = {{"type", "enabled"}, {"budget_tokens", budget}};
      body["max_tokens"] = request.max_output_tokens + budget;   // thinking counts as output
    } else {
      body["thinking"] = {{"type", "adaptive"}};
      body["output_config"] = {{"effort", request.effort}};
    }
    return dumped(body);
  }
  std::unique_ptr<AnswerReader> reader() const override { return std::make_unique<Reader>(); }
};

}  // namespace

std::unique_ptr<Codec> anthropic_codec() { return std::make_unique<Anthropic>(); }

}  // namespace kforge::llm
