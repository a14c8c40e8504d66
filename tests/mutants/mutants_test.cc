// In the four good kernels each barrier, bounds test, initialisation, and `+ 1` of padding or halo is taken away in turn: at least 95% of
// these mutants are rejected, and none of the originals is. A mutant that survives is printed and has to be explained below.
#include <fstream>
#include <iostream>
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

struct Tally { int rejected = 0, survived = 0, unbuilt = 0; };

void try_mutant(const fs::path& task, const std::string& example, const Mutant& mutant, const fs::path& folder, Tally& tally) {
  const fs::path file = folder / "mutant.cu";
  std::ofstream(file) << mutant.source;
  const CheckRun run = check(task, file);
  const bool built = run.failed != std::vector<std::string>{"build"};
  if (!built) ++tally.unbuilt;
  else if (run.exit_code == 1) ++tally.rejected;
  else ++tally.survived;
  std::cout << (run.exit_code == 1 ? (built ? "rejected " : "unbuilt  ") : "SURVIVED ") << example << ":" << mutant.line << " " << mutant.kind << " "
            << mutant.change << "  " << run.why << std::endl;
}

TEST(Mutants, AreRejected) {
  auto folder = TemporaryDirectory::create("mutants");
  ASSERT_TRUE(folder);
  Tally tally;
  for (const std::string example : {"softmax", "transpose", "sgemm", "sobel"}) {
    const fs::path home = source_folder() / "examples" / example;
    EXPECT_EQ(check(home / "task.toml", home / "good.cu").exit_code, 0) << example;
    for (const Mutant& mutant : mutants(read(home / "good.cu"))) try_mutant(home / "task.toml", example, mutant, folder->path(), tally);
  }
  std::cout << tally.rejected << " rejected, " << tally.survived << " survived, " << tally.unbuilt << " did not build" << std::endl;
  EXPECT_GE(tally.rejected, 30);
  EXPECT_GE(tally.rejected, 0.95 * (tally.rejected + tally.survived));
}

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
