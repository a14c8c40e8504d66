// Real PTX: committed texts, and where nvcc is found, what it makes of tests/ptx/*.cu (kept in the build folder).
#include <gtest/gtest.h>

#include <algorithm>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ptx/checks.h"
#include "ptx/coverage.h"
#include "ptx/parser.h"

namespace kforge::ptx {
namespace {

namespace fs = std::filesystem;
const fs::path kSources = fs::path(KFORGE_SOURCE_DIR) / "tests/ptx";

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<fs::path> golden_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kSources / "golden"))
    if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

fs::path find_nvcc() {
  std::vector<fs::path> folders;
  if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(fs::path(home) / "bin");
  if (const char* path = std::getenv("PATH")) {
    std::stringstream list(path);
    for (std::string folder; std::getline(list, folder, ':');) folders.emplace_back(folder);
  }
  folders.emplace_back("/usr/local/cuda/bin");
  for (const fs::path& folder : folders)
    if (fs::exists(folder / "nvcc")) return folder / "nvcc";
  return {};
}

void expect_reads_and_prints(const std::string& text, const std::string& name) {
  const auto module = parse(text, name);
  ASSERT_TRUE(module) << to_string(module.error());
  EXPECT_TRUE(check_target(*module, module->target).empty()) << check_target(*module, module->target)[0].opcode;
  const std::string printed = print(*module);
  const auto again = parse(printed, "printed " + name);
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(print(*again), printed);
  ASSERT_EQ(again->functions.size(), module->functions.size());
}

TEST(Corpus, CommittedTextsReadAndPrintCanonically) {
  const auto files = golden_files();
  ASSERT_GE(files.size(), 5u);
  for (const fs::path& file : files) {
    SCOPED_TRACE(file);
    expect_reads_and_prints(read_file(file), file.filename());
  }
}

TEST(Corpus, InlinedFramesRunFromTheInnermostOut) {
  const auto module = parse(read_file(kSources / "golden/control.80.ptx"));
  ASSERT_TRUE(module);
  std::size_t deepest = 0;
  for (const auto& position : module->locations) {
    deepest = std::max(deepest, position.frames.size());
    if (position.frames.empty()) continue;
    EXPECT_TRUE(position.frames.back().function.empty());
    for (std::size_t i = 0; i + 1 < position.frames.size(); ++i) EXPECT_NE(position.frames[i].file, "");
  }
  EXPECT_GE(deepest, 3u);
}

struct Build {
  const char* source;
  int sm;
};
class Nvcc : public testing::TestWithParam<Build> {};

TEST_P(Nvcc, OutputIsRead) {
  const fs::path nvcc = find_nvcc();
  if (nvcc.empty()) GTEST_SKIP() << "nvcc is not on this machine";
  const Build& build = GetParam();
  const fs::path source = kSources / (std::string(build.source) + ".cu");
  const fs::path folder = fs::path(KFORGE_BINARY_DIR) / "ptx_corpus";
  const fs::path output = folder / (std::string(build.source) + "." + std::to_string(build.sm) + ".ptx");
  fs::create_directories(folder);
  if (!fs::exists(output) || fs::last_write_time(output) < fs::last_write_time(source)) {
    const std::string temporary = output.string() + ".new";
    const std::string command = nvcc.string() + " -ptx -std=c++17 -lineinfo -arch=sm_" + std::to_string(build.sm) + " " + source.string() + " -o " + temporary + " 2>" + temporary + ".log";
    ASSERT_EQ(std::system(command.c_str()), 0) << command << "\n" << read_file(temporary + ".log");
    fs::rename(temporary, output);
  }
  expect_reads_and_prints(read_file(output), output.filename());
}

std::vector<Build> builds() {
  std::vector<Build> all;
  for (const char* source : {"math", "integer", "control", "memory", "warp", "matrix", "texture"})
    for (int sm : {75, 80, 90}) all.push_back({source, sm});
  for (int sm : {80, 90}) all.push_back({"half", sm});
  all.push_back({"cub", 80});
  all.push_back({"cub", 90});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Corpus, Nvcc, testing::ValuesIn(builds()),
                         [](const auto& info) { return std::string(info.param.source) + "_sm" + std::to_string(info.param.sm); });

TEST(Coverage, TheDocumentIsTheTable) {
  const fs::path file = fs::path(KFORGE_SOURCE_DIR) / "docs/ptx-coverage.md";
  if (std::getenv("KFORGE_REBASE")) std::ofstream(file, std::ios::binary) << coverage_document();
  EXPECT_EQ(read_file(file), coverage_document()) << "run ptx_test with KFORGE_REBASE=1";
}

// Truncated, flipped and spliced real text: an error or a module, never a crash; a module prints canonically.
TEST(Mutation, NoTextCrashesTheParser) {
  std::uint64_t state = 0x9E3779B97F4A7C15ull;  // the seed
  const auto next = [&state](std::size_t bound) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return static_cast<std::size_t>(state % std::max<std::size_t>(1, bound));
  };
  std::vector<std::string> texts;
  for (const fs::path& file : golden_files()) texts.push_back(read_file(file).substr(0, 24000));
  for (int round = 0; round < 300; ++round) {
    std::string text = texts[next(texts.size())];
    const std::string& other = texts[next(texts.size())];
    for (std::size_t edits = 1 + next(4); edits > 0; --edits) {
      const std::size_t at = next(text.size());
      switch (next(4)) {
        case 0: text.resize(at); break;
        case 1: if (!text.empty()) text[at] = static_cast<char>(next(256)); break;
        case 2: text.insert(at, other.substr(next(other.size()), next(400))); break;
        default: text.erase(at, next(60)); break;
      }
    }
    SCOPED_TRACE("round " + std::to_string(round));
    const auto module = parse(text);
    if (!module) {
      EXPECT_GT(module.error().where.line, 0);
      EXPECT_GT(module.error().where.column, 0);
      continue;
    }
    const std::string printed = print(*module);
    const auto again = parse(printed);
    ASSERT_TRUE(again) << to_string(again.error());
    EXPECT_EQ(print(*again), printed);
  }
}

}  // namespace
}  // namespace kforge::ptx
