#include "llm/record.h"

#include <array>

#include "base/text.h"
#include "llm/json_tools.h"

namespace kforge::llm {
namespace {

constexpr const char* kSchema = "kforge.llm-record/1";
constexpr std::array kReasons{StopReason::finished, StopReason::tool_calls, StopReason::length, StopReason::refused};

OrderedJson json_of(const Answer& answer) {
  OrderedJson out{{"text", answer.text}, {"stop", std::string(name(answer.stop))}};
  for (const ToolCall& call : answer.calls) out["calls"].push_back({{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}});
  if (!answer.why.empty()) out["why"] = answer.why;
  if (!answer.model.empty()) out["model"] = answer.model;
  if (!answer.own.empty() && !answer.calls.empty()) out["own"] = answer.own;   // needed only where the conversation goes on
  const Usage& u = answer.usage;
  out["usage"] = {{"input", u.input}, {"output", u.output}, {"cached_input", u.cached_input}, {"cache_writes", u.cache_writes}, {"told", u.told}};
  return out;
}

Answer answer_of(const Json& json) {
  Answer out;
  out.text = text_of(json, "text");
  for (const StopReason reason : kReasons)
    if (text_of(json, "stop") == name(reason)) out.stop = reason;
  if (const Json calls = member(json, "calls"); calls.is_array())
    for (const Json& call : calls) out.calls.push_back({text_of(call, "id"), text_of(call, "name"), text_of(call, "arguments")});
  out.why = text_of(json, "why");
  out.model = text_of(json, "model");
  out.own = text_of(json, "own");
  const Json usage = member(json, "usage");
  out.usage = {count_of(usage, "input"), count_of(usage, "output"), count_of(usage, "cached_input"), count_of(usage, "cache_writes"), member(usage, "told") == true};
  return out;
}

Unexpected wrong(const std::string& message, const std::string& file, int line) {
  return fail(ErrorCode::bad_input, message, {file, line, 0}, "kforge runs RUN --messages FILE writes such a record");
}

}  // namespace

std::string answer_text(const Answer& answer) { return dumped(json_of(answer)); }

Expected<Answer> read_answer(std::string_view text) {
  const Json json = parsed(std::string(text));
  if (!json.is_object()) return fail(ErrorCode::bad_input, "a kept answer of the model is no JSON");
  return answer_of(json);
}

std::string to_text(const Record& record) {
  std::string out = dumped(OrderedJson{{"schema", kSchema}, {"provider", record.provider}, {"tools", record.tools}}) + "\n";
  for (const Exchange& exchange : record.exchanges) out += dumped(OrderedJson{{"request", exchange.request}, {"answer", json_of(exchange.answer)}}) + "\n";
  return out;
}

Expected<Record> read_record(std::string_view text, const std::string& file) {
  Record out;
  int number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    if (trim(line).empty()) continue;
    const Json json = parsed(std::string(line));
    if (!json.is_object()) return wrong("a line of the record is no JSON object", file, number);
    if (number == 1) {
      if (text_of(json, "schema") != kSchema) return wrong("this is no record of schema " + std::string(kSchema), file, number);
      out.provider = text_of(json, "provider");
      out.tools = member(json, "tools") == true;
      continue;
    }
    if (text_of(json, "request").empty() || !member(json, "answer").is_object()) return wrong("an exchange has no request or no answer", file, number);
    out.exchanges.push_back({text_of(json, "request"), answer_of(json["answer"])});
  }
  if (number == 0) return wrong("the record is empty", file, 1);
  return out;
}

}  // namespace kforge::llm
