// `kforge knowledge` as a user calls it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/process.h"

namespace kforge {
namespace {

ProcessResult knowledge(std::vector<std::string> arguments) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "kforge";
  arguments.insert(arguments.begin(), {program.string(), "knowledge"});
  ProcessRequest request;
  request.arguments = std::move(arguments);
  return run_process(request).value_or(ProcessResult{});
}

TEST(KnowledgeCommand, EachVerbDoesWhatItSays) {
  EXPECT_THAT(knowledge({"search", "bank", "conflict"}).out, testing::HasSubstr("pad-shared-rows"));
  EXPECT_THAT(knowledge({"search"}).out, testing::AllOf(testing::HasSubstr("pad-shared-rows"), testing::HasSubstr("write-before-read")));
  EXPECT_THAT(knowledge({"show", "pad-shared-rows"}).out, testing::HasSubstr("shared.banks"));
  const ProcessResult missing = knowledge({"add", "no-such-rule.md"});
  EXPECT_EQ(missing.exit_status, 2);
  EXPECT_THAT(missing.err, testing::HasSubstr("no-such-rule.md"));
  EXPECT_EQ(knowledge({}).exit_status, 2);
}

}  // namespace
}  // namespace kforge
