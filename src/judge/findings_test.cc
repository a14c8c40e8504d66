#include "judge/findings.h"

#include <gtest/gtest.h>

namespace kforge::judge {
namespace {

Finding finding(std::uint32_t line, std::string message, std::string contract = "safety.bounds") {
  Finding out;
  out.contract = std::move(contract);
  out.file = "k.cu";
  out.line = line;
  out.message = std::move(message);
  return out;
}

TEST(FindingSet, OfOneLineOverSeveralCasesIsOneWithTheirNumber) {
  FindingSet set;
  set.add(finding(7, "4 bytes past the end [n=1]"));
  set.add(finding(7, "4 bytes past the end [n=1]"));
  set.add(finding(7, "64 bytes past the end [n=31]"), 2);   // the heaviest is described
  set.add(finding(7, "8 bytes past the end [n=2]"), 1);
  set.add(finding(8, "8 bytes past the end [n=2]"));
  const std::vector<Finding> all = set.take();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].message, "64 bytes past the end [n=31] (and in 2 other cases)");
  EXPECT_EQ(all[0].count, 4u);
  EXPECT_EQ(all[1].message, "8 bytes past the end [n=2]");
}

TEST(FindingSet, WithoutALineTheWordsTellThemApartAndTheCaseDoesNot) {
  FindingSet set;
  for (const char* message : {"a stream is not joined [n=1]", "a stream is not joined [n=2]", "the launcher calls cudaMalloc", "the launcher calls cudaFree", "the launcher calls cudaFree"})
    set.add(finding(0, message, "interface"));
  const std::vector<Finding> all = set.take();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].message, "a stream is not joined [n=1] (and in 1 other case)");
  EXPECT_EQ(all[2].message, "the launcher calls cudaFree");
  EXPECT_EQ(all[2].count, 2u);
}

TEST(FindingSet, AFileThatIsCompiledUnderAPlainNameIsShownUnderItsOwn) {
  evidence::SourcePosition position;
  position.frames = {{"/usr/include/cuda.h", 99, 1, "helper"}, {"/kforge-source/a _b_ __.cu", 7, 5, ""}};
  const Finding found = make_finding("safety.bounds", position, "folder/a \"b\" \\\n.cu");
  EXPECT_EQ(found.file, "folder/a \"b\" \\\n.cu");
  EXPECT_EQ(found.line, 7u);
}

}  // namespace
}  // namespace kforge::judge
