// Sizes that nobody tuned: the default instance of each family's template at sizes drawn from 1 to 5000 in each dimension, odd row lengths and single rows
// among them, against the reference. A few in each run; KFORGE_RANDOM_SIZES=200 tries as many, KFORGE_RANDOM_SEED others.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text.h"
#include "check_runner.h"
#include "hardware/data_sheet.h"
#include "propose/template_proposer.h"
#include "task/expression.h"
#include "task/random.h"

namespace kforge::tests {
namespace {

namespace fs = std::filesystem;

struct Family {
  const char *name, *task, *template_name;
  double most_work;        // product of all sizes: what emulation and reference end in seconds
};
const Family kFamilies[] = {
    {"add_relu", "bench/headline/add_relu", "elementwise", 1 << 20},
    {"softmax", "bench/headline/softmax", "row_fused", 1 << 19},
    {"layer_norm", "bench/headline/layer_norm", "row_fused", 1 << 19},
    {"row_max", "bench/headline/row_max", "row_fused", 1 << 20},
    {"cross_entropy", "bench/headline/cross_entropy", "row_fused", 1 << 19},
    {"full_sum", "bench/headline/full_sum", "reduce_all", 1 << 20},
    {"transpose", "bench/headline/transpose", "transpose", 1 << 20},
    {"cumulative_sum", "bench/headline/cumulative_sum", "scan_lookback", 1 << 20},
    {"histogram", "bench/headline/histogram", "histogram", 1 << 20},
    {"sobel", "bench/headline/sobel", "stencil_march", 1 << 20},
    {"stencil3d", "bench/headline/stencil3d", "stencil_march", 1 << 19},
    {"sgemm", "examples/sgemm", "gemm_simt", 1 << 21},
    {"gemm_f16", "bench/headline/gemm_f16", "gemm_mma", 1 << 21},
    {"gemm_bf16_wgmma", "bench/headline/gemm_bf16", "gemm_wgmma", 1 << 21},
    {"attention_causal", "bench/headline/attention_causal", "attention_mma", 1 << 10},
    {"attention_wgmma", "bench/headline/attention", "attention_wgmma", 1 << 10},
};
constexpr std::size_t kOfOneCheck = 20;
constexpr double kLargest = 5000;
constexpr std::size_t kFew = 4;

std::uint64_t wanted(const char* variable, std::uint64_t otherwise) {
  const char* const given = std::getenv(variable);
  return given ? parse_unsigned(given).value_or(otherwise) : otherwise;
}

double work_of(const task::Sizes& sizes) {
  double product = 1;
  for (const auto& [name, extent] : sizes) product *= static_cast<double>(extent);
  return product;
}

// Logarithms are uniform, so that small extents are as common as large ones; where the whole is too large its largest extent shrinks.
task::Sizes drawn(const std::vector<std::string>& names, double most_work, std::uint64_t seed, std::uint64_t index) {
  const task::CounterRandom random(seed);
  task::Sizes sizes;
  for (std::size_t d = 0; d < names.size(); ++d) {
    const double exponent = static_cast<double>(random.below(index * 16 + d, 1 << 20)) / (1 << 20);
    sizes[names[d]] = std::max<std::int64_t>(1, std::llround(std::pow(kLargest, exponent)));
  }
  if (index % 8 == 7) sizes[names[random.below(index * 16 + 15, names.size())]] = 1;
  while (work_of(sizes) > most_work) {
    const auto largest = std::max_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    largest->second = std::max<std::int64_t>(1, largest->second * 5 / 8);
  }
  return sizes;
}

// The task's own conditions hold.
bool tried(const task::Task& task, const task::Sizes& sizes) {
  return std::all_of(task.where.begin(), task.where.end(), [&](const std::string& condition) { return task::holds(condition, sizes).value_or(false); });
}

std::string row_of(const task::Sizes& sizes) {
  std::vector<std::string> entries;
  for (const auto& [name, extent] : sizes) entries.push_back(fmt::format("{} = {}", name, extent));
  return "{" + join(entries, ", ") + "}";
}

// The task file with these sizes in place of its own, without a goal, and with its reference where it is.
std::string with_sizes(const fs::path& file, const std::string& measure, const std::string& verify) {
  std::string out, section;
  const std::string text = *read_file(file);
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("[")) section = std::string(line);
    if (section == "[goal]" || (section == "[sizes]" && !line.starts_with("[") && !line.starts_with("where"))) continue;
    if (line.starts_with("reference")) {
      const std::size_t first = line.find('"'), last = line.rfind('"');
      out += fmt::format("reference = \"{}\"\n", (file.parent_path() / line.substr(first + 1, last - first - 1)).string());
      continue;
    }
    out += std::string(line) + "\n";
    if (line == "[sizes]") out += "measure = [" + measure + "]\nverify = [" + verify + "]\n";
  }
  return out;
}

class Sizes : public testing::TestWithParam<Family> {};

TEST_P(Sizes, NobodyTunedAreRight) {
  const Family& family = GetParam();
  const fs::path file = source_folder() / family.task / "task.toml";
  const auto task = task::read_task(file.string());
  ASSERT_TRUE(task) << to_string(task.error());
  Plan plan;
  plan.guess.pattern = task->pattern.empty() ? "unknown" : task->pattern;
  std::string source;
  for (const propose::Applied& applied : propose::applied_templates(*task, *hardware::find_sheet(task->gpu), plan))
    if (applied.made.name == family.template_name) source = propose::candidate_at(applied, applied.space.values(propose::standard_point(applied)))->source;
  ASSERT_FALSE(source.empty()) << family.template_name;
  const auto folder = TemporaryDirectory::create("sizes-test");
  ASSERT_TRUE(folder);
  const fs::path candidate = folder->path() / "candidate.cu", changed = folder->path() / "task.toml";
  ASSERT_TRUE(write_file_atomic(candidate, source));
  const std::uint64_t count = wanted("KFORGE_RANDOM_SIZES", kFew), seed = wanted("KFORGE_RANDOM_SEED", 1);
  for (std::uint64_t first = 0; first < count; first += kOfOneCheck) {
    std::vector<std::string> rows;
    task::Sizes largest;   // the built-in sizes, which go no further, would prove nothing beside one of 1
    for (std::uint64_t i = first; i < std::min<std::uint64_t>(first + kOfOneCheck, count); ++i) {
      const task::Sizes sizes = drawn(task->size_names(), family.most_work, seed, i);
      if (!tried(*task, sizes)) continue;
      rows.push_back(row_of(sizes));
      if (largest.empty() || work_of(sizes) > work_of(largest)) largest = sizes;
    }
    if (rows.empty()) continue;
    ASSERT_TRUE(write_file_atomic(changed, with_sizes(file, row_of(largest), join(rows, ", "))));
    const CheckRun run = check(changed, candidate, {"--only", "correctness"});
    EXPECT_EQ(run.status, "accepted") << join(rows, "\n") << "\n" << run.output;
    // Sizes that were skipped would leave it accepted.
    const auto verdict = nlohmann::json::parse(run.output.substr(std::min(run.output.find('{'), run.output.size())), nullptr, false);
    ASSERT_TRUE(verdict.is_object()) << run.output;
    for (const auto& one : verdict["cases"]) EXPECT_EQ(one.value("status", ""), "passed") << one.dump();
    EXPECT_GE(verdict["cases"].size(), rows.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Templates, Sizes, testing::ValuesIn(kFamilies), [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kforge::tests
