// Replays searches on a recorded space: search_replay SPACE.csv [SEEDS] [PERCENT] [TASK TEMPLATE]. With a task and a template the template's
// estimate is the search's prior. Prints, over the seeds, how far above the best value the search ends when it has spent PERCENT (5) of the
// space, and what those evaluations cost beside as many of the mean point.
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "base/files.h"
#include "propose/recorded_space_test.h"

using namespace kforge;

namespace {

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

int complain(const Error& error) {
  std::fprintf(stderr, "%s\n", to_string(error).c_str());
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "search_replay SPACE.csv [SEEDS] [PERCENT] [TASK TEMPLATE]\n");
    return 2;
  }
  const auto text = read_file(arguments[1]);
  if (!text) return complain(text.error());
  const auto recorded = propose::read_recorded_space(*text);
  const std::uint64_t seeds = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 20;
  const double percent = count > 3 ? std::strtod(arguments[3], nullptr) : 5;
  std::vector<double> prior;
  if (count > 5) {
    const auto task = task::read_task(arguments[4]);
    if (!task) return complain(task.error());
    prior = propose::prior_of(recorded, *task, arguments[5]);
  }
  const auto size = static_cast<double>(recorded.space.size());
  const auto budget = static_cast<std::size_t>(std::max(1.0, percent / 100 * size));
  std::vector<double> excess, costs;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const propose::Replay run = propose::replay(recorded, prior, seed, budget);
    excess.push_back(run.excess * 100);
    costs.push_back(run.cost);
  }
  const double mean_cost = std::accumulate(recorded.costs.begin(), recorded.costs.end(), 0.0) / size;
  std::printf("%s: %zu points, best %.4g us; %s; after %zu evaluations above the best: median %.2f%%, 75%% of seeds %.2f%%, worst %.2f%%; cost %.2f of as many mean points\n",
              arguments[1], recorded.space.size(), recorded.best, prior.empty() ? "no prior" : "the template's estimate as prior", budget, median(excess), quantile(excess, 0.75),
              quantile(excess, 1), median(costs) / (mean_cost * static_cast<double>(budget)));
  return 0;
}
