#include "model/conversation.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kforge::model {
namespace {

constexpr int kAnswers = 3;                      // that are asked for until one holds a kernel
constexpr const char* kFinishSchema = R"({"type":"object","properties":{"source":{"type":"string","description":"the whole .cu file"}},"required":["source"]})";

std::vector<llm::Tool> tools_of(const ModelSetup& setup) {
  std::vector<llm::Tool> out;
  if (!setup.prompt.tools) return out;
  for (const ToolRow& row : setup.tools) out.push_back({std::string(row.name), std::string(row.description), std::string(row.parameters)});
  out.push_back({std::string(kFinish), "Hands in the kernel that is your answer and ends your turn.", kFinishSchema});
  return out;
}

// The text under `source` of a call's arguments; nothing when there is none.
std::optional<std::string> source_in(const std::string& arguments) {
  const auto json = nlohmann::json::parse(arguments, nullptr, false);
  if (!json.is_object() || !json.contains("source") || !json["source"].is_string()) return std::nullopt;
  return json["source"].get<std::string>();
}

class Conversation {
 public:
  Conversation(const ModelSetup& setup, std::mutex& shared, const task::Task& task) : setup_(setup), shared_(shared), task_(task) {}

  Talk run(const std::string& system, const std::string& prompt) {
    request_.system = system;
    request_.effort = setup_.effort;
    request_.tools = tools_of(setup_);
    request_.messages.push_back({llm::Role::user, prompt, {}, "", false});
    for (int answers = 0; answers < kAnswers && !done();) {
      auto answer = ask();
      if (!answer) {
        talk_.failure = answer.error();
        break;
      }
      request_.messages.push_back(llm::message_of(*answer));
      if (!answer->calls.empty() && !request_.tools.empty()) take_calls(*answer);
      else take_text(*answer), ++answers;
    }
    return std::move(talk_);
  }

 private:
  bool done() const { return talk_.answer.has_value(); }

  Expected<llm::Answer> ask() {
    const std::uint64_t input = llm::estimated_tokens(llm::transcript(request_));
    request_.max_output_tokens = setup_.spending->affordable_output(input, setup_.answer_tokens);
    if (request_.max_output_tokens == 0) return fail(ErrorCode::limit, setup_.spending->exhausted());
    if (setup_.recall) {
      const std::lock_guard lock(shared_);
      if (auto known = setup_.recall(llm::identity(request_))) {
        setup_.spending->add(known->usage);
        return std::move(*known);
      }
    }
    llm::AskControl control;
    control.cancelled = setup_.cancelled;
    control.progress = setup_.progress;
    control.lost = [&](const llm::Usage& usage) { setup_.spending->add(usage); };
    auto answer = setup_.client->ask(request_, control);
    if (!answer) return answer;
    setup_.spending->add(answer->usage);
    if (!setup_.keep) return answer;
    const std::lock_guard lock(shared_);
    if (auto kept = setup_.keep(request_, *answer); !kept) return Unexpected(kept.error());
    return answer;
  }

  // The model is told what was wrong and asked again.
  void take_text(const llm::Answer& answer) {
    auto extracted = extract(answer, task_);
    if (extracted) {
      talk_.answer = std::move(*extracted);
      return;
    }
    note("answer", extracted.error().message);
    const auto text = fill("again", {{{"reason", extracted.error().message}, {"hint", extracted.error().hint}}});
    request_.messages.push_back({llm::Role::user, text ? *text : extracted.error().message, {}, "", false});
  }

  void take_calls(const llm::Answer& answer) {
    for (const llm::ToolCall& call : answer.calls) {
      ToolAnswer result = ++calls_ > setup_.prompt.tool_calls && call.name != kFinish ? ToolAnswer{"no further calls are left: finish", true} : take_call(call);
      request_.messages.push_back({llm::Role::tool, std::move(result.text), {}, call.id, result.failed});
    }
    // A model that goes on calling after its last call has had its say.
    if (calls_ > 2 * setup_.prompt.tool_calls + 2) talk_.failure = Error{ErrorCode::unsupported, "the model calls tools and never finishes", {}, ""};
    if (talk_.failure) talk_.answer = talk_.checked.empty() ? std::optional<Extracted>() : std::optional(talk_.checked.back());
  }

  ToolAnswer take_call(const llm::ToolCall& call) {
    const auto source = source_in(call.arguments);
    if (call.name == kFinish && !source) return {"`finish` takes {\"source\": \"the whole .cu file\"}", true};
    std::optional<Extracted> kernel;
    if (source && (call.name == kFinish || call.name == "check")) {
      auto inspected = inspect(*source, task_);
      if (!inspected) {
        note("answer", inspected.error().message);
        return {fmt::format("not taken: {}. {}", inspected.error().message, inspected.error().hint), true};
      }
      kernel = std::move(*inspected);
    }
    if (call.name == kFinish) {
      talk_.answer = std::move(kernel);
      return {"taken"};
    }
    const std::lock_guard lock(shared_);
    ToolAnswer result = setup_.call_tool ? setup_.call_tool(call.name, call.arguments) : ToolAnswer{"there is no such tool", true};
    if (kernel && !result.failed) talk_.checked.push_back(std::move(*kernel));
    if (setup_.note) setup_.note("tool", fmt::format("{}{}: {}", call.name, result.failed ? " failed" : "", result.text.substr(0, result.text.find('\n'))));
    return result;
  }

  void note(const std::string& kind, const std::string& text) {
    const std::lock_guard lock(shared_);
    if (setup_.note) setup_.note(kind, text);
  }

  const ModelSetup& setup_;
  std::mutex& shared_;
  const task::Task& task_;
  llm::Request request_;
  std::size_t calls_ = 0;
  Talk talk_;
};

}  // namespace

Talk converse(const ModelSetup& setup, std::mutex& shared, const task::Task& task, const std::string& system, const std::string& prompt) { return Conversation(setup, shared, task).run(system, prompt); }

}  // namespace kforge::model
