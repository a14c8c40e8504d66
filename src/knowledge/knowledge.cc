// The public functions: the rules of the program and of the user as one list.
#include "kforge/knowledge.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "knowledge/condition.h"
#include "knowledge/embedded.h"
#include "knowledge/rule_file.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;

std::string user_folder() {
  const char* named = std::getenv("KFORGE_KNOWLEDGE");
  return named && *named ? named : ".kforge/knowledge";
}

// The sources of an example: embedded, else a file beside the user's rule.
Expected<std::string> example_source(const std::string& path, const KnowledgeRule& rule) {
  if (rule.built_in) return std::string(knowledge::embedded_text(path));
  const fs::path beside = fs::path(rule.file).parent_path() / path;
  auto text = read_file(beside, 1 << 20);
  if (!text) return fail(ErrorCode::bad_input, "the example's source cannot be read: " + beside.string(), {rule.file, 0, 0}, "paths start from the rule's folder");
  return text;
}

Expected<void> attach_sources(KnowledgeRule& rule) {
  if (!rule.example) return {};
  auto before = example_source(rule.example->before, rule);
  if (!before) return Unexpected(before.error());
  auto after = example_source(rule.example->after, rule);
  if (!after) return Unexpected(after.error());
  rule.example->before_source = std::move(*before);
  rule.example->after_source = std::move(*after);
  return {};
}

Expected<KnowledgeRule> whole_rule(std::string_view text, const std::string& file, bool built_in) {
  auto rule = knowledge::parse_rule(text, file);
  if (!rule) return rule;
  rule->built_in = built_in;
  if (auto done = attach_sources(*rule); !done) return Unexpected(done.error());
  return rule;
}

using Rules = std::map<std::string, KnowledgeRule>;

Expected<Rules> read_built_in() {
  Rules rules;
  for (const knowledge::EmbeddedFile& file : knowledge::embedded_files()) {
    if (!file.path.starts_with("data/knowledge/") || !file.path.ends_with(".md")) continue;
    auto rule = whole_rule(file.text, std::string(file.path), true);
    if (!rule) return Unexpected(rule.error());
    rules.insert_or_assign(rule->id, std::move(*rule));
  }
  return rules;
}

// They never change, and each verdict asks for them.
const Expected<Rules>& built_in() {
  static const Expected<Rules> rules = read_built_in();
  return rules;
}

Expected<void> read_user(Rules& rules) {
  const fs::path folder = user_folder();
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return {};
  const auto names = list_directory(folder);
  if (!names) return Unexpected(names.error());
  for (const std::string& name : *names) {
    if (!name.ends_with(".md")) continue;
    const auto text = read_file(folder / name, 1 << 20);
    if (!text) return Unexpected(text.error());
    auto rule = whole_rule(*text, (folder / name).string(), false);
    if (!rule) return Unexpected(rule.error());
    rules.insert_or_assign(rule->id, std::move(*rule));
  }
  return {};
}

// How well a rule answers the words; 0: a word is nowhere in it.
int rank(const KnowledgeRule& rule, const std::vector<std::string>& words) {
  const std::string id = to_lower(rule.id), title = to_lower(rule.title), contracts = to_lower(join(rule.contracts, " ")),
                    patterns = join(rule.patterns, " "), text = to_lower(rule.why + " " + rule.what_to_do + " " + join(rule.causes, " "));
  int total = 0;
  for (const std::string& word : words) {
    const std::string w = to_lower(word);
    const auto holds = [&](const std::string& in) { return in.find(w) != std::string::npos; };
    const int points = (holds(id) ? 8 : 0) + (holds(title) ? 8 : 0) + (holds(contracts) ? 4 : 0) + (holds(patterns) ? 4 : 0) + (holds(text) ? 1 : 0);
    if (points == 0) return 0;
    total += points;
  }
  return total;
}

}  // namespace

Expected<std::vector<KnowledgeRule>> knowledge_rules() {
  if (!built_in()) return Unexpected(built_in().error());
  Rules rules = *built_in();
  if (auto done = read_user(rules); !done) return Unexpected(done.error());
  std::vector<KnowledgeRule> out;
  for (auto& [id, rule] : rules) out.push_back(std::move(rule));
  return out;
}

Expected<KnowledgeRule> knowledge_rule(const std::string& id) {
  auto rules = knowledge_rules();
  if (!rules) return Unexpected(rules.error());
  std::vector<std::string> known;
  for (KnowledgeRule& rule : *rules) {
    if (rule.id == id) return std::move(rule);
    known.push_back(rule.id);
  }
  const auto near = nearest(id, std::span<const std::string>(known));
  return fail(ErrorCode::bad_input, "no rule has the id '" + id + "'", {}, near ? "did you mean '" + *near + "'?" : "kforge knowledge search WORDS finds rules");
}

Expected<std::vector<KnowledgeRule>> search_knowledge(const std::vector<std::string>& words) {
  auto rules = knowledge_rules();
  if (!rules || words.empty()) return rules;
  std::vector<std::pair<int, KnowledgeRule>> ranked;
  for (KnowledgeRule& rule : *rules)
    if (const int points = rank(rule, words); points > 0) ranked.emplace_back(points, std::move(rule));
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<KnowledgeRule> out;
  for (auto& entry : ranked) out.push_back(std::move(entry.second));
  return out;
}

Expected<std::string> add_knowledge(const std::string& file) {
  const auto text = read_file(file, 1 << 20);
  if (!text) return Unexpected(text.error());
  auto rule = knowledge::parse_rule(*text, file);
  if (!rule) return Unexpected(rule.error());
  if (auto done = attach_sources(*rule); !done) return Unexpected(done.error());
  const fs::path folder = user_folder();
  if (auto made = make_directories(folder); !made) return Unexpected(made.error());
  if (rule->example) {
    for (const auto& [path, source] : {std::pair(&rule->example->before, &rule->example->before_source), std::pair(&rule->example->after, &rule->example->after_source)}) {
      if (fs::path(*path).is_absolute() || path->find("..") != std::string::npos)
        return fail(ErrorCode::bad_input, "an example's source lies beside its rule or below: " + *path, {file, 0, 0}, "move it there");
      if (auto made = make_directories((folder / *path).parent_path()); !made) return Unexpected(made.error());
      if (auto written = write_file_atomic(folder / *path, *source); !written) return Unexpected(written.error());
    }
  }
  const fs::path target = folder / (rule->id + ".md");
  if (auto written = write_file_atomic(target, *text); !written) return Unexpected(written.error());
  return target.string();
}

std::optional<bool> applies(const KnowledgeRule& rule, const Quantities& quantities) {
  bool unknown = false;
  for (const std::string& text : rule.applies_when) {
    const auto condition = knowledge::Condition::parse(text);
    const auto holds = condition ? condition->holds(quantities) : std::nullopt;
    if (holds && !*holds) return false;
    unknown |= !holds;
  }
  return unknown ? std::nullopt : std::optional(true);
}

}  // namespace kforge
