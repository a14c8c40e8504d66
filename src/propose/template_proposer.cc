#include "propose/template_proposer.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "propose/search.h"
#include "propose/template_render.h"
#include "task/expression.h"

namespace kforge::propose {
namespace {

constexpr std::string_view kStepPrefix = "template:";

// Numbers that the constraints may name, at each measure size.
std::vector<task::Sizes> constraint_numbers(const Applied& applied, const task::Task& task, const hardware::DataSheet& sheet) {
  std::vector<task::Sizes> out;
  std::vector<task::Sizes> measures = task.measure;
  if (measures.empty()) measures.emplace_back();
  for (const task::Sizes& sizes : measures) {
    task::Sizes numbers = sizes;
    for (const auto& [name, value] : sheet_numbers(sheet)) numbers[name] = value;
    for (const auto& [name, term] : applied.binding.numbers) numbers[name] = value_of(term, sizes).value_or(1);
    out.push_back(std::move(numbers));
  }
  return out;
}

// Whether a value of the plan's step allows the choice: numbers as text.
bool allowed(const PlanStep* step, const std::string& parameter, std::int64_t choice) {
  if (!step) return true;
  const auto given = step->parameters.find(parameter);
  if (given == step->parameters.end() || given->second.empty()) return true;
  return std::any_of(given->second.begin(), given->second.end(), [&](const std::string& text) { return parse_integer(text) == std::optional(choice); });
}

// A choice is pruned only by a condition that holds nowhere: what is no improvement at one measure size may be one at another.
bool rules_hold(const std::vector<task::Expression>& rules, const std::vector<task::Sizes>& numbers, const Values& values) {
  for (const task::Expression& rule : rules) {
    bool somewhere = false;
    for (const task::Sizes& known : numbers) {
      task::Sizes all = known;
      for (const auto& [name, value] : values) all[name] = value;
      somewhere = somewhere || rule.value(all).value_or(0) != 0;
    }
    if (!somewhere) return false;
  }
  return true;
}

Space space_of(const Applied& applied, const task::Task& task, const hardware::DataSheet& sheet, const PlanStep* step) {
  std::vector<Dimension> dimensions;
  for (const TemplateParameter& p : applied.made.parameters) {
    Dimension dimension{p.name, {}};
    for (const std::int64_t choice : p.choices)
      if (allowed(step, p.name, choice)) dimension.choices.push_back(choice);
    dimensions.push_back(std::move(dimension));
  }
  std::vector<task::Expression> rules;
  for (const TemplateConstraint& c : applied.made.constraints)
    if (auto rule = task::Expression::parse_condition(c.holds)) rules.push_back(std::move(*rule));
  const auto numbers = constraint_numbers(applied, task, sheet);
  return Space(std::move(dimensions), [&](const Values& values) { return rules_hold(rules, numbers, values); });
}

const PlanStep* step_of(const Plan& plan, const std::string& name) {
  const auto found = std::find_if(plan.steps.begin(), plan.steps.end(), [&](const PlanStep& s) { return s.id == std::string(kStepPrefix) + name; });
  return found == plan.steps.end() ? nullptr : &*found;
}

std::string change_text(const Template& made, const Values& from, const Values& to) {
  std::string text;
  for (const TemplateParameter& p : made.parameters) {
    const auto before = from.find(p.name), after = to.find(p.name);
    if (before == from.end() || after == to.end() || before->second == after->second) continue;
    text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", p.name, before->second, after->second);
  }
  return text;
}

Values values_of(const Candidate& candidate) {
  Values values;
  for (const auto& [name, text] : candidate.parameters)
    if (const auto value = parse_integer(text)) values[name] = *value;
  return values;
}

// One template's search, fed with what the situation knows of it.
struct Branch {
  const Applied* applied = nullptr;
  std::unique_ptr<Search> search;
  std::size_t tried = 0, accepted = 0;
  double best_us = 0;              // of accepted ones; of the others when none is
  std::string best;                // id
  Values best_values;
  std::size_t asked = 0;           // in this call
};

Branch branch_of(const Applied& applied, const Situation& situation) {
  Branch out;
  out.applied = &applied;
  out.search = std::make_unique<Search>(applied.space, SearchOptions{situation.seed, standard_point(applied), {}});
  for (const Tried& tried : situation.tried) {
    if (tried.candidate.proposer != std::string(kStepPrefix) + applied.made.name) continue;
    ++out.tried;
    const Values values = values_of(tried.candidate);
    const bool accepted = tried.status == VerdictStatus::accepted;
    const std::size_t point = applied.space.find(values);
    if (point < applied.space.size()) {
      if (accepted && tried.us > 0) out.search->tell(point, tried.us, 1);
      else out.search->tell_invalid(point, 1);
    }
    const bool better = tried.us > 0 && (out.best.empty() || (accepted && out.accepted == 0) || (accepted == (out.accepted > 0) && tried.us < out.best_us));
    out.accepted += accepted;
    if (better || out.best.empty()) out.best_us = tried.us, out.best = tried.candidate.id, out.best_values = values;
  }
  return out;
}

// A template whose first candidates were all rejected is a dead end; so is one whose space is done.
bool is_dead(const Branch& branch) {
  constexpr std::size_t kPatience = 4;
  return branch.tried + branch.asked >= branch.applied->space.size() || (branch.accepted == 0 && branch.tried >= kPatience);
}

class TemplateProposer final : public Proposer {
 public:
  std::string_view name() const override { return "template"; }

