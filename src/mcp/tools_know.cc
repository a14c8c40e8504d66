// Tools that know: plan_task, explain_finding, search_knowledge, search_context, gpu_sheet.
#include <algorithm>

#include <fmt/format.h>

#include "base/counted.h"
#include "base/text.h"
#include "kforge/context.h"
#include "kforge/gpu.h"
#include "kforge/knowledge.h"
#include "kforge/learn.h"
#include "kforge/plan.h"
#include "kforge/report.h"
#include "mcp/tool_words.h"

namespace kforge::mcp {
namespace {

void add_rule(const KnowledgeRule& rule, Answer& answer) {
  answer.text += fmt::format("rule {}: {}\nwhy: {}\nwhat to do: {}\n", rule.id, rule.title, trim(rule.why), trim(rule.what_to_do));
  if (rule.gain_high > 1) answer.text += fmt::format("usual gain: {:.3g} to {:.3g} times\n", rule.gain_low, rule.gain_high);
  answer.data["rule"] = {{"id", rule.id}, {"title", rule.title}, {"why", rule.why}, {"what_to_do", rule.what_to_do}, {"gain", {rule.gain_low, rule.gain_high}}};
  add_link(answer, {"rule", "kforge://rule/" + rule.id, "text/plain", rule.example ? "the rule with a kernel before and after" : "the rule"});
}

// The rule that answers a contract's findings when no other one fits better.
Expected<KnowledgeRule> default_rule(const std::string& contract) {
  auto rules = knowledge_rules();
  if (!rules) return Unexpected(rules.error());
  std::vector<std::string> contracts;
  for (KnowledgeRule& rule : *rules) {
    if (std::find(rule.default_for.begin(), rule.default_for.end(), contract) != rule.default_for.end()) return std::move(rule);
    contracts.insert(contracts.end(), rule.default_for.begin(), rule.default_for.end());
  }
  const auto near = nearest(contract, std::span<const std::string>(contracts));
  return fail(ErrorCode::bad_input, "there is no contract \"" + contract + "\"", {}, near ? "did you mean \"" + *near + "\"?" : "known: " + join(contracts, ", "));
}

// Whole lines, of 1,000 bytes at most.
std::string beginning(const std::string& text) {
  constexpr std::size_t kMost = 1'000;
  if (text.size() <= kMost) return text;
  const std::size_t end = text.rfind('\n', kMost);
  return text.substr(0, end == std::string::npos ? kMost : end + 1);
}

Expected<Verdict> kept_verdict(const ToolCall& call) {
  const std::string handle = call.text("verdict");
  const std::string text = call.workspace->kept_text("verdict", handle.substr(handle.rfind('/') + 1));
  if (text.empty()) return fail(ErrorCode::bad_input, "this server keeps no verdict " + handle, {}, "check_candidate gives a handle; old ones are dropped");
  return read_verdict(text, handle);
}

}  // namespace

Expected<Answer> plan_task(const ToolCall& call) {
  const auto options = check_options(call);
  if (!options) return Unexpected(options.error());
  const auto made = plan(options->task, options->gpu);
  if (!made) return Unexpected(made.error());
  Answer answer;
  answer.text = fmt::format("{} on {}: {} ({:.0f}% sure: {})\n", made->task, made->gpu, made->guess.pattern, 100 * made->guess.confidence, made->guess.why);
  answer.data = {{"task", made->task}, {"gpu", made->gpu}, {"pattern", made->guess.pattern}, {"confidence", made->guess.confidence}, {"sizes", Json::array()}, {"steps", Json::array()}};
  for (const PlanSize& size : made->sizes) {
    answer.text += fmt::format("floor {:.4g} us, target {:.4g} us, bound by {}\n", size.floor_us, size.target_us, size.bound);
    answer.data["sizes"].push_back({{"sizes", size.sizes}, {"floor_us", size.floor_us}, {"target_us", size.target_us}, {"bound", size.bound}});
  }
  for (const PlanStep& step : made->steps) {
    if (answer.data["steps"].size() < 8) answer.text += fmt::format("{}. {} [{}]: {}\n", answer.data["steps"].size() + 1, step.title, step.id, step.why);
    answer.data["steps"].push_back({{"id", step.id}, {"title", step.title}, {"why", step.why}, {"rule", step.rule}, {"expected_gain", step.expected_gain}});
  }
  for (const std::string& note : made->notes) answer.text += "note: " + note + "\n";
  add_link(answer, call.workspace->keep("plan", "application/toml", "the plan as a file for kforge optimize --plan", to_toml(*made)));
  return answer;
}

Expected<Answer> explain_finding(const ToolCall& call) {
  Answer answer;
  if (call.has("verdict") == call.has("contract"))
    return fail(ErrorCode::bad_input, call.has("verdict") ? "`verdict` (a handle) and `contract` were both given" : "neither `verdict` (a handle) nor `contract` was given", {}, "give one of them");
  if (call.has("contract")) {
    const auto rule = default_rule(call.text("contract"));
    if (!rule) return Unexpected(rule.error());
    add_rule(*rule, answer);
    return answer;
  }
  const auto verdict = kept_verdict(call);
  if (!verdict) return Unexpected(verdict.error());
  const auto number = static_cast<std::size_t>(call.integer("finding", 1));
  if (number > verdict->findings.size()) return fail(ErrorCode::bad_input, fmt::format("the verdict has {}", counted(verdict->findings.size(), "finding")));
  const Finding& finding = verdict->findings[number - 1];
  answer.text = to_text(std::vector{finding}, TextOptions{});
  answer.data["finding"] = finding_json(finding);
  answer.data["finding"]["details"] = finding.details;
  const auto rule = finding.rule.empty() ? default_rule(finding.contract) : knowledge_rule(finding.rule);
  if (rule) add_rule(*rule, answer);
  return answer;
}

Expected<Answer> search_knowledge_tool(const ToolCall& call) {
  std::vector<std::string> words;
  for (const std::string_view word : split_words(call.text("words"))) words.emplace_back(word);
  const auto rules = search_knowledge(words);
  if (!rules) return Unexpected(rules.error());
  Answer answer;
  answer.data["rules"] = Json::array();
  const auto most = static_cast<std::size_t>(call.integer("count", 5));
  for (const KnowledgeRule& rule : *rules) {
    if (answer.data["rules"].size() == most) break;
    const std::string uri = "kforge://rule/" + rule.id;
    answer.text += fmt::format("{}: {} ({})\n", rule.id, rule.title, uri);
    answer.data["rules"].push_back({{"id", rule.id}, {"title", rule.title}, {"contracts", rule.contracts}, {"uri", uri}});
    answer.links.push_back({rule.id, uri, "text/plain", rule.title});
  }
  answer.data["rules_in_all"] = rules->size();
  if (const CompilerMessage* message = words.empty() ? nullptr : explain_message(call.text("words"))) {
    answer.text += fmt::format("compiler message {} of {}\ncause: {}\nfix: {}\n", message->id, message->tool, message->cause, message->fix);
    answer.data["compiler_message"] = {{"id", message->id}, {"tool", message->tool}, {"cause", message->cause}, {"fix", message->fix}};
  }
  const auto cases = search_cases(call.workspace->options().store, words, 3);
  answer.data["cases"] = Json::array();
  for (const KnowledgeCase& known : cases ? *cases : std::vector<KnowledgeCase>()) {
    answer.text += "case " + to_text(known, false);
    answer.data["cases"].push_back({{"title", known.title}, {"gain", known.gain}, {"gpu", known.gpu}, {"pattern", known.pattern}, {"contract", known.contract}, {"run", known.run}});
    answer.links.push_back(call.workspace->keep("source", "text/x-cuda", "before: " + known.title, known.before_source));
    answer.links.push_back(call.workspace->keep("source", "text/x-cuda", "after: " + known.title, known.after_source));
  }
  if (answer.text.empty()) answer.text = "no rule holds all of these words; fewer words find more\n";
  return answer;
}

Expected<Answer> search_context_tool(const ToolCall& call) {
  const auto& folders = call.workspace->options().context;
  if (folders.empty()) return fail(ErrorCode::bad_input, "this server was started without context folders", {}, "kforge mcp --context DIR");
  const auto found = search_context(folders, call.text("query"), static_cast<std::size_t>(call.integer("count", 4)));
  if (!found) return Unexpected(found.error());
  Answer answer;
  answer.data["passages"] = Json::array();
  for (const ContextPassage& p : found->passages) {
    const std::string shown = beginning(p.text);
    const Link whole = call.workspace->keep("passage", "text/plain", fmt::format("{}:{}-{}", p.file, p.first_line, p.last_line), p.text);
    answer.text += fmt::format("{}:{}-{}\n{}{}\n", p.file, p.first_line, p.last_line, shown, shown.size() < p.text.size() ? "... the rest: " + whole.uri + "\n" : "");
    answer.data["passages"].push_back({{"file", p.file}, {"first_line", p.first_line}, {"last_line", p.last_line}, {"text", shown}, {"uri", whole.uri}});
    answer.links.push_back(whole);
  }
  if (found->passages.empty()) answer.text = "no passage holds one of these words\n";
  return answer;
}

Expected<Answer> gpu_sheet(const ToolCall& call) {
  Answer answer;
  if (call.has("gpu")) {
    const auto options = call.text("gpu").find('/') == std::string::npos ? Expected<std::string>(call.text("gpu")) : call.workspace->file(call.text("gpu"));
    if (!options) return Unexpected(options.error());
    const auto gpu = gpu_summary(*options);
    if (!gpu) return Unexpected(gpu.error());
    answer.text = fmt::format("{} ({}, sm_{})\n{}\n", gpu->product, gpu->architecture, gpu->sm, join(gpu->description, "\n"));
    answer.data = {{"name", gpu->name}, {"product", gpu->product}, {"sm", gpu->sm}, {"multiprocessors", gpu->multiprocessors}, {"memory_gib", gpu->memory_gib}, {"dram_gb_per_s", gpu->dram_gb_per_s},
                   {"fp32_tflops", gpu->fp32_tflops}, {"tensor_f16_tflops", gpu->tensor_f16_tflops}, {"untargetable", gpu->untargetable}, {"description", gpu->description}};
    return answer;
  }
  const auto all = gpus();
  if (!all) return Unexpected(all.error());
  answer.data["gpus"] = Json::array();
  for (const GpuSummary& gpu : *all) {
    answer.text += fmt::format("{}: {}, sm_{}, {:.0f} GB/s{}\n", gpu.name, gpu.product, gpu.sm, gpu.dram_gb_per_s, gpu.untargetable.empty() ? "" : "; " + gpu.untargetable);
    answer.data["gpus"].push_back({{"name", gpu.name}, {"product", gpu.product}, {"sm", gpu.sm}, {"dram_gb_per_s", gpu.dram_gb_per_s}, {"fp32_tflops", gpu.fp32_tflops}});
  }
  return answer;
}

}  // namespace kforge::mcp
