// Replays searches on a recorded space: search_replay SPACE.csv [SEEDS] [PERCENT]. The file has a column a parameter, then `value` (us; empty:
// the point is invalid) and `cost` (seconds; may be empty). Prints, over the seeds, how far above the best value the search ends when it
// has spent PERCENT (5) of the space.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "propose/search.h"

using namespace kforge;

namespace {

struct Record {
  std::vector<std::string> names;
  std::map<std::vector<std::int64_t>, std::pair<double, double>> rows;   // value (0: invalid), cost
};

Record read(const std::string& text) {
  Record out;
  for (const std::string_view line : split_lines(text)) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto cells = split(line, ',');
    if (out.names.empty()) {
      for (std::size_t i = 0; i + 2 < cells.size(); ++i) out.names.emplace_back(cells[i]);
      continue;
    }
    std::vector<std::int64_t> key;
    for (std::size_t i = 0; i + 2 < cells.size(); ++i) key.push_back(parse_integer(cells[i]).value_or(0));
    out.rows[key] = {parse_double(cells[cells.size() - 2]).value_or(0), parse_double(cells.back()).value_or(1)};
  }
  return out;
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "search_replay SPACE.csv [SEEDS] [PERCENT]\n");
    return 2;
  }
  const auto text = read_file(arguments[1]);
  if (!text) {
    std::fprintf(stderr, "%s\n", to_string(text.error()).c_str());
    return 2;
  }
  const Record record = read(*text);
  const std::uint64_t seeds = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 20;
  const double percent = count > 3 ? std::strtod(arguments[3], nullptr) : 5;

  std::vector<propose::Dimension> dimensions;
  for (std::size_t d = 0; d < record.names.size(); ++d) {
    std::set<std::int64_t> choices;
    for (const auto& [key, row] : record.rows) choices.insert(key[d]);
    dimensions.push_back({record.names[d], {choices.begin(), choices.end()}});
  }
  const auto key_of = [&](const propose::Values& values) {
    std::vector<std::int64_t> key;
    for (const std::string& name : record.names) key.push_back(values.at(name));
    return key;
  };
  const propose::Space space(dimensions, [&](const propose::Values& values) { return record.rows.contains(key_of(values)); });
  double best = 1e300;
  for (const auto& [key, row] : record.rows)
    if (row.first > 0) best = std::min(best, row.first);
  const std::size_t budget = std::max<std::size_t>(1, static_cast<std::size_t>(percent / 100 * static_cast<double>(space.size())));

  std::vector<double> excess;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    // The first point is drawn too: a recorded space has no default.
    propose::Search search(space, {seed, static_cast<std::size_t>(seed * 7919 % space.size()), {}});
    for (std::size_t spent = 0; spent < budget; ++spent) {
      const auto points = search.ask(1);
      if (points.empty()) break;
      const auto& [value, cost] = record.rows.at(key_of(space.values(points[0])));
      if (value > 0) search.tell(points[0], value, cost);
      else search.tell_invalid(points[0], cost);
    }
    excess.push_back(search.best() ? (search.best_value() / best - 1) * 100 : 1e9);
  }
  std::printf("%s: %zu points, best %.4g us; after %zu evaluations (%.1f%%) above the best: median %.2f%%, 75%% of seeds %.2f%%, worst %.2f%%\n", arguments[1], space.size(), best,
              budget, 100.0 * static_cast<double>(budget) / static_cast<double>(space.size()), quantile(excess, 0.5), quantile(excess, 0.75), quantile(excess, 1));
  return 0;
}
