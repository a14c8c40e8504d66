// Patterns of references, unhinted. tests/plan/references were written before the planner, tests/plan/later after it; the first line of each
// says what it is. A text of any kind ends in an answer.
#include "propose/pattern.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/files.h"

namespace kforge::propose {
namespace {

namespace fs = std::filesystem;

struct Sample { std::string name, text, pattern; };

std::vector<Sample> samples(const char* folder) {
  std::vector<Sample> out;
  const fs::path root = fs::path(KFORGE_SOURCE_DIR) / "tests/plan" / folder;
  const auto entries = list_directory(root);
  EXPECT_TRUE(entries);
  if (!entries) return out;
  for (const std::string& entry : *entries) {
    Sample sample{fs::path(entry).stem().string(), *read_file(root / entry), {}};
    const std::string_view mark = "// pattern: ";
    EXPECT_TRUE(sample.text.starts_with(mark)) << entry;
    sample.pattern = sample.text.substr(mark.size(), sample.text.find('\n') - mark.size());
    EXPECT_TRUE(is_pattern(sample.pattern)) << entry;
    out.push_back(std::move(sample));
  }
  return out;
}

int named(const char* folder) {
  int right = 0;
  for (const Sample& sample : samples(folder)) {
    const PatternGuess guess = guess_by_reference(sample.text, sample.name);
    EXPECT_EQ(guess.pattern, sample.pattern) << folder << "/" << sample.name << ": " << guess.why;
    EXPECT_FALSE(guess.why.empty()) << sample.name;
    right += guess.pattern == sample.pattern;
  }
  return right;
}

TEST(Pattern, ReferencesWrittenBeforeThePlannerAreNamed) { EXPECT_EQ(named("references"), 20); }
TEST(Pattern, ReferencesWrittenAfterThePlannerAreNamed) { EXPECT_EQ(named("later"), 10); }

TEST(Pattern, ReferencesWhoseValuesAreMembersOfStructsAreNamed) { EXPECT_EQ(named("structs"), 3); }

TEST(Pattern, AHintIsCertain) {
  task::Task task;
  task.pattern = "softmax";
  EXPECT_EQ(guess_pattern(task, "").confidence, 1);
  task.pattern = "sofmax";
  EXPECT_LT(guess_pattern(task, "").confidence, 1);
  EXPECT_EQ(nearest_pattern("sofmax"), "softmax");
}

TEST(Pattern, CutAndGarbledTextsEndInAnAnswer) {
  for (const Sample& sample : samples("references")) {
    for (std::size_t cut = 0; cut < sample.text.size(); cut += 37) (void)guess_by_reference(sample.text.substr(0, cut), sample.name);
    std::string garbled = sample.text;
    std::uint64_t state = 12345;
    for (std::size_t i = 0; i < garbled.size(); i += 11) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      garbled[i] = "(){}[];,<>*&+=-:?!.\"'x0 "[(state >> 33) % 24];
    }
    (void)guess_by_reference(garbled, sample.name);
  }
  std::string deep = "void f(float* x) {";
  for (int i = 0; i < 20000; ++i) deep += "((((";
  EXPECT_EQ(guess_by_reference(deep, "f").confidence, 0);
  std::string loops = "void f(float* x, float* y, int n) {";
  for (int i = 0; i < 500; ++i) loops += "for (int i = 0; i < n; ++i) {";
  (void)guess_by_reference(loops + "y[i] = x[i];", "f");
}

}  // namespace
}  // namespace kforge::propose
