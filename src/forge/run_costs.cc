#include "forge/run_costs.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "store/word_list.h"

namespace kforge::forge {
namespace {

constexpr std::size_t kSummaryWords = 6, kCostWords = 4;   // words before the costs; of each cost

void add(std::vector<StageCost>& sum, const StageCost& cost) {
  auto found = std::find_if(sum.begin(), sum.end(), [&](const StageCost& known) { return known.stage == cost.stage; });
  if (found == sum.end()) found = sum.insert(sum.end(), {cost.stage, 0, 0, 0});
  found->cpu_s += cost.cpu_s;
  found->wall_s += cost.wall_s;
  found->times += cost.times;
}

}  // namespace

RunCosts::RunCosts(const store::RunRow& row) : before_(costs_of(row)), cpu_at_start_s_(process_cpu_seconds()) {}

std::vector<StageCost> RunCosts::all() const {
  std::vector<StageCost> out = before_;
  const std::vector<StageCost> now = ledger_.stages();
  for (const StageCost& cost : now) add(out, cost);
  add(out, {"rest", std::max(0.0, process_cpu_seconds() - cpu_at_start_s_ - cpu_seconds(now)), 0, 1});
  return out;
}

void set_costs(store::RunRow& row, const std::vector<StageCost>& costs) {
  auto words = store::from_word_list(row.summary);
  words.resize(kSummaryWords);
  for (const StageCost& cost : costs) words.insert(words.end(), {cost.stage, fmt::format("{:.3f}", cost.cpu_s), fmt::format("{:.3f}", cost.wall_s), std::to_string(cost.times)});
  row.summary = store::to_word_list(words);
}

std::vector<StageCost> costs_of(const store::RunRow& row) {
  const auto words = store::from_word_list(row.summary);
  std::vector<StageCost> out;
  for (std::size_t i = kSummaryWords; i + kCostWords <= words.size(); i += kCostWords)
    out.push_back({words[i], parse_double(words[i + 1]).value_or(0), parse_double(words[i + 2]).value_or(0), parse_unsigned(words[i + 3]).value_or(0)});
  return out;
}

}  // namespace kforge::forge
