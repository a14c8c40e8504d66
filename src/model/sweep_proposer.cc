#include "model/sweep_proposer.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "model/standing.h"
#include "model/tunables.h"
#include "propose/search.h"

namespace kforge::model {
namespace {

using propose::Search;
using propose::Situation;
using propose::Tried;
using propose::Values;

constexpr std::size_t kFamilies = 3;     // that are searched at once
constexpr double kWorth = 1.5;           // a family whose best is slower than the best of all by more is left alone

struct Family {
  Tunables tunables;                     // of its first member
  std::vector<const Tried*> members;
  const Tried* best = nullptr;           // right, with the least time
};

// Equal but for the declared numbers: the text with each at its least choice.
std::string canonical(const Candidate& candidate, const Tunables& tunables) {
  Values least;
  for (const Tunable& t : tunables.parameters) least[t.name] = t.choices.front();
  return identity(with_values(candidate.source, least), candidate.flags);
}

std::vector<Family> families_of(const Situation& situation) {
  std::map<std::string, std::size_t> places;
  std::vector<Family> out;
  for (const Tried& tried : situation.tried) {
    Tunables tunables = tunables_of(tried.candidate.source);
    if (tunables.empty()) continue;
    const auto [place, fresh] = places.emplace(canonical(tried.candidate, tunables), out.size());
    if (fresh) out.push_back({std::move(tunables), {}, nullptr});
    Family& family = out[place->second];
    family.members.push_back(&tried);
    if (is_right(stage_of(tried)) && tried.us > 0 && (!family.best || tried.us < family.best->us)) family.best = &tried;
  }
  std::erase_if(out, [](const Family& f) { return !f.best; });
  std::stable_sort(out.begin(), out.end(), [](const Family& a, const Family& b) { return a.best->us < b.best->us; });
  if (out.size() > kFamilies) out.resize(kFamilies);
  if (!out.empty()) std::erase_if(out, [least = out.front().best->us](const Family& f) { return f.best->us > kWorth * least; });
  return out;
}

class Sweep final : public propose::Proposer {
 public:
  std::string_view name() const override { return "sweep"; }

  std::vector<Candidate> propose(const Situation& situation, std::size_t wanted) override {
    std::set<std::string> known;
    for (const Tried& tried : situation.tried) known.insert(tried.candidate.id);
    std::vector<Candidate> out;
    for (const Family& family : families_of(situation)) points_of(family, situation, wanted, known, out);
    return out;
  }

 private:
  static void points_of(const Family& family, const Situation& situation, std::size_t wanted, std::set<std::string>& known, std::vector<Candidate>& out) {
    const propose::Space space = family.tunables.space();
    if (space.size() < 2) return;
    Search search(space, {situation.seed, space.find(family.tunables.values()), {}, {}});
    for (const Tried* member : family.members) {
      const std::size_t point = space.find(tunables_of(member->candidate.source).values());
      if (point >= space.size()) continue;
      const Stage stage = stage_of(*member);
      if (member->us > 0 && (is_right(stage) || stage == Stage::screened)) search.tell(point, member->us, member->cost);
      else search.tell_invalid(point, member->cost);
    }
    const Values from = tunables_of(family.best->candidate.source).values();
    while (out.size() < wanted) {
      const auto points = search.ask(1);
      if (points.empty()) return;
      const auto expected = search.expected(points[0]);
      search.tell_pending(points[0]);
      Candidate made = point(family, from, space.values(points[0]));
      made.move.expected_gain = expected && *expected > 0 ? std::clamp(family.best->us / *expected, 0.5, 4.0) : 1.05;
      if (known.insert(made.id).second) out.push_back(std::move(made));
    }
  }

  static Candidate point(const Family& family, const Values& from, const Values& to) {
    Candidate out;
    out.parent = family.best->candidate.id;
    out.proposer = "sweep";
    out.move = {"parameter", change_text(from, to), "", "", 1};
    out.source = with_values(family.best->candidate.source, to);
    out.flags = family.best->candidate.flags;
    for (const auto& [name, value] : to) out.parameters.emplace_back(name, std::to_string(value));
    out.id = identity(out.source, out.flags);
    return out;
  }
};

}  // namespace

std::string change_text(const Values& from, const Values& to) {
  std::string out;
  for (const auto& [name, value] : to)
    if (const auto before = from.find(name); before == from.end() || before->second != value)
      out += fmt::format("{}{} {} -> {}", out.empty() ? "" : ", ", name, before == from.end() ? 0 : before->second, value);
  return out;
}

std::unique_ptr<propose::Proposer> make_sweep_proposer() { return std::make_unique<Sweep>(); }

}  // namespace kforge::model
