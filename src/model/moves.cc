#include "model/moves.h"

#include <algorithm>
#include <set>

#include "model/standing.h"

namespace kforge::model {
namespace {

using propose::Situation;
using propose::Tried;

constexpr std::size_t kRepairs = 3;         // in a row, before an idea is given up
constexpr double kAlike = 0.6;              // likeness from which two kernels are of one idea
constexpr std::size_t kPatience = 2;        // attempts of the model without a better kernel, before something new is asked for

bool has_child_of_model(const Situation& s, const Tried& parent, std::string_view move = {}) {
  return std::any_of(s.tried.begin(), s.tried.end(), [&](const Tried& t) { return t.candidate.parent == parent.candidate.id && is_models(t.candidate) && (move.empty() || t.candidate.move.id == move); });
}

// Repairs that led to it, one after the other.
std::size_t repairs_before(const Situation& s, const Tried& one) {
  std::size_t out = 0;
  for (const Tried* t = &one; t && t->candidate.move.id == id_of(MoveKind::repair) && out <= kRepairs; t = find(s.tried, t->candidate.parent)) ++out;
  return out;
}

// The latest attempt that is to be mended: what does not build first, then what is wrong, then what fails a required contract of speed.
const Tried* to_repair(const Situation& s, const std::set<const Tried*>& taken) {
  for (const Stage stage : {Stage::broken, Stage::wrong, Stage::slow})
    for (std::size_t i = s.tried.size(); i-- > 0;) {
      const Tried& t = s.tried[i];
      if (!is_models(t.candidate) || stage_of(t) != stage || taken.count(&t) > 0 || has_child_of_model(s, t, id_of(MoveKind::repair)) || repairs_before(s, t) >= kRepairs) continue;
      // A slow one is worth mending only while nothing accepted is faster.
      const Tried* best = best_of(s.tried);
      if (stage == Stage::slow && best && best != &t && stage_of(*best) == Stage::accepted && best->us <= t.us) continue;
      return &t;
    }
  return nullptr;
}

// Right candidates of the frontier, best first; all right ones where the frontier has none.
std::vector<const Tried*> parents_of(const Situation& s) {
  std::vector<const Tried*> out;
  for (const std::string& id : s.frontier)
    if (const Tried* t = find(s.tried, id); t && is_right(stage_of(*t))) out.push_back(t);
  if (out.empty())
    for (const Tried& t : s.tried)
      if (is_right(stage_of(t))) out.push_back(&t);
  std::stable_sort(out.begin(), out.end(), [](const Tried* a, const Tried* b) { return stage_of(*a) != stage_of(*b) ? stage_of(*a) < stage_of(*b) : a->us < b->us; });
  return out;
}

// The best one that goes another way than `than`.
const Tried* other_idea(const std::vector<const Tried*>& parents, const Tried& than) {
  for (const Tried* t : parents)
    if (t != &than && t->us > 0 && t->us < 3 * than.us && likeness(t->candidate.source, than.candidate.source) < kAlike) return t;
  return nullptr;
}

bool was_combined(const Situation& s, const Tried& a, const Tried& b) {
  return std::any_of(s.tried.begin(), s.tried.end(), [&](const Tried& t) {
    return t.candidate.move.id == id_of(MoveKind::combine) && ((t.candidate.parent == a.candidate.id && t.candidate.move.answers == b.candidate.id) || (t.candidate.parent == b.candidate.id && t.candidate.move.answers == a.candidate.id));
  });
}

// Attempts of the model since the best kernel came.
std::size_t since_better(const Situation& s) {
  const Tried* best = best_of(s.tried);
  std::size_t out = 0;
  for (const Tried& t : s.tried) out = &t == best ? 0 : out + is_models(t.candidate);
  return out;
}

WantedMove exploration(const Situation& s, std::set<std::string>& steps) {
  for (const Tried& t : s.tried)
    if (t.candidate.move.id == id_of(MoveKind::explore) && !t.candidate.move.answers.empty()) steps.insert(t.candidate.move.answers);
  WantedMove out{MoveKind::explore, best_of(s.tried), nullptr, "", "", std::any_of(s.tried.begin(), s.tried.end(), [](const Tried& t) { return is_models(t.candidate); })};
  for (const PlanStep& step : s.plan.steps)
    if (step.enabled && steps.insert(step.id).second) {
      out.strategy = step.title;
      out.step = step.id;
      break;
    }
  return out;
}

}  // namespace

std::string_view id_of(MoveKind kind) {
  switch (kind) {
    case MoveKind::explore: return "model.explore";
    case MoveKind::refine: return "model.refine";
    case MoveKind::repair: return "model.repair";
    case MoveKind::combine: return "model.combine";
    case MoveKind::port: return "model.port";
  }
  return "";
}

std::vector<WantedMove> choose_moves(const Situation& s, std::size_t wanted, const MoveOptions& options) {
  std::vector<WantedMove> out;
  std::set<const Tried*> taken;
  std::set<std::string> steps;
  const auto add = [&](WantedMove move) {
    if (out.size() >= wanted) return;
    if (move.on && move.kind != MoveKind::explore) taken.insert(move.on);
    out.push_back(std::move(move));
  };
  const bool asked_before = std::any_of(s.tried.begin(), s.tried.end(), [](const Tried& t) { return is_models(t.candidate); });
  if (!asked_before && !options.from_gpu.empty() && !s.tried.empty()) add({MoveKind::port, &s.tried.front()});
  if (!asked_before) add(exploration(s, steps));
  while (out.size() < wanted) {
    const Tried* broken = to_repair(s, taken);
    if (!broken) break;
    add({MoveKind::repair, broken});
  }
  const auto parents = parents_of(s);
  const std::size_t idle = since_better(s);
  for (const Tried* best : parents) {
    if (taken.count(best) > 0 || out.size() >= wanted) continue;
    const Tried* other = idle >= kPatience ? other_idea(parents, *best) : nullptr;
    if (other && !was_combined(s, *best, *other)) add({MoveKind::combine, best, other});
    else if (idle >= 2 * kPatience && out.empty()) add(exploration(s, steps));
    else add({MoveKind::refine, best});
    if (out.size() < wanted) add(exploration(s, steps));
  }
  while (out.size() < wanted) add(exploration(s, steps));
  return out;
}

}  // namespace kforge::model