  std::vector<Candidate> propose(const Situation& situation, std::size_t wanted) override {
    const auto& all = applied(situation);
    std::vector<Branch> branches;
    for (const Applied& one : all) branches.push_back(branch_of(one, situation));
    std::set<std::string> known;
    for (const Tried& tried : situation.tried) known.insert(tried.candidate.id);
    std::vector<Candidate> out;
    while (out.size() < wanted) {
      Branch* branch = choose(branches);
      if (!branch) break;
      ++branch->asked;
      const auto points = branch->search->ask(1);
      if (points.empty()) {
        branch->asked = branch->applied->space.size();
        continue;
      }
      auto candidate = candidate_at(*branch->applied, branch->applied->space.values(points[0]));
      branch->search->tell_pending(points[0]);
      if (!candidate || !known.insert(candidate->id).second) continue;
      describe(*candidate, *branch);
      out.push_back(std::move(*candidate));
    }
    return out;
  }

 private:
  // Untried templates first, in order; then the one whose best time, given how often it was visited, promises most: progressive
  // widening lets the n-th candidate of a template in when its best is within a factor that shrinks with n.
  static Branch* choose(std::vector<Branch>& branches) {
    for (Branch& b : branches)
      if (b.tried + b.asked == 0 && !is_dead(b)) return &b;
    Branch* chosen = nullptr;
    double best_score = INFINITY;
    double least = INFINITY;
    for (const Branch& b : branches)
      if (b.accepted > 0) least = std::min(least, b.best_us);
    for (Branch& b : branches) {
      if (is_dead(b)) continue;
      const double visits = static_cast<double>(b.tried + b.asked);
      const double ratio = b.accepted > 0 && b.best_us > 0 ? b.best_us / least : 2.0;
      const double score = std::log(ratio) * 4 + 0.5 * std::log(visits + 1);
      if (score < best_score) best_score = score, chosen = &b;
    }
    return chosen;
  }

  static void describe(Candidate& candidate, const Branch& branch) {
    const Template& made = branch.applied->made;
    if (branch.best.empty()) return;
    const std::string change = change_text(made, branch.best_values, values_of(candidate));
    candidate.parent = branch.best;
    candidate.move = {"parameter", change, "", made.rule, 1.05};
  }

  // Binding is done once a task, plan and sheet.
  const std::vector<Applied>& applied(const Situation& situation) {
    const std::string key = situation.task.path + "|" + situation.task.name + "|" + situation.sheet.name + "|" + situation.plan.guess.pattern;
    if (key != key_) {
      applied_ = applied_templates(situation.task, situation.sheet, situation.plan);
      key_ = key;
    }
    return applied_;
  }

