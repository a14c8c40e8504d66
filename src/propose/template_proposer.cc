#include "propose/template_proposer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "propose/search.h"
#include "propose/template_estimate.h"
#include "propose/template_render.h"
#include "task/expression.h"

namespace kforge::propose {
namespace {

constexpr std::string_view kStepPrefix = "template:";

// Whether a value of the plan's step allows the choice: numbers as text.
bool allowed(const PlanStep* step, const std::string& parameter, std::int64_t choice) {
  if (!step) return true;
  const auto given = step->parameters.find(parameter);
  if (given == step->parameters.end() || given->second.empty()) return true;
  return std::any_of(given->second.begin(), given->second.end(), [&](const std::string& text) { return parse_integer(text) == std::optional(choice); });
}

// A constraint of a template whose names have their places: the sizes and limits of each measured size, and the parameters, which change from point to point.
class Rule {
 public:
  Rule(task::Expression condition, const std::vector<task::Sizes>& known, const std::vector<Dimension>& dimensions) : condition_(std::move(condition)) {
    const std::vector<std::string>& names = condition_.names();
    for (std::size_t i = 0; i < names.size(); ++i)
      if (std::any_of(dimensions.begin(), dimensions.end(), [&](const Dimension& d) { return d.name == names[i]; })) parameters_.push_back(i);
    for (const task::Sizes& sizes : known) {
      numbers_.emplace_back(names.size());
      for (std::size_t i = 0; i < names.size(); ++i)
        if (const auto found = sizes.find(names[i]); found != sizes.end()) numbers_.back()[i] = found->second;
    }
  }

  // A choice is pruned only by a condition that holds nowhere: what is no improvement at one measured size may be one at another.
  bool holds_somewhere(const Values& values) {
    return std::any_of(numbers_.begin(), numbers_.end(), [&](std::vector<std::optional<std::int64_t>>& numbers) {
      for (const std::size_t i : parameters_) numbers[i] = values.find(condition_.names()[i])->second;
      return condition_.value_of(numbers).value_or(0) != 0;
    });
  }

