// What the compilers really wrote (tests/diagnostics/*.txt, recorded from nvcc, ptxas and NVRTC 13.0.88, g++ 12 and ld 2.40), and what
// parse_diagnostics makes of it. Each file holds the output, the line "--- parsed", and one line a diagnostic; KFORGE_REBASE=1 writes those anew.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "build/builder.h"

namespace kforge::build {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kParsed = "--- parsed\n";

std::vector<std::string> recordings() {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(fs::path(KFORGE_SOURCE_DIR) / "tests" / "diagnostics")) out.push_back(entry.path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::string in_lines(const std::vector<Diagnostic>& diagnostics) {
  constexpr const char* kSeverities[] = {"note", "warning", "error"};
  std::string out;
  for (const Diagnostic& d : diagnostics) {
    out += fmt::format("{} {} {}:{}:{}: {}\n", d.tool, kSeverities[static_cast<int>(d.severity)], d.file, d.line, d.column, d.message);
  }
  return out;
}

class Recorded : public ::testing::TestWithParam<std::string> {};

TEST_P(Recorded, OutputIsReadAsWritten) {
  const fs::path path = fs::path(KFORGE_SOURCE_DIR) / "tests" / "diagnostics" / (GetParam() + ".txt");
  const auto text = read_file(path.string(), 1 << 20);
  ASSERT_TRUE(text);
  const std::size_t at = text->find(kParsed);
  ASSERT_NE(at, std::string::npos);
  const std::string parsed = in_lines(parse_diagnostics(text->substr(0, at)));
  if (std::getenv("KFORGE_REBASE")) std::ofstream(path, std::ios::binary) << text->substr(0, at) << kParsed << parsed;
  else EXPECT_EQ(text->substr(at + kParsed.size()), parsed) << "build_test with KFORGE_REBASE=1 writes it anew";
}

INSTANTIATE_TEST_SUITE_P(Diagnostics, Recorded, ::testing::ValuesIn(recordings()), [](const auto& info) { return info.param; });

TEST(Diagnostics, AnythingAtAllIsSurvived) {
  std::string text;
  for (const std::string& name : recordings()) text += *read_file((fs::path(KFORGE_SOURCE_DIR) / "tests" / "diagnostics" / (name + ".txt")).string(), 1 << 20);
  for (std::size_t cut = 0; cut < text.size(); cut += 97) {
    parse_diagnostics(std::string_view(text).substr(cut, 400));
    std::string damaged = text.substr(cut, 400);
    for (std::size_t i = cut % 7; i < damaged.size(); i += 7) damaged[i] = static_cast<char>(i * 131 + cut);
    parse_diagnostics(damaged);
  }
}

TEST(Diagnostics, MoreThanAThousandAreCutOff) {
  std::string text;
  for (int i = 1; i <= 1500; ++i) text += fmt::format("k.cu({}): error: identifier \"y\" is undefined\n", i);
  EXPECT_EQ(parse_diagnostics(text).size(), 1000u);
}

}  // namespace
}  // namespace kforge::build
