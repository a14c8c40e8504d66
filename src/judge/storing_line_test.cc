#include "judge/storing_line.h"

#include <gtest/gtest.h>

namespace kforge::judge {
namespace {

evidence::LineProfile line(std::uint32_t number, evidence::StoreRange range) {
  evidence::LineProfile out;
  out.position.frames = {{"k.cu", number, 1, ""}};
  out.stores = {std::move(range)};
  return out;
}

evidence::LaunchLog log_of(std::vector<evidence::LineProfile> lines) {
  evidence::LaunchLog log;
  log.kernels.emplace_back().lines = std::move(lines);
  return log;
}

std::uint32_t line_at(const evidence::LaunchLog& log, std::uint64_t offset) {
  const StoringLine found = StoringLines(log, "y").nearest(offset);
  return found.position.frames.empty() ? 0 : found.position.frames[0].line;
}

// Rows of 16 bytes: line 10 stores the first half of each, line 11 the second.
TEST(StoringLine, OfInterleavedLinesTheOneThatStoredTheByte) {
  const evidence::LaunchLog log = log_of({line(10, {"y", 0, 120, 64, {0x00ff00ff00ff00ff, 0x00ff00ff00ff00ff}}), line(11, {"y", 8, 128, 64, {0xff00ff00ff00ff00, 0xff00ff00ff00ff00}})});
  EXPECT_EQ(line_at(log, 0), 10u);
  EXPECT_EQ(line_at(log, 12), 11u);
  EXPECT_EQ(line_at(log, 100), 10u);
  EXPECT_EQ(line_at(log, 127), 11u);
}

TEST(StoringLine, WithoutMapsTheNearestRange) {
  const evidence::LaunchLog log = log_of({line(10, {"y", 0, 64, 64, {}}), line(11, {"y", 64, 128, 64, {}})});
  EXPECT_EQ(line_at(log, 63), 10u);
  EXPECT_EQ(line_at(log, 64), 11u);
  EXPECT_EQ(line_at(log, 500), 11u);
}

// A byte that nobody stored: the line whose range it lies in is nearer than one that ends before it.
TEST(StoringLine, OfAnUnwrittenByteALineAroundIt) {
  const evidence::LaunchLog log = log_of({line(10, {"y", 0, 64, 640, {~std::uint64_t{0}, 0}}), line(11, {"y", 64, 128, 32, {0, 0xff000000000000ff}})});
  EXPECT_EQ(line_at(log, 90), 11u);
}

}  // namespace
}  // namespace kforge::judge
