// OpenAI's Chat Completions, as many servers speak them.
#include <map>

#include "llm/codec.h"
#include "llm/json_tools.h"

namespace kforge::llm {
namespace {

OrderedJson message_json(const Message& message) {
  if (message.role == Role::tool) return {{"role", "tool"}, {"tool_call_id", message.call}, {"content", message.text}};
  if (message.role == Role::user) return {{"role", "user"}, {"content", message.text}};
  OrderedJson out{{"role", "assistant"}, {"content", message.text}};
  for (const ToolCall& call : message.calls)
    out["tool_calls"].push_back({{"id", call.id}, {"type", "function"}, {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  return out;
}

class Reader final : public AnswerReader {
 public:
  Expected<void> event(const Event& event) override {
    if (event.data == "[DONE]") {
      done_ = true;
      return {};
    }
    return take(event.data, "delta");
  }
  Expected<void> whole(const std::string& body) override {
    if (auto taken = take(body, "message"); !taken) return taken;
    done_ = true;
    return {};
  }
  // Some servers send no [DONE] but always a reason.
  bool done() const override { return done_ || has_reason_; }
  const Answer& answer() const override { return answer_; }

 private:
  Expected<void> take(const std::string& text, const char* part) {
    const Json json = parsed(text);
    if (!json.is_object()) return fail(ErrorCode::failed, "the answer holds something that is no JSON");
    if (json.contains("error") && !json["error"].is_null()) return fail(ErrorCode::failed, "the server says in the stream: " + error_words(text));
    if (const std::string model = text_of(json, "model"); !model.empty()) answer_.model = model;
    if (const Json usage = member(json, "usage"); usage.is_object()) {
      answer_.usage = {count_of(usage, "prompt_tokens"), count_of(usage, "completion_tokens"), count_of(member(usage, "prompt_tokens_details"), "cached_tokens"), 0, true};
    }
    const Json choices = member(json, "choices");
    if (!choices.is_array() || choices.empty()) return part == std::string_view("message") ? fail(ErrorCode::failed, "the answer has no choice: " + error_words(text)) : Expected<void>();
    const Json delta = member(choices[0], part);
    answer_.text += text_of(delta, "content");
    refusal_ += text_of(delta, "refusal");
    if (const Json calls = member(delta, "tool_calls"); calls.is_array())
      for (const Json& call : calls) take_call(call);
    take_reason(text_of(choices[0], "finish_reason"));
    gather();
    return {};
  }
  void take_call(const Json& json) {
    const std::uint64_t index = json.is_object() && json.contains("index") ? count_of(json, "index") : calls_.size();
    ToolCall& call = calls_[index];
    if (const std::string id = text_of(json, "id"); !id.empty()) call.id = id;
    const Json function = member(json, "function");
    if (const std::string named = text_of(function, "name"); !named.empty()) call.name = named;
    call.arguments += text_of(function, "arguments");
  }
  void take_reason(const std::string& reason) {
    if (reason.empty()) return;
    has_reason_ = true;
    if (reason == "length") answer_.stop = StopReason::length;
    if (reason == "tool_calls") answer_.stop = StopReason::tool_calls;
    if (reason == "content_filter") {
      answer_.stop = StopReason::refused;
      answer_.why = "the provider's filter held the answer back";
    }
  }
  void gather() {
    answer_.calls.clear();
    for (const auto& [index, call] : calls_) answer_.calls.push_back(call);
    if (!answer_.calls.empty() && answer_.stop == StopReason::finished) answer_.stop = StopReason::tool_calls;
    if (refusal_.empty()) return;
    answer_.stop = StopReason::refused;
    answer_.why = refusal_;
  }

  std::map<std::uint64_t, ToolCall> calls_;
  std::string refusal_;
  Answer answer_;
  bool done_ = false, has_reason_ = false;
};

class OpenAiChat final : public Codec {
 public:
  std::string path() const override { return "/chat/completions"; }
  std::vector<std::pair<std::string, std::string>> headers(const Key& key) const override {
    if (key.empty()) return {};
    return {{"authorization", "Bearer " + key.value()}};
  }
  std::string body(const Request& request, const Dialect& dialect) const override {
    OrderedJson body{{"model", dialect.model}, {"stream", true}, {"stream_options", {{"include_usage", true}}}};
    body[dialect.is_original ? "max_completion_tokens" : "max_tokens"] = request.max_output_tokens;   // the new name is OpenAI's, the old one everybody's
    OrderedJson messages = OrderedJson::array();
    if (!request.system.empty()) messages.push_back({{"role", dialect.is_original ? "developer" : "system"}, {"content", request.system}});
    for (const Message& message : request.messages) messages.push_back(message_json(message));
    body["messages"] = std::move(messages);
    for (const Tool& tool : request.tools)
      body["tools"].push_back({{"type", "function"}, {"function", {{"name", tool.name}, {"description", tool.description}, {"parameters", schema_of(tool.parameters)}}}});
    if (!request.effort.empty()) body["reasoning_effort"] = request.effort;
    return dumped(body);
  }
  std::unique_ptr<AnswerReader> reader() const override { return std::make_unique<Reader>(); }
};

}  // namespace

std::unique_ptr<Codec> openai_chat_codec() { return std::make_unique<OpenAiChat>(); }

}  // namespace kforge::llm
