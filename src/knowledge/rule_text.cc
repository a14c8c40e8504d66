// A rule for people and for programs.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "kforge/knowledge.h"

namespace kforge {
namespace {

std::string range(const KnowledgeRule& rule) {
  if (rule.gain_high <= 1) return "not about speed";
  return fmt::format("{:.3g} to {:.3g} times", rule.gain_low, rule.gain_high);
}

std::string architectures(const KnowledgeRule& rule) {
  if (rule.min_sm == 0 && rule.max_sm == 0) return "all";
  if (rule.max_sm == 0) return fmt::format("sm_{} and later", rule.min_sm);
  return rule.min_sm == rule.max_sm ? fmt::format("sm_{}", rule.min_sm) : fmt::format("sm_{} to sm_{}", rule.min_sm, rule.max_sm);
}

}  // namespace

std::string to_text(const KnowledgeRule& rule, bool colour) {
  const auto bold = [&](std::string_view text) { return colour ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text); };
  std::string text = fmt::format("{}  {}\n", bold(rule.id), rule.title);
  const auto row = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<14} {}\n", key, value);
  };
  row("contracts", join(rule.contracts, ", "));
  row("patterns", rule.patterns.empty() ? "any" : join(rule.patterns, ", "));
  row("applies when", join(rule.applies_when, "  and  "));
  row("gain", range(rule));
  row("architectures", architectures(rule));
  for (const std::string& source : rule.sources) row("source", source);
  row("file", rule.file);
  text += "\n" + bold("Why") + "\n" + rule.why + "\n\n" + bold("What to do") + "\n" + rule.what_to_do + "\n";
  if (!rule.example) return text;
  const KnowledgeExample& example = *rule.example;
  text += fmt::format("\n{} ({})\n{}\n{} ({})\n{}", bold("Before"), example.before, example.before_source, bold("After"), example.after, example.after_source);
  return text;
}

std::string to_json(const std::vector<KnowledgeRule>& rules) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const KnowledgeRule& rule : rules) {
    Json entry = {{"id", rule.id}, {"title", rule.title}, {"contracts", rule.contracts}, {"patterns", rule.patterns}, {"applies_when", rule.applies_when},
                  {"gain", {rule.gain_low, rule.gain_high}}, {"min_sm", rule.min_sm}, {"max_sm", rule.max_sm}, {"sources", rule.sources},
                  {"why", rule.why}, {"what_to_do", rule.what_to_do}, {"file", rule.file}, {"built_in", rule.built_in}, {"example", nullptr}};
    if (rule.example)
      entry["example"] = {{"task", rule.example->task}, {"before", rule.example->before}, {"after", rule.example->after}, {"shows", rule.example->shows}};
    list.push_back(std::move(entry));
  }
  return Json{{"schema", "kforge.knowledge/1"}, {"rules", list}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kforge
