#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <tuple>

#include "check_runner.h"
#include "propose/transform.h"
#include "syntax/testing.h"
#include "task/task.h"

namespace kforge::tests {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// One rewrite of one right kernel.
struct Rewritten {
  fs::path task, kernel;
  std::string transformation, title, source;
  bool structural = false;   // changes who reads what: the first rewrite of those that promise half the time or less
};

propose::Known known_of(const fs::path& task_path, const syntax::Program& program) {
  propose::Known known;
  const auto task = task::read_task(task_path.string());
  const syntax::Function* launcher = task ? program.find(task->function) : nullptr;
  if (!launcher) return known;
  for (std::size_t i = 0; i < task->tensors.size() && i < launcher->parameters.size(); ++i) {
    std::int64_t elements = 1;
    for (const std::string& extent : task->tensors[i].shape) elements *= task::evaluate(extent, {}).value_or(0);
    if (elements > 0) known.fixed_elements.emplace_back(launcher->parameters[i].name, elements);
  }
  return known;
}

void add_rewrites(const fs::path& task, const fs::path& kernel, std::vector<Rewritten>& out) {
  const auto program = syntax::testing::parsed(contents(kernel));
  for (const propose::Transformation& row : propose::transformations()) {
    bool first = true;
    for (const propose::Rewrite& rewrite : row.apply(program, known_of(task, program))) {
      out.push_back({task, kernel, std::string(row.id), rewrite.title, rewrite.source, first && rewrite.expected_gain >= 2});
      first = false;
    }
  }
}

std::vector<Rewritten> all_rewrites() {
  std::vector<Rewritten> out;
  for (const char* group : {"tests/transform", "examples", "tests/kernels"}) {
    for (const auto& entry : fs::directory_iterator(source_folder() / group)) {
      const fs::path task = entry.path() / "task.toml";
      if (!fs::exists(task)) continue;
      for (const auto& file : fs::directory_iterator(entry.path())) {
        const std::string name = file.path().filename().string();
        if (file.path().extension() == ".cu" && !name.starts_with("wrong_")) add_rewrites(task, file.path(), out);
      }
    }
  }
  std::sort(out.begin(), out.end(), [](const Rewritten& a, const Rewritten& b) {
    return std::tie(a.kernel, a.transformation, a.title) < std::tie(b.kernel, b.transformation, b.title);
  });
  return out;
}

bool all_of_them() {
  const char* value = std::getenv("KFORGE_ALL");
  return value && *value;
}

std::vector<Rewritten> sample(std::vector<Rewritten> from, std::size_t count) {
  if (all_of_them()) return from;
  const char* given = std::getenv("KFORGE_SEED");
  const unsigned seed = given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : 1;
  std::printf("KFORGE_SEED=%u\n", seed);
  std::shuffle(from.begin(), from.end(), std::mt19937(seed));
  from.resize(std::min(count, from.size()));
  return from;
}

void expect_right(const std::vector<Rewritten>& rewrites) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("transform-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  for (const Rewritten& each : rewrites) {
    const fs::path candidate = folder / "candidate.cu";
    std::ofstream(candidate) << each.source;
    const CheckRun run = check(each.task, candidate, {"--only", "correctness"});
    EXPECT_EQ(run.exit_code, 0) << each.kernel << ' ' << each.transformation << ": " << each.title << "\n" << run.output << "\n" << each.source;
  }
  fs::remove_all(folder);
}

TEST(TransformKernels, StructuralChangesStayRight) {
  std::vector<Rewritten> rewrites = all_rewrites();
  std::erase_if(rewrites, [](const Rewritten& each) { return !each.structural; });
  EXPECT_GE(rewrites.size(), 12u);
  expect_right(sample(std::move(rewrites), 5));
}

TEST(TransformKernels, PolishingStaysRight) {
  std::vector<Rewritten> rewrites = all_rewrites();
  std::erase_if(rewrites, [](const Rewritten& each) { return each.structural; });
  EXPECT_GE(rewrites.size(), 60u);
  expect_right(sample(std::move(rewrites), 5));
}

TEST(TransformKernels, EachNaiveKernelHasAStructuralChange) {
  const std::vector<Rewritten> rewrites = all_rewrites();
  for (const auto& entry : fs::directory_iterator(source_folder() / "tests/transform")) {
    const fs::path slow = entry.path() / "slow.cu";
    if (!fs::exists(slow) || entry.path().filename() == "tile_columns") continue;  // its padding answers what was observed
    EXPECT_TRUE(std::any_of(rewrites.begin(), rewrites.end(), [&](const Rewritten& each) { return each.kernel == slow && each.structural; })) << slow;
  }
}

}  // namespace
}  // namespace kforge::tests
