#include "report/story.h"

#include <algorithm>

#include "report/figures.h"

namespace kforge::report {
namespace {

std::vector<const Finding*> answered_by(const Move& move, const TriedCandidate& before) {
  std::vector<const Finding*> out;
  for (const Finding& finding : before.verdict.findings)
    if (out.size() < 3 && (finding.contract == move.answers || (!move.rule.empty() && finding.rule == move.rule))) out.push_back(&finding);
  return out;
}

// The move's own rule, else that of the finding which it answers.
std::string rule_id(const StoryStep& step) {
  if (!step.tried->candidate.move.rule.empty()) return step.tried->candidate.move.rule;
  for (const Finding* finding : step.answered)
    if (!finding->rule.empty()) return finding->rule;
  return {};
}

std::optional<KnowledgeRule> find_rule(const std::vector<KnowledgeRule>& rules, const std::string& id) {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const KnowledgeRule& rule) { return rule.id == id; });
  return found == rules.end() ? std::nullopt : std::optional(*found);
}

bool descends_from(const RunRecord& run, const TriedCandidate& tried, const TriedCandidate& ancestor) {
  const TriedCandidate* at = &tried;
  for (std::size_t steps = 0; at && at != &ancestor && steps < run.tried.size(); ++steps) at = run.find(at->candidate.parent);
  return at == &ancestor;
}

StoryStep step_of(const RunRecord& run, const TriedCandidate& tried, const TriedCandidate* before, const std::vector<KnowledgeRule>& rules) {
  StoryStep step;
  step.tried = &tried;
  step.before = before;
  step.descends = before && descends_from(run, tried, *before);
  step.expected_gain = tried.candidate.move.expected_gain;
  step.observed_gain = tried.observed_gain;
  if (before) {
    if (step.descends) step.answered = answered_by(tried.candidate.move, *before);
    if (microseconds(tried) > 0 && microseconds(*before) > 0) step.observed_gain = microseconds(*before) / microseconds(tried);
    step.change = difference(before->candidate.source, tried.candidate.source);
  }
  step.rule = find_rule(rules, rule_id(step));
  return step;
}

}  // namespace

std::vector<StoryStep> story_of(const RunRecord& run) {
  const auto rules = knowledge_rules();
  const std::vector<KnowledgeRule> known = rules ? *rules : std::vector<KnowledgeRule>{};
  std::vector<StoryStep> steps;
  const TriedCandidate* before = run.baseline.empty() ? nullptr : run.find(run.baseline);
  for (const std::string& id : run.winners) {
    const TriedCandidate* tried = run.find(id);
    if (!tried || tried == before) continue;
    steps.push_back(step_of(run, *tried, before, known));
    before = tried;
  }
  return steps;
}

}  // namespace kforge::report
