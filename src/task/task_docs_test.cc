// The examples of docs/task-file.md are task files.
#include <gtest/gtest.h>

#include "base/files.h"
#include "task/cases.h"

namespace kforge::task {
namespace {

TEST(TaskDocs, EveryExampleParsesAndGivesCases) {
  const auto text = read_file(std::string(KFORGE_SOURCE_DIR) + "/docs/task-file.md");
  ASSERT_TRUE(text) << to_string(text.error());
  constexpr std::string_view kOpen = "```toml\n";
  int examples = 0;
  for (auto at = text->find(kOpen); at != std::string::npos; at = text->find(kOpen, at)) {
    at += kOpen.size();
    const auto example = text->substr(at, text->find("```", at) - at);
    const auto task = parse_task(example, "docs/task-file.md");
    ASSERT_TRUE(task) << to_string(task.error()) << "\n" << example;
    EXPECT_TRUE(make_cases(*task, {}));
    ++examples;
  }
  EXPECT_EQ(examples, 3);
}

}  // namespace
}  // namespace kforge::task
