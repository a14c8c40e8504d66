// OpenAI's Responses: nothing is kept at the server; reasoning goes back and forth encrypted.
#include "llm/codec.h"
#include "llm/json_tools.h"

namespace kforge::llm {
namespace {

void add_assistant(OrderedJson& input, const Message& message) {
  if (!message.own.empty())
    if (auto own = OrderedJson::parse(message.own, nullptr, false); own.is_array() && !own.empty()) {
      for (auto& item : own) input.push_back(std::move(item));
      return;
    }
  if (!message.text.empty()) input.push_back({{"role", "assistant"}, {"content", message.text}});
  for (const ToolCall& call : message.calls) input.push_back({{"type", "function_call"}, {"call_id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
}

OrderedJson input_of(const Request& request) {
  OrderedJson input = OrderedJson::array();
  for (const Message& message : request.messages) {
    if (message.role == Role::user) input.push_back({{"role", "user"}, {"content", message.text}});
    else if (message.role == Role::tool) input.push_back({{"type", "function_call_output"}, {"call_id", message.call}, {"output", message.text}});
    else add_assistant(input, message);
  }
  return input;
}

class Reader final : public AnswerReader {
 public:
  Expected<void> event(const Event& event) override {
    if (event.data == "[DONE]") return {};
    const Json json = parsed(event.data);
    if (!json.is_object()) return fail(ErrorCode::failed, "the stream holds an event that is no JSON");
    const std::string type = text_of(json, "type");
    if (type == "error") return fail(ErrorCode::failed, "the server says in the stream: " + error_words(event.data));
    if (type == "response.output_text.delta" && !done_) answer_.text += text_of(json, "delta");
    if (type == "response.completed" || type == "response.incomplete" || type == "response.failed") return take(member(json, "response"));
    return {};
  }
  Expected<void> whole(const std::string& body) override {
    const Json json = parsed(body);
    if (text_of(json, "object") != "response") return fail(ErrorCode::failed, "the answer is no response: " + error_words(body));
    return take(json);
  }
  bool done() const override { return done_; }
  const Answer& answer() const override { return answer_; }

 private:
  // The last event holds all that was streamed.
  Expected<void> take(const Json& response) {
    const std::string status = text_of(response, "status");
    if (status == "failed") return fail(ErrorCode::failed, "the server says: " + text_of(member(response, "error"), "message"));
    answer_ = {};
    answer_.model = text_of(response, "model");
    if (const Json usage = member(response, "usage"); usage.is_object())
      answer_.usage = {count_of(usage, "input_tokens"), count_of(usage, "output_tokens"), count_of(member(usage, "input_tokens_details"), "cached_tokens"), 0, true};
    OrderedJson own = OrderedJson::array();
    const Json output = member(response, "output");
    if (!output.is_array()) return fail(ErrorCode::failed, "the response has no output");
    for (const Json& item : output) take_item(item, own);
    answer_.own = dumped(own);
    if (status == "incomplete") {
      const bool filtered = text_of(member(response, "incomplete_details"), "reason") == "content_filter";
      answer_.stop = filtered ? StopReason::refused : StopReason::length;
      if (filtered) answer_.why = "the provider's filter held the answer back";
    } else if (!answer_.calls.empty() && answer_.stop == StopReason::finished) {
      answer_.stop = StopReason::tool_calls;
    }
    done_ = true;
    return {};
  }
  void take_item(const Json& item, OrderedJson& own) {
    const std::string type = text_of(item, "type");
    if (type == "function_call") {
      answer_.calls.push_back({text_of(item, "call_id"), text_of(item, "name"), text_of(item, "arguments")});
      own.push_back({{"type", type}, {"call_id", text_of(item, "call_id")}, {"name", text_of(item, "name")}, {"arguments", text_of(item, "arguments")}});
    } else if (type == "reasoning" && !text_of(item, "encrypted_content").empty()) {   // without it nobody can take the item back
      own.push_back(OrderedJson::parse(item.dump()));
      own.back().erase("status");   // it is the server's to say
    } else if (type == "message") {
      std::string text;
      const Json content = member(item, "content");
      if (!content.is_array()) return;
      for (const Json& part : content) {
        if (text_of(part, "type") == "output_text") text += text_of(part, "text");
        if (text_of(part, "type") != "refusal") continue;
        answer_.stop = StopReason::refused;
        answer_.why += text_of(part, "refusal");
      }
      answer_.text += text;
      own.push_back({{"role", "assistant"}, {"content", text}});
    }
  }

  Answer answer_;
  bool done_ = false;
};

class OpenAiResponses final : public Codec {
 public:
  std::string path() const override { return "/responses"; }
  std::vector<std::pair<std::string, std::string>> headers(const Key& key) const override {
    if (key.empty()) return {};
    return {{"authorization", "Bearer " + key.value()}};
  }
  std::string body(const Request& request, const Dialect& dialect) const override {
    OrderedJson body{{"model", dialect.model}, {"stream", true}, {"store", false}, {"max_output_tokens", request.max_output_tokens}};
    if (!request.system.empty()) body["instructions"] = request.system;
    body["input"] = input_of(request);
    for (const Tool& tool : request.tools)
      body["tools"].push_back({{"type", "function"}, {"name", tool.name}, {"description", tool.description}, {"parameters", schema_of(tool.parameters)}, {"strict", false}});
    if (!request.effort.empty()) {
      body["reasoning"] = {{"effort", request.effort}};
      body["include"] = {"reasoning.encrypted_content"};
    }
    return dumped(body);
  }
  std::unique_ptr<AnswerReader> reader() const override { return std::make_unique<Reader>(); }
};

}  // namespace

std::unique_ptr<Codec> openai_responses_codec() { return std::make_unique<OpenAiResponses>(); }

}  // namespace kforge::llm