 private:
  task::Expression condition_;
  std::vector<std::size_t> parameters_;                             // of the condition's names
  std::vector<std::vector<std::optional<std::int64_t>>> numbers_;   // of the names, a measured size
};

Space space_of(const Applied& applied, const task::Task& task, const hardware::DataSheet& sheet, const PlanStep* step) {
  std::vector<Dimension> dimensions;
  for (const TemplateParameter& p : applied.made.parameters) {
    Dimension dimension{p.name, {}};
    for (const std::int64_t choice : p.choices)
      if (allowed(step, p.name, choice)) dimension.choices.push_back(choice);
    dimensions.push_back(std::move(dimension));
  }
  const auto numbers = known_numbers(applied, task, sheet);
  std::vector<Rule> rules;
  for (const TemplateConstraint& c : applied.made.constraints)
    if (auto condition = task::Expression::parse_condition(c.holds)) rules.emplace_back(std::move(*condition), numbers, dimensions);
  return Space(std::move(dimensions), [&](const Values& values) { return std::all_of(rules.begin(), rules.end(), [&](Rule& rule) { return rule.holds_somewhere(values); }); });
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

// Parameters that two points of a template have different.
std::size_t distance(const Values& a, const Values& b) {
  return static_cast<std::size_t>(std::count_if(a.begin(), a.end(), [&](const auto& entry) {
    const auto other = b.find(entry.first);
    return other == b.end() || other->second != entry.second;
  }));
}

// It may be delivered, or is short of the task's goal alone.
bool could_win(const Tried& tried) {
  if (tried.status != VerdictStatus::rejected || tried.contracts.empty()) return tried.status == VerdictStatus::accepted;
  return std::all_of(tried.contracts.begin(), tried.contracts.end(),
                     [](const ContractReport& c) { return c.id == "goal" || c.level != Level::required || c.status != Status::failed; });
}

// A template that applies, with what the time model expects of its points.
struct Prepared {
  Applied applied;
  std::vector<double> prior;       // empty: not known
};

// Whether the template made the candidate; a remembered winner says so by its text alone.
bool is_of(const Candidate& candidate, const Applied& applied) {
  if (candidate.proposer == std::string(kStepPrefix) + applied.made.name) return true;
  if (candidate.proposer != "memory" || candidate.parameters.empty()) return false;
  const auto same = candidate_at(applied, values_of(candidate));
  return same && same->id == candidate.id;
}

// One template's search, fed with what the situation knows of it.
struct Branch {
  struct Node {
    const Tried* tried = nullptr;
    Values values;
  };
  const Applied* applied = nullptr;
  std::unique_ptr<Search> search;
  std::vector<Node> nodes;
  std::size_t accepted = 0, rejected = 0;
  const Node* best = nullptr;      // of those that could win; of the others when none could
  std::size_t asked = 0;           // in this call
};

void tell(Branch& branch, const Branch::Node& node) {
  const std::size_t point = branch.applied->space.find(node.values);
  if (point >= branch.applied->space.size()) return;
  const Tried& tried = *node.tried;
  if (tried.us > 0 && (could_win(tried) || tried.screened)) branch.search->tell(point, tried.us, tried.cost);
  else branch.search->tell_invalid(point, tried.cost);
}

// Those of the template's known points that this space has.
std::vector<std::size_t> known_points(const Applied& applied) {
  std::vector<std::size_t> out;
  for (const auto& point : applied.made.known) {
    Values values;
    for (const TemplateParameter& p : applied.made.parameters) values[p.name] = p.standard;
    for (const auto& [name, value] : point) values[name] = value;
    if (const std::size_t found = applied.space.find(values); found < applied.space.size()) out.push_back(found);
  }
  return out;
}

Branch branch_of(const Prepared& prepared, const Situation& situation) {
  const Applied& applied = prepared.applied;
  Branch out;
  out.applied = &applied;
  SearchOptions options{situation.seed, standard_point(applied), prepared.prior, {}, known_points(applied)};
  if (situation.effort)
    options.effort = [&applied, &situation](std::size_t point) {
      const auto candidate = candidate_at(applied, applied.space.values(point));
      return candidate ? situation.effort(*candidate) : 1.0;
    };
  out.search = std::make_unique<Search>(applied.space, std::move(options));
  for (const Tried& tried : situation.tried)
    if (is_of(tried.candidate, applied)) out.nodes.push_back({&tried, values_of(tried.candidate)});
  for (const Branch::Node& node : out.nodes) {
    tell(out, node);
    const bool wins = could_win(*node.tried);
    const bool better = node.tried->us > 0 && (!out.best || out.best->tried->us <= 0 || (wins && out.accepted == 0) || (wins == (out.accepted > 0) && node.tried->us < out.best->tried->us));
    out.accepted += wins;
    out.rejected += !wins && !node.tried->screened;
    if (better || !out.best) out.best = &node;
  }
  return out;
}

// A template whose first candidates were all rejected is a dead end; so is one whose space is done.
bool is_dead(const Branch& branch) {
  constexpr std::size_t kPatience = 4;
  return branch.nodes.size() + branch.asked >= branch.applied->space.size() || (branch.accepted == 0 && branch.rejected >= kPatience);
}

// What a new point is made from: of the template's candidates on the frontier the one that is nearest, of equally near ones the best. Where the
// frontier has none, the best of all.
const Branch::Node* parent_of(const Branch& branch, const Situation& situation, const Values& values) {
  const Branch::Node* nearest = nullptr;
  std::size_t least = 0;
  for (const std::string& id : situation.frontier) {
    const auto node = std::find_if(branch.nodes.begin(), branch.nodes.end(), [&](const Branch::Node& n) { return n.tried->candidate.id == id; });
    if (node == branch.nodes.end()) continue;
    const std::size_t own = distance(node->values, values);
    if (!nearest || own < least) nearest = &*node, least = own;
  }
  return nearest ? nearest : branch.best;
}

// The point with one parameter as near to its default as the rules allow.
std::optional<Values> with_default(const Applied& applied, const Values& values, const TemplateParameter& parameter) {
  auto choices = parameter.choices;
  const auto rank = [&](std::int64_t choice) { return std::distance(parameter.choices.begin(), std::find(parameter.choices.begin(), parameter.choices.end(), choice)); };
  std::stable_sort(choices.begin(), choices.end(), [&](std::int64_t a, std::int64_t b) { return std::abs(rank(a) - rank(parameter.standard)) < std::abs(rank(b) - rank(parameter.standard)); });
  Values out = values;
  for (const std::int64_t choice : choices) {
    if (choice == values.at(parameter.name)) return std::nullopt;   // nothing nearer is there
    out[parameter.name] = choice;
    if (applied.space.find(out) < applied.space.size()) return out;
  }
  return std::nullopt;
}

class TemplateProposer final : public Proposer {
 public:
  std::string_view name() const override { return "template"; }

  std::vector<Candidate> propose(const Situation& situation, std::size_t wanted) override {
    std::vector<Branch> branches;
    for (const Prepared& one : prepared(situation)) branches.push_back(branch_of(one, situation));
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
      const auto expected = branch->search->expected(points[0]);
      branch->search->tell_pending(points[0]);
      if (!candidate || !known.insert(candidate->id).second) continue;
      describe(*candidate, *branch, situation, expected.value_or(0));
      out.push_back(std::move(*candidate));
    }
    return out;
  }

  // Each parameter of the winner's template that is not at its default.
  std::vector<TakenBack> take_back(const Situation& situation, std::span<const Candidate> line) override {
    std::vector<TakenBack> out;
    for (std::size_t i = line.size(); i-- > 0;)
      for (const Prepared& one : prepared(situation)) {
        const Applied& applied = one.applied;
        if (!is_of(line[i], applied)) continue;
        const Values values = values_of(line[i]);
        if (applied.space.find(values) >= applied.space.size()) return out;
        for (const TemplateParameter& parameter : applied.made.parameters) {
          const auto back = with_default(applied, values, parameter);
          auto candidate = back ? candidate_at(applied, *back) : Expected<Candidate>(Candidate());
          if (!back || !candidate || candidate->id == line[i].id) continue;
          out.push_back({line[i].id, change_text(applied.made, *back, values), "parameter", applied.made.rule, 1, std::move(*candidate), i + 1});
        }
        return out;
      }
    return out;
  }

 private:
  // Untried templates first, in order; then the one whose best time, given how often it was visited, promises most: progressive
  // widening lets the n-th candidate of a template in when its best is within a factor that shrinks with n.
  static Branch* choose(std::vector<Branch>& branches) {
    for (Branch& b : branches)
      if (b.nodes.size() + b.asked == 0 && !is_dead(b)) return &b;
    Branch* chosen = nullptr;
    double best_score = INFINITY;
    double least = INFINITY;
    for (const Branch& b : branches)
      if (b.accepted > 0) least = std::min(least, b.best->tried->us);
    for (Branch& b : branches) {
      if (is_dead(b)) continue;
      const double visits = static_cast<double>(b.nodes.size() + b.asked);
      const double ratio = b.accepted > 0 && b.best->tried->us > 0 ? b.best->tried->us / least : 2.0;
      const double score = std::log(ratio) * 4 + 0.5 * std::log(visits + 1);
      if (score < best_score) best_score = score, chosen = &b;
    }
    return chosen;
  }

  // The first candidate of a template derives from nothing; the others are a change of one that is there.
  static void describe(Candidate& candidate, const Branch& branch, const Situation& situation, double expected_us) {
    const Template& made = branch.applied->made;
    const Values values = values_of(candidate);
    const Branch::Node* parent = parent_of(branch, situation, values);
    if (!parent) {   // one of several of its template: what it has other than the defaults tells them apart
      const std::string change = change_text(made, branch.applied->space.values(standard_point(*branch.applied)), values);
      if (!change.empty()) candidate.move.title += " (" + change + ")";
      return;
    }
    const double before = parent->tried->us;
    candidate.parent = parent->tried->candidate.id;
    candidate.move = {"parameter", change_text(made, parent->values, values), "", made.rule, before > 0 && expected_us > 0 ? std::clamp(before / expected_us, 0.25, 4.0) : 1.0};
  }

  // Binding is done once a task, plan and sheet.
  const std::vector<Prepared>& prepared(const Situation& situation) {
    std::string key = situation.task.path + "|" + situation.task.name + "|" + situation.sheet.name + "|" + situation.plan.guess.pattern;
    for (const PlanStep& step : situation.plan.steps) {
      if (!step.id.starts_with(kStepPrefix)) continue;
      key += fmt::format("|{} {}", step.id, step.enabled);
      for (const auto& [name, values] : step.parameters) key += fmt::format(" {}={}", name, fmt::join(values, ","));
    }
    if (key != key_) {
      prepared_.clear();
      for (Applied& applied : applied_templates(situation.task, situation.sheet, situation.plan)) {
        auto prior = Estimator(applied, situation.task, situation.sheet, situation.plan.guess.pattern).of(applied.space);
        prepared_.push_back({std::move(applied), std::move(prior)});
      }
      key_ = std::move(key);
    }
    return prepared_;
  }

  std::string key_;
  std::vector<Prepared> prepared_;
};

}  // namespace

std::vector<task::Sizes> known_numbers(const Applied& applied, const task::Task& task, const hardware::DataSheet& sheet) {
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
    applied.text = std::make_shared<TemplateText>(applied.made);
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
  auto text = applied.text ? applied.text->render(applied.binding, values) : render(applied.made, applied.binding, values);
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
