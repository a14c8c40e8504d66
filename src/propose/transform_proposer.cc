#include "propose/transform_proposer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "propose/transform.h"
#include "task/expression.h"

namespace kforge::propose {
namespace {

const Tried* find(const Situation& situation, std::string_view id) {
  for (const Tried& tried : situation.tried) if (tried.candidate.id == id) return &tried;
  return nullptr;
}

// Elements of tensors whose shape has no size name, under the names that the launcher gives their pointers.
std::vector<std::pair<std::string, std::int64_t>> fixed_elements(const task::Task& task, const syntax::Program& program) {
  std::vector<std::pair<std::string, std::int64_t>> out;
  const syntax::Function* launcher = program.find(task.function);
  if (!launcher || launcher->parameters.size() < task.tensors.size()) return out;
  for (std::size_t i = 0; i < task.tensors.size(); ++i) {
    std::int64_t elements = 1;
    for (const std::string& extent : task.tensors[i].shape) {
      const auto value = task::evaluate(extent, {});
      elements = value ? elements * *value : 0;
    }
    if (elements > 0) out.emplace_back(launcher->parameters[i].name, elements);
  }
  return out;
}

Known known_of(const Situation& situation, const Tried* tried, const syntax::Program& program) {
  Known known;
  known.multiprocessors = static_cast<std::uint32_t>(situation.sheet.multiprocessors);
  known.registers_per_sm = static_cast<std::uint32_t>(situation.sheet.registers_per_sm);
  known.fixed_elements = fixed_elements(situation.task, program);
  if (!tried) return known;
  known.findings = tried->findings;
  known.profiles = tried->profiles;
  known.resources = tried->resources;
  return known;
}

// A plan's step "transform:unroll" that is switched off switches off transform.unroll.
bool enabled(const Plan& plan, std::string_view transformation) {
  for (const PlanStep& step : plan.steps) {
    if (step.enabled || !step.id.starts_with("transform:")) continue;
    if (transformation.substr(transformation.find('.') + 1) == std::string_view(step.id).substr(10)) return false;
  }
  return true;
}

Candidate derived(const Candidate& parent, const Transformation& row, Rewrite rewrite) {
  Candidate out;
  out.parent = parent.id;
  out.proposer = "transform";
  out.move = {std::string(row.id), std::move(rewrite.title), std::string(row.answers), std::string(row.rule), rewrite.expected_gain};
  out.source = std::move(rewrite.source);
  out.flags = parent.flags;
  for (std::string& flag : rewrite.flags) {
    const std::string_view key = std::string_view(flag).substr(0, flag.find('='));
    std::erase_if(out.flags, [&](const std::string& old) { return std::string_view(old).substr(0, old.find('=')) == key; });
    out.flags.push_back(std::move(flag));
  }
  out.id = identity(out.source, out.flags);
  return out;
}

// What a row of the table makes of a candidate.
struct Made { const Transformation* row; Candidate candidate; };

std::vector<Made> made_of(const Situation& situation, const Tried& parent) {
  std::vector<Made> out;
  const auto program = syntax::Program::parse(parent.candidate.source);
  if (!program) return out;
  const Known known = known_of(situation, &parent, *program);
  for (const Transformation& row : transformations())
    for (Rewrite& rewrite : row.apply(*program, known)) out.push_back({&row, derived(parent.candidate, row, std::move(rewrite))});
  return out;
}

struct Ranked { const Candidate* candidate; double score = 0; };

// What the run has seen of each move: how often, and the sum of the logarithms of the gains.
struct Seen { double times = 0, logs = 0; };
using SeenMoves = std::map<std::string, Seen, std::less<>>;

SeenMoves seen_moves(const Situation& situation) {
  SeenMoves out;
  for (const Tried& tried : situation.tried) {
    const Tried* parent = find(situation, tried.candidate.parent);
    if (!parent || tried.candidate.proposer != "transform" || parent->us <= 0 || tried.us <= 0) continue;
    Seen& seen = out[tried.candidate.move.id];
    seen.times += 1;
    seen.logs += std::log(parent->us / tried.us);
  }
  return out;
}

// The promise, corrected by what was seen: an observation weighs twice as much as the promise.
double likely_gain(const SeenMoves& seen, std::string_view move, double expected) {
  constexpr double kWeight = 2;
  const auto found = seen.find(move);
  if (found == seen.end()) return expected;
  return std::exp((std::log(expected) + kWeight * found->second.logs) / (1 + kWeight * found->second.times));
}

// What a failed contract asks for comes before what might help.
double score(const Tried& parent, double best_us, const Transformation& row, double gain) {
  double out = gain;
  for (const Finding& finding : parent.findings) {
    if (!row.answers.empty() && finding.contract == row.answers) { out *= 2; break; }
  }
  return parent.us > 0 && best_us > 0 ? out * best_us / parent.us : out;
}

class TransformProposer final : public Proposer {
 public:
  std::string_view name() const override { return "transform"; }

  std::vector<Candidate> propose(const Situation& situation, std::size_t wanted) override {
    std::vector<Ranked> ranked;
    std::set<std::string> seen;
    for (const Tried& tried : situation.tried) seen.insert(tried.candidate.id);
    const SeenMoves moves = seen_moves(situation);
    const Tried* best = situation.frontier.empty() ? nullptr : find(situation, situation.frontier.front());
    for (const std::string& id : situation.frontier) {
      if (const Tried* parent = find(situation, id)) rank(situation, *parent, best ? best->us : 0, moves, seen, ranked);
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) { return a.score > b.score; });
    std::vector<Candidate> out;
    for (const Ranked& each : ranked) {
      if (out.size() == wanted) break;
      out.push_back(*each.candidate);
    }
    return out;
  }

  std::vector<TakenBack> take_back(const Situation&, std::span<const Candidate> line) override {
    std::vector<TakenBack> out;
    for (std::size_t i = 1; i < line.size(); ++i)
      if (line[i].proposer == name()) out.push_back({line[i].id, line[i].move.title, line[i].move.id, line[i].move.rule, line[i].move.expected_gain, line[i - 1], i + 1});
    return out;
  }

  std::optional<Candidate> make_again(const Situation& situation, const Candidate& on, const Candidate& made, const Candidate& was_on) override {
    const auto program = syntax::Program::parse(on.source);
    if (!program) return std::nullopt;
    const Known known = known_of(situation, find(situation, was_on.id), *program);
    for (const Transformation& row : transformations()) {
      if (row.id != made.move.id) continue;
      for (Rewrite& rewrite : row.apply(*program, known))
        if (rewrite.title == made.move.title) return derived(on, row, std::move(rewrite));
    }
    return std::nullopt;
  }

 private:
  void rank(const Situation& situation, const Tried& parent, double best_us, const SeenMoves& moves, std::set<std::string>& seen, std::vector<Ranked>& ranked) {
    const auto [entry, fresh] = made_.try_emplace(parent.candidate.id);
    if (fresh) entry->second = made_of(situation, parent);
    for (const Made& made : entry->second) {
      if (!enabled(situation.plan, made.row->id) || !seen.insert(made.candidate.id).second) continue;
      ranked.push_back({&made.candidate, score(parent, best_us, *made.row, likely_gain(moves, made.row->id, made.candidate.move.expected_gain))});
    }
  }

  // By candidate: it depends on the source and on what was seen of it, which stays as it is from round to round.
  std::map<std::string, std::vector<Made>> made_;
};

}  // namespace

std::unique_ptr<Proposer> make_transform_proposer() { return std::make_unique<TransformProposer>(); }

}  // namespace kforge::propose
