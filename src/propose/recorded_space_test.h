// A recorded space: every point of a template's space with the value that it was judged to have, from a CSV file (bench/search/README.md), and
// searches replayed on it. For tests and benchmarks: a search is charged one evaluation a point and needs no compiler.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "propose/search.h"
#include "propose/template_estimate.h"

namespace kforge::propose {

struct RecordedSpace {
  Space space{{}, [](const Values&) { return false; }};
  std::vector<double> values, costs;   // of each point; value 0: invalid
  double best = 0;
};

inline RecordedSpace read_recorded_space(const std::string& text) {
  std::vector<std::string> names;
  std::map<std::vector<std::int64_t>, std::pair<double, double>> rows;
  for (const std::string_view line : split_lines(text)) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto cells = split(line, ',');
    if (names.empty()) {
      names.assign(cells.begin(), cells.end() - 2);
      continue;
    }
    std::vector<std::int64_t> key;
    for (std::size_t i = 0; i < names.size(); ++i) key.push_back(parse_integer(cells.at(i)).value_or(0));
    rows[key] = {parse_double(cells.at(names.size())).value_or(0), parse_double(cells.at(names.size() + 1)).value_or(1)};
  }
  std::vector<Dimension> dimensions;
  for (std::size_t d = 0; d < names.size(); ++d) {
    std::set<std::int64_t> choices;
    for (const auto& [key, row] : rows) choices.insert(key[d]);
    dimensions.push_back({names[d], {choices.begin(), choices.end()}});
  }
  const auto key_of = [&](const Values& values) {
    std::vector<std::int64_t> key;
    for (const std::string& name : names) key.push_back(values.at(name));
    return key;
  };
  RecordedSpace out;
  out.space = Space(dimensions, [&](const Values& values) { return rows.contains(key_of(values)); });
  for (std::size_t point = 0; point < out.space.size(); ++point) {
    const auto& [value, cost] = rows.at(key_of(out.space.values(point)));
    out.values.push_back(value);
    out.costs.push_back(cost);
    if (value > 0 && (out.best == 0 || value < out.best)) out.best = value;
  }
  return out;
}

// What the template's estimate says of each point, parameters that are younger than the recording being at their defaults; empty where it says
// nothing.
inline std::vector<double> prior_of(const RecordedSpace& recorded, const task::Task& task, const std::string& made) {
  const auto sheet = hardware::find_sheet(task.gpu);
  if (!sheet) return {};
  Plan plan;
  plan.guess.pattern = task.pattern;
  std::vector<double> out;
  for (const Applied& applied : applied_templates(task, *sheet, plan)) {
    if (applied.made.name != made) continue;
    const Estimator estimator(applied, task, *sheet, task.pattern);
    for (std::size_t point = 0; point < recorded.space.size(); ++point) {
      Values values = recorded.space.values(point);
      for (const TemplateParameter& p : applied.made.parameters) values.emplace(p.name, p.standard);
      const auto us = estimator.us(values);
      if (!us) return {};
      out.push_back(*us);
    }
  }
  return out;
}

struct Replay {
  double found = 0;                // the least value; 0: none
  double excess = 1e9;             // above the best of the space: 0.03 is 3%
  double cost = 0;                 // of all that was asked
};

// The first point is drawn from the seed: a recorded space has no default.
inline Replay replay(const RecordedSpace& recorded, const std::vector<double>& prior, std::uint64_t seed, std::size_t budget) {
  Search search(recorded.space, {seed, static_cast<std::size_t>(seed * 7919 % recorded.space.size()), prior, {}});
  Replay out;
  for (std::size_t spent = 0; spent < budget; ++spent) {
    const auto points = search.ask(1);
    if (points.empty()) break;
    const std::size_t point = points[0];
    out.cost += recorded.costs[point];
    if (recorded.values[point] > 0) search.tell(point, recorded.values[point], recorded.costs[point]);
    else search.tell_invalid(point, recorded.costs[point]);
  }
  if (search.best()) out.found = search.best_value(), out.excess = out.found / recorded.best - 1;
  return out;
}

}  // namespace kforge::propose
