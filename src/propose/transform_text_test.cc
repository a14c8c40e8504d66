// Text in, text out: tests/transform/text/ID/NAME.cu becomes NAME.expected (its first rewrite, title first); of refuse_NAME.cu the
// transformation makes nothing. KFORGE_REBASE=1 writes the expected files anew, for a person to read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/sanitized.h"
#include "propose/transform.h"
#include "syntax/testing.h"

namespace kforge::propose {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<fs::path> sources(const fs::path& folder) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) if (entry.path().extension() == ".cu") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

fs::path root() { return KFORGE_SOURCE_DIR; }
fs::path texts() { return root() / "tests" / "transform" / "text"; }

const Transformation* find(std::string_view id) {
  for (const Transformation& row : transformations()) if (row.id == id) return &row;
  return nullptr;
}

Known known_here() {
  Known known;
  known.fixed_elements = {{"bins", 256}};
  return known;
}

class Text : public ::testing::TestWithParam<fs::path> {};

TEST_P(Text, BecomesWhatIsExpected) {
  const fs::path path = texts() / GetParam();
  const Transformation* row = find("transform." + path.parent_path().filename().string());
  ASSERT_NE(row, nullptr) << path;
  const syntax::Program program = syntax::testing::parsed(contents(path));
  ASSERT_EQ(program.tree().errors(), 0u) << path;
  const auto rewrites = row->apply(program, known_here());
  if (path.filename().string().starts_with("refuse_")) {
    EXPECT_TRUE(rewrites.empty()) << path << " became\n" << rewrites.front().source;
    return;
  }
  ASSERT_FALSE(rewrites.empty()) << path;
  const std::string got = "// " + rewrites.front().title + "\n" + rewrites.front().source;
  fs::path expected = path;
  expected.replace_extension(".expected");
  if (const char* rebase = std::getenv("KFORGE_REBASE"); rebase && *rebase) std::ofstream(expected) << got;
  EXPECT_EQ(got, contents(expected)) << path;
}

std::vector<fs::path> parameters() {
  std::vector<fs::path> out;
  for (const fs::path& path : sources(texts())) out.push_back(fs::relative(path, texts()));
  return out;
}

std::string name_of(const ::testing::TestParamInfo<fs::path>& info) {
  std::string out = (info.param.parent_path() / info.param.stem()).string();
  for (char& c : out) if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return out;
}

INSTANTIATE_TEST_SUITE_P(Transformations, Text, ::testing::ValuesIn(parameters()), name_of);

TEST(Transformations, EachHasATextItChangesAndOneItRefuses) {
  std::set<std::string> changes, refuses;
  for (const fs::path& path : sources(texts())) {
    (path.filename().string().starts_with("refuse_") ? refuses : changes).insert("transform." + path.parent_path().filename().string());
  }
  for (const Transformation& row : transformations()) {
    if (row.id == "transform.register-cap" || row.id == "transform.pad-shared") continue;  // need what was observed: transform_known_test.cc
    EXPECT_TRUE(changes.contains(std::string(row.id))) << row.id;
    EXPECT_TRUE(refuses.contains(std::string(row.id))) << row.id;
  }
}

TEST(Transformations, AreDescribedAsTheTableHasThem) {
  const std::string page = contents(root() / "docs" / "transformations.md");
  for (const Transformation& row : transformations()) {
    const std::string cells = "| `" + std::string(row.id.substr(10)) + "` | " + std::string(row.summary) + " | " + std::string(row.precondition) + " |";
    EXPECT_NE(page.find(cells), std::string::npos) << cells;
  }
}

// Whatever the kernel, the result parses as well as it did, differs from it, and keeps every comment's text.
TEST(Transformations, KeepSyntaxAndCommentsOfEveryKernelInTheProject) {
  std::size_t made = 0, files = 0;
  for (const char* folder : {"examples", "tests/kernels", "tests/hostile", "tests/ptx", "tests/transform"}) {
    for (const fs::path& path : sources(root() / folder)) {
      // A wrong kernel differs from a right one by a line.
      if (path.filename().string().starts_with("wrong_") || (kSanitized && files++ % 6 != 0)) continue;
      const syntax::Program program = syntax::testing::parsed(contents(path));
      const auto comments = syntax::find_all(program.tree().root(), "comment");
      for (const Transformation& row : transformations()) {
        for (const Rewrite& rewrite : row.apply(program, known_here())) {
          ++made;
          const syntax::Program after = syntax::testing::parsed(rewrite.source);
          EXPECT_LE(after.tree().errors(), program.tree().errors()) << path << ' ' << row.id;
          EXPECT_NE(rewrite.source, program.source()) << path << ' ' << row.id;
          EXPECT_GE(rewrite.expected_gain, 1.0) << path << ' ' << row.id;
          for (const syntax::Node& comment : comments) {
            EXPECT_NE(rewrite.source.find(comment.text()), std::string::npos) << path << ' ' << row.id << ": " << comment.text();
          }
        }
      }
    }
  }
  EXPECT_GT(made, kSanitized ? 30u : 200u);
}

// A rewrite that the same transformation takes again, for ever, would fill the search with one move.
TEST(Transformations, ComeToAnEnd) {
  for (const fs::path& path : sources(root() / "tests" / "transform")) {
    const std::string file = contents(path);
    for (const Transformation& row : transformations()) {
      if (row.id == "transform.block-shape" || row.id == "transform.unroll") continue;  // a choice among few
      std::string text = file;
      int rounds = 0;
      for (; rounds < 6; ++rounds) {
        const auto rewrites = row.apply(syntax::testing::parsed(text), known_here());
        if (rewrites.empty()) break;
        text = rewrites.front().source;
      }
      EXPECT_LT(rounds, 6) << path << ' ' << row.id << '\n' << text;
    }
  }
}

}  // namespace
}  // namespace kforge::propose
