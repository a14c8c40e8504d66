// In the good kernels each barrier, bounds test, initialisation, and `+ 1` of padding or halo is taken away in turn: each of these mutants is rejected,
// and none of the originals is.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/files.h"
#include "check_runner.h"
#include "mutate.h"

namespace kforge::tests {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class Mutants : public testing::TestWithParam<const char*> {};

// A mutant that does not build says nothing and is counted apart.
TEST_P(Mutants, AreRejected) {
  const std::string example = GetParam();
  auto folder = TemporaryDirectory::create("mutants");
  ASSERT_TRUE(folder);
  const fs::path home = source_folder() / "examples" / example;
  EXPECT_EQ(check(home / "task.toml", home / "good.cu").exit_code, 0);
  const std::vector<Mutant> all = mutants(read(home / "good.cu"));
  std::vector<fs::path> files;
  for (const Mutant& mutant : all) {
    files.push_back(folder->path() / ("mutant" + std::to_string(files.size()) + ".cu"));
    std::ofstream(files.back()) << mutant.source;
  }
  auto runs = check_all(home / "task.toml", files);
  int rejected = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Mutant& mutant = all[i];
    const CheckRun& run = runs[files[i]];
    if (run.failed == std::vector<std::string>{"build"}) continue;
    EXPECT_EQ(run.exit_code, 1) << example << ":" << mutant.line << " " << mutant.kind << " " << mutant.change << ": " << run.output;
    if (run.exit_code == 1) ++rejected;
  }
  EXPECT_GE(rejected, 4);
}
INSTANTIATE_TEST_SUITE_P(Examples, Mutants, testing::Values("softmax", "transpose", "sgemm", "sobel"), [](const auto& info) { return std::string(info.param); });

TEST(Mutate, FindsEachKindInAKernelThatHasThemAll) {
  const std::string source =
      "__shared__ float s[kA + 2][kB + 1];\nfloat v = 0.0f;\nif (r < rows && c < cols) s[0][0] = 1;\n__syncthreads();\n"
      "for (int i = 0; i < kA + 2; ++i) {}\nif (r >= rows) return;\n";
  std::string kinds;
  for (const Mutant& mutant : mutants(source)) kinds += std::to_string(mutant.line) + mutant.kind.substr(0, 1) + " ";
  EXPECT_EQ(kinds, "4b 3b 3b 3b 6b 2i 1p 1p 5p ");
}

}  // namespace
}  // namespace kforge::tests
