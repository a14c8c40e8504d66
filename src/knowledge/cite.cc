// Which rule a finding follows. Built-in rules and the user's are read once for a verdict; a broken rule of the user's leaves the
// built-in ones in force here, and `kforge knowledge` says what is wrong with it.
#include <algorithm>

#include "base/text.h"
#include "kforge/knowledge.h"
#include "knowledge/embedded.h"
#include "knowledge/rule_file.h"

namespace kforge {
namespace {

bool contains(const std::vector<std::string>& list, const std::string& item) { return std::find(list.begin(), list.end(), item) != list.end(); }

std::vector<KnowledgeRule> rules_in_force() {
  if (auto rules = knowledge_rules()) return std::move(*rules);
  std::vector<KnowledgeRule> rules;
  for (const knowledge::EmbeddedFile& file : knowledge::embedded_files())
    if (file.path.starts_with("data/knowledge/") && file.path.ends_with(".md"))
      if (auto rule = knowledge::parse_rule(file.text, std::string(file.path))) rules.push_back(std::move(*rule));
  return rules;
}

// A rule whose causes are among the finding's words fits better than the contract's default; of two such the one with the longer word.
std::string best_rule(const std::vector<KnowledgeRule>& rules, const Finding& finding) {
  const std::string words = to_lower(finding.cause + " " + finding.message + " " + finding.measured);
  std::string best;
  std::size_t longest = 0;
  for (const KnowledgeRule& rule : rules) {
    if (!contains(rule.contracts, finding.contract)) continue;
    if (longest == 0 && best.empty() && contains(rule.default_for, finding.contract)) best = rule.id;
    for (const std::string& cause : rule.causes) {
      if (cause.size() <= longest || words.find(to_lower(cause)) == std::string::npos) continue;
      longest = cause.size();
      best = rule.id;
    }
  }
  return best;
}

void explain_build(Finding& finding) {
  if (finding.contract != "build") return;
  const CompilerMessage* known = explain_message(finding.message);
  if (!known) return;
  finding.cause = finding.cause.empty() ? known->cause : finding.cause + ": " + known->cause;
  if (!contains(finding.advice, known->fix)) finding.advice.insert(finding.advice.begin(), known->fix);
}

}  // namespace

std::string rule_for(const Finding& finding) { return best_rule(rules_in_force(), finding); }

void cite_rules(Verdict& verdict) {
  if (verdict.findings.empty()) return;
  const std::vector<KnowledgeRule> rules = rules_in_force();
  for (Finding& finding : verdict.findings) {
    if (!finding.rule.empty()) continue;
    finding.rule = best_rule(rules, finding);
    explain_build(finding);
  }
}

}  // namespace kforge
