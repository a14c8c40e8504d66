// Keys, budgets, records, and the clients that need no server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "base/files.h"
#include "llm/budget.h"
#include "llm/local_clients.h"
#include "llm/providers.h"
#include "llm/record.h"

namespace kforge::llm {
namespace {

using testing::HasSubstr;
using testing::Not;

Request request_of(const std::string& text) {
  Request out;
  out.system = "be brief";
  out.messages.push_back({Role::user, text, {}, "", false});
  return out;
}

TEST(Key, AFileThatOthersCanReadIsRefused) {
  const auto folder = TemporaryDirectory::create();
  const std::string file = (folder->path() / "key").string();
  std::ofstream(file) << "sk-0123456789\nrest\n";
  ::chmod(file.c_str(), 0644);
  const auto open = Key::find(file, "");
  ASSERT_FALSE(open);
  EXPECT_THAT(to_string(open.error()), Not(HasSubstr("0123456789")));
  ::chmod(file.c_str(), 0600);
  const auto mine = Key::find(file, "");
  ASSERT_TRUE(mine) << to_string(mine.error());
  EXPECT_EQ(mine->value(), "sk-0123456789");
  EXPECT_EQ(mine->redacted("a sk-0123456789 b"), "a [key] b");
}

TEST(Key, WhatNoHeaderCanHoldIsRefused) {
  ::setenv("KFORGE_TEST_KEY", "abc def ghi jkl", 1);
  EXPECT_FALSE(Key::find("", "KFORGE_TEST_KEY"));
  ::setenv("KFORGE_TEST_KEY", "x", 1);
  EXPECT_FALSE(Key::find("", "KFORGE_TEST_KEY"));
  ::unsetenv("KFORGE_TEST_KEY");
  EXPECT_EQ(Key::find("", "KFORGE_TEST_KEY").error().code, ErrorCode::missing);
}

TEST(Prices, OfKnownModelsByNameAndDate) {
  const auto dated = find_price("claude-sonnet-4-5-20250929");
  ASSERT_TRUE(dated && *dated);
  EXPECT_DOUBLE_EQ((*dated)->output, 15);
  EXPECT_FALSE(*find_price("gpt-4.1-nano")) << "gpt-4.1's price is not gpt-4.1-nano's";
  EXPECT_FALSE(*find_price(""));
  EXPECT_NEAR(money_of({1'000'000, 100'000, 400'000, 0, true}, {3, 15, 0.3, 3.75}), 0.6 * 3 + 0.4 * 0.3 + 1.5, 1e-9);
}

TEST(Spending, StopsBeforeTheBudgetIsPassed) {
  Spending spending({10'000, 0}, std::nullopt);
  EXPECT_EQ(spending.affordable_output(2'000, 4'000), 4'000u);
  spending.add({2'000, 3'000, 0, 0, true});
  EXPECT_EQ(spending.affordable_output(2'000, 4'000), 3'000u);
  spending.add({2'000, 2'900, 0, 0, true});
  EXPECT_EQ(spending.exhausted(), "");
  EXPECT_EQ(spending.affordable_output(2'000, 4'000), 0u);
  EXPECT_THAT(spending.exhausted(), HasSubstr("10000 tokens"));
  EXPECT_THAT(spending.summary(), HasSubstr("price unknown"));
  Spending paid({0, 0.10}, Price{3, 15, 0.3, 3.75});
  EXPECT_EQ(paid.affordable_output(10'000, 100'000), 4'166u) << "a prompt may be written to the cache, which costs more than reading it";
}

TEST(Record, IsReadBackAsItWasWritten) {
  Record record{"anthropic:x", true, {}};
  Answer answer;
  answer.text = "```cuda\nint x;\n``` \xff";
  answer.calls = {{"id1", "check", R"({"source":"a\"b"})"}};
  answer.stop = StopReason::tool_calls;
  answer.own = "[1]";
  answer.usage = {5, 6, 1, 2, true};
  record.exchanges.push_back({"abc", answer});
  const auto back = read_record(to_text(record), "r.jsonl");
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(back->provider, record.provider);
  EXPECT_TRUE(back->tools);
  ASSERT_EQ(back->exchanges.size(), 1u);
  EXPECT_EQ(back->exchanges[0].answer.calls[0].arguments, answer.calls[0].arguments);
  EXPECT_EQ(back->exchanges[0].answer.own, "[1]");
  EXPECT_EQ(to_text(*back), to_text(*read_record(to_text(*back), "r.jsonl")));
  for (const char* wrong : {"", "{}", "{\"schema\":\"kforge.llm-record/1\"}\n{\"answer\":{}}", "{\"schema\":\"kforge.llm-record/1\"}\nnonsense"}) EXPECT_FALSE(read_record(wrong, "r.jsonl")) << wrong;
}

TEST(Replay, GivesAnAnswerToItsPromptAlone) {
  const auto folder = TemporaryDirectory::create();
  const std::string file = (folder->path() / "r.jsonl").string();
  Record record{"manual", false, {{llm::identity(request_of("one")), {}}, {llm::identity(request_of("two")), {}}}};
  record.exchanges[0].answer.text = "1";
  record.exchanges[1].answer.text = "2";
  ASSERT_TRUE(write_file_atomic(file, to_text(record)));
  ClientOptions options;
  options.spec = "replay:" + file;
  auto client = open_client(options);
  ASSERT_TRUE(client) << to_string(client.error());
  EXPECT_EQ((*client)->ask(request_of("two"), {})->text, "2");
  const auto changed = (*client)->ask(request_of("uno"), {});
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, ErrorCode::bad_input);
  EXPECT_EQ((*client)->ask(request_of("one"), {})->text, "1");
  EXPECT_EQ((*client)->ask(request_of("one"), {}).error().code, ErrorCode::limit) << "each answer is given once";
  options.spec = "replay-in-order:" + file;
  EXPECT_EQ((*open_client(options))->ask(request_of("anything"), {})->text, "1");
}

TEST(Command, GetsThePromptAndAnswers) {
  auto client = command_client({"cat"}, 10, 1 << 20);
  const auto answer = client->ask(request_of("what now"), {});
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_THAT(answer->text, HasSubstr("what now"));
  EXPECT_FALSE(answer->usage.told);
  EXPECT_GT(answer->usage.input, 0u);
  EXPECT_EQ(command_client({"false"}, 10, 1 << 20)->ask(request_of("x"), {}).error().code, ErrorCode::failed);
  EXPECT_EQ(command_client({"true"}, 10, 1 << 20)->ask(request_of("x"), {}).error().code, ErrorCode::failed) << "silence is no answer";
  EXPECT_EQ(command_client({"kforge-no-such-program"}, 10, 1 << 20)->ask(request_of("x"), {}).error().code, ErrorCode::missing);
  EXPECT_EQ(command_client({"cat"}, 10, 4)->ask(request_of("x"), {}).error().code, ErrorCode::limit);
}

TEST(Manual, WaitsForTheAnswersFile) {
  const auto folder = TemporaryDirectory::create();
  auto client = manual_client(folder->path(), 0.2);
  std::thread person([&] {
    while (!std::filesystem::exists(folder->path() / "prompt-1.md")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::ofstream(folder->path() / "answer-1.md") << "by hand";
  });
  const auto answer = client->ask(request_of("please"), {});
  person.join();
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->text, "by hand");
  EXPECT_THAT(*read_file(folder->path() / "prompt-1.md"), HasSubstr("please"));
  // A new process that asks the same takes up what is there.
  EXPECT_EQ(manual_client(folder->path(), 0.1)->ask(request_of("please"), {})->text, "by hand");
  AskControl stop;
  stop.cancelled = [] { return true; };
  EXPECT_EQ(client->ask(request_of("other"), stop).error().code, ErrorCode::limit);
}

TEST(Providers, WrongSpecsAreExplained) {
  const auto open = [](const std::string& spec) {
    ClientOptions options;
    options.spec = spec;
    return open_client(options);
  };
  EXPECT_THAT(open("antropic:x").error().hint, HasSubstr("anthropic"));
  EXPECT_EQ(open("command:").error().code, ErrorCode::bad_input);
  EXPECT_EQ(open("replay:/no/such").error().code, ErrorCode::bad_input);
  ::unsetenv("ANTHROPIC_API_KEY");
  const auto keyless = open("anthropic:claude-sonnet-4-5");
  ASSERT_FALSE(keyless);
  EXPECT_EQ(keyless.error().code, ErrorCode::missing);
  EXPECT_THAT(keyless.error().message, HasSubstr("ANTHROPIC_API_KEY"));
}

}  // namespace
}  // namespace kforge::llm