  std::string key_;
  std::vector<Applied> applied_;
};

}  // namespace

std::vector<Applied> applied_templates(const task::Task& task, const hardware::DataSheet& sheet, const Plan& plan, std::vector<std::string>* why_not) {
  std::vector<Applied> out;
  auto all = templates();
  if (!all) {
    if (why_not) why_not->push_back(all.error().message);
    return out;
  }
  const Computation computation = computation_of(task, plan.guess.pattern);
  const bool planned = std::any_of(plan.steps.begin(), plan.steps.end(), [](const PlanStep& s) { return s.id.starts_with(kStepPrefix); });
  std::map<std::string, double> order;
  for (Template& made : *all) {
    const PlanStep* step = step_of(plan, made.name);
    std::string why;
    if (planned && (!step || !step->enabled)) why = "the plan leaves it out";
    auto binding = why.empty() ? bind_template(made, computation, sheet, why) : std::nullopt;
    if (!binding) {
      if (why_not) why_not->push_back(made.name + ": " + why);
      continue;
    }
    const bool matches = std::find(made.patterns.begin(), made.patterns.end(), plan.guess.pattern) != made.patterns.end();
    order[made.name] = planned ? static_cast<double>(step - plan.steps.data()) : -made.expected_gain - (matches ? 1000 : 0);
    Applied applied{std::move(made), std::move(*binding), Space({}, [](const Values&) { return false; })};
    applied.space = space_of(applied, task, sheet, step);
    if (applied.space.size() > 0) out.push_back(std::move(applied));
    else if (why_not) why_not->push_back(applied.made.name + ": no parameters are left");
  }
  std::stable_sort(out.begin(), out.end(), [&](const Applied& a, const Applied& b) { return order[a.made.name] < order[b.made.name]; });
  return out;
}

std::size_t standard_point(const Applied& applied) {
  Values standard;
  for (const TemplateParameter& p : applied.made.parameters) standard[p.name] = p.standard;
  const Space& space = applied.space;
  if (const std::size_t found = space.find(standard); found < space.size()) return found;
  std::size_t best = 0;
  double least = INFINITY;
  for (std::size_t i = 0; i < space.size(); ++i) {
    double distance = 0;
    for (std::size_t d = 0; d < space.dimensions().size(); ++d) {
      const auto& choices = space.dimensions()[d].choices;
      const auto at = std::find(choices.begin(), choices.end(), standard[space.dimensions()[d].name]);
      const double wanted = at == choices.end() ? 0 : static_cast<double>(at - choices.begin());
      distance += std::abs(wanted - space.choices(i)[d]) / static_cast<double>(choices.size());
    }
    if (distance < least) least = distance, best = i;
  }
  return best;
}

Expected<Candidate> candidate_at(const Applied& applied, const Values& values) {
  auto text = render(applied.made, applied.binding, values);
  if (!text) return Unexpected(text.error());
  Candidate out;
  out.proposer = std::string(kStepPrefix) + applied.made.name;
  out.move = {"template", applied.made.title, out.proposer, applied.made.rule, applied.made.expected_gain};
  out.source = std::move(*text);
  for (const TemplateParameter& p : applied.made.parameters) {
    const auto value = values.find(p.name);
    out.parameters.emplace_back(p.name, std::to_string(value == values.end() ? p.standard : value->second));
  }
  out.id = identity(out.source, out.flags);
  return out;
}

std::vector<TemplateOffer> template_offers(const task::Task& task, const hardware::DataSheet& sheet, const std::string& pattern) {
  Plan plan;
  plan.guess.pattern = pattern;
  std::vector<TemplateOffer> out;
  for (const Applied& applied : applied_templates(task, sheet, plan)) out.push_back({applied.made.name, applied.made.title, applied.made.rule, applied.made.expected_gain});
  return out;
}

std::unique_ptr<Proposer> make_template_proposer() { return std::make_unique<TemplateProposer>(); }

}  // namespace kforge::propose
