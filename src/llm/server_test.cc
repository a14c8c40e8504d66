// What servers do wrong, and what becomes of it: through libcurl, over the loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "llm/fault_server_test.h"
#include "llm/providers.h"

namespace kforge::llm {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kKey = "sk-marker-0123456789abcdef";

std::string sse(const std::string& data) { return "data: " + data + "\n\n"; }
// A Chat Completions stream of these pieces, whole.
std::string chat_stream(const std::vector<std::string>& pieces) {
  std::string out;
  for (const std::string& piece : pieces) out += sse(R"({"model":"m","choices":[{"delta":{"content":")" + piece + R"("}}]})");
  out += sse(R"({"choices":[{"delta":{},"finish_reason":"stop"}]})");
  return out + sse(R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}})") + sse("[DONE]");
}

Request request_of(const std::string& text) {
  Request out;
  out.system = "be brief";
  out.messages.push_back({Role::user, text, {}, "", false});
  return out;
}

struct Asked {
  Expected<Answer> answer = fail(ErrorCode::failed, "not asked");
  Usage lost{0, 0, 0, 0, true};
  double seconds = 0;
};

class ServerFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (!curl_version()) GTEST_SKIP() << curl_version().error().message;
    ::setenv("KFORGE_LLM_KEY", kKey, 1);
  }
  void TearDown() override { ::unsetenv("KFORGE_LLM_KEY"); }

  static ClientOptions options_for(const FaultServer& server, const std::string& spec = "compatible:m") {
    ClientOptions out;
    out.spec = spec;
    out.url = server.url();
    out.limits = {2, 0.6, 20, 1u << 20};
    out.retry = {3, 0.02, 0.1, 2};
    return out;
  }
  static Asked ask(const FaultServer& server, const AskControl& given = {}) {
    Asked out;
    auto client = open_client(options_for(server));
    if (!client) {
      out.answer = Unexpected(client.error());
      return out;
    }
    AskControl control = given;
    control.lost = [&](const Usage& usage) { out.lost += usage; };
    const auto start = std::chrono::steady_clock::now();
    out.answer = (*client)->ask(request_of("hello"), control);
    out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return out;
  }
};

TEST_F(ServerFaults, AStreamInPiecesIsOneAnswer) {
  const std::string whole = stream_head() + chat_stream({"one ", "two"});
  Script script;
  for (std::size_t at = 0; at < whole.size(); at += 7) script.push_back({whole.substr(at, 7)});
  FaultServer server([&](int, const std::string&) { return script; });
  const Asked asked = ask(server);
  ASSERT_TRUE(asked.answer) << to_string(asked.answer.error());
  EXPECT_EQ(asked.answer->text, "one two");
  EXPECT_EQ(asked.answer->usage.input, 7u);
  EXPECT_EQ(asked.answer->usage.output, 3u);
  EXPECT_TRUE(asked.answer->usage.told);
  EXPECT_THAT(to_lower(server.head(0)), HasSubstr(fmt::format("authorization: bearer {}", kKey)));
}

TEST_F(ServerFaults, AStalledServerIsGivenUpAndAskedAgain) {
  FaultServer server([&](int n, const std::string&) { return n == 0 ? Script{{stream_head() + sse(R"({"choices":[{"delta":{"content":"ab"}}]})")}, {"", 1500}} : Script{{stream_head() + chat_stream({"late"})}}; });
  const Asked asked = ask(server);
  ASSERT_TRUE(asked.answer) << to_string(asked.answer.error());
  EXPECT_EQ(asked.answer->text, "late");
  EXPECT_EQ(asked.answer->tries, 2u);
  EXPECT_GT(asked.lost.output, 0u) << "tokens of the half answer were spent";
}

TEST_F(ServerFaults, AResetIsTriedAgain) {
  FaultServer server([&](int n, const std::string&) { return n < 2 ? Script{{"", 0, true}} : Script{{stream_head() + chat_stream({"third"})}}; });
  const Asked asked = ask(server);
  ASSERT_TRUE(asked.answer) << to_string(asked.answer.error());
  EXPECT_EQ(asked.answer->tries, 3u);
}

TEST_F(ServerFaults, HalfAStreamIsNeverAnAnswer) {
  FaultServer server([&](int, const std::string&) { return Script{{stream_head() + sse(R"({"choices":[{"delta":{"content":"half a kernel"}}]})")}}; });
  const Asked asked = ask(server);
  ASSERT_FALSE(asked.answer);
  EXPECT_EQ(asked.answer.error().code, ErrorCode::failed);
  EXPECT_THAT(asked.answer.error().message, HasSubstr("broke off"));
  EXPECT_EQ(server.requests(), 3);
}

TEST_F(ServerFaults, RetryAfterIsObeyed) {
  FaultServer server([&](int n, const std::string&) {
    return n == 0 ? Script{{http(429, R"({"error":{"message":"slow down"}})", "application/json", "retry-after: 1\r\n")}} : Script{{stream_head() + chat_stream({"ok"})}};
  });
  const Asked asked = ask(server);
  ASSERT_TRUE(asked.answer) << to_string(asked.answer.error());
  EXPECT_GE(asked.seconds, 1.0);
}

TEST_F(ServerFaults, AWaitThatIsTooLongIsNotTaken) {
  FaultServer server([&](int, const std::string&) { return Script{{http(429, "{}", "application/json", "retry-after: 3600\r\n")}}; });
  const Asked asked = ask(server);
  ASSERT_FALSE(asked.answer);
  EXPECT_THAT(asked.answer.error().message, HasSubstr("3600"));
  EXPECT_EQ(server.requests(), 1);
}

TEST_F(ServerFaults, ServerErrorsAreTriedAgainAndThenTold) {
  FaultServer server([&](int, const std::string&) { return Script{{http(500, R"({"error":{"message":"out of order"}})")}}; });
  const Asked asked = ask(server);
  ASSERT_FALSE(asked.answer);
  EXPECT_EQ(server.requests(), 3);
  EXPECT_THAT(asked.answer.error().message, HasSubstr("out of order"));
  EXPECT_THAT(asked.answer.error().message, HasSubstr("HTTP 500"));
}

TEST_F(ServerFaults, AWrongKeyIsToldAtOnceAndNeverShown) {
  FaultServer server([&](int, const std::string&) { return Script{{http(401, fmt::format(R"({{"error":{{"message":"invalid key {}"}}}})", kKey))}}; });
  const Asked asked = ask(server);
  ASSERT_FALSE(asked.answer);
  EXPECT_EQ(asked.answer.error().code, ErrorCode::bad_input);
  EXPECT_EQ(server.requests(), 1);
  EXPECT_THAT(to_string(asked.answer.error()), Not(HasSubstr(kKey)));
  EXPECT_THAT(to_string(asked.answer.error()), HasSubstr("[key]"));
}

TEST_F(ServerFaults, AKeyInAnAnswerIsTakenOut) {
  FaultServer server([&](int, const std::string&) { return Script{{stream_head() + chat_stream({std::string("your key is ") + kKey})}}; });
  const Asked asked = ask(server);
  ASSERT_TRUE(asked.answer) << to_string(asked.answer.error());
  EXPECT_EQ(asked.answer->text, "your key is [key]");
}

TEST_F(ServerFaults, NoRoomLeftInTheQuotaIsNoRateLimit) {
  FaultServer server([&](int, const std::string&) { return Script{{http(429, R"({"error":{"message":"You exceeded your quota","code":"insufficient_quota"}})")}}; });
  const Asked asked = ask(server);
  ASSERT_FALSE(asked.answer);
  EXPECT_EQ(server.requests(), 1);
  EXPECT_EQ(asked.answer.error().code, ErrorCode::bad_input);
}

TEST_F(ServerFaults, WhatIsNoJsonIsNoAnswer) {
  for (const std::string& body : {http(200, "{\"choices\": [", "application/json"), http(200, "<html>hello</html>", "text/html"), stream_head() + "data: {nonsense\n\n", http(200, "[]"), http(200, "")}) {
    FaultServer server([&](int, const std::string&) { return Script{{body}}; });
    const Asked asked = ask(server);
    ASSERT_FALSE(asked.answer) << body;
    EXPECT_EQ(asked.answer.error().code, ErrorCode::failed) << body;
  }
}

TEST_F(ServerFaults, AnEndlessAnswerIsCutOff) {
  FaultServer server([&](int, const std::string&) {
    Script script{{stream_head()}};
    for (int i = 0; i < 40; ++i) script.push_back({sse(R"({"choices":[{"delta":{"content":")" + std::string(64 << 10, 'x') + R"("}}]})")});
    return script;
  });
  const Asked asked = ask(server);
  ASSERT_FALSE(asked.answer);
  EXPECT_EQ(asked.answer.error().code, ErrorCode::limit);
  EXPECT_EQ(server.requests(), 1);
}

TEST_F(ServerFaults, ARedirectIsNotFollowed) {
  FaultServer server([&](int, const std::string&) { return Script{{http(307, "", "text/plain", "location: http://127.0.0.1:1/steal\r\n")}}; });
  const Asked asked = ask(server);
  ASSERT_FALSE(asked.answer);
  EXPECT_EQ(asked.answer.error().code, ErrorCode::bad_input);
  EXPECT_EQ(server.requests(), 1);
}

TEST_F(ServerFaults, ACancelledRequestEndsSoon) {
  FaultServer server([&](int, const std::string&) { return Script{{stream_head()}, {"", 4000}}; });
  const auto start = std::chrono::steady_clock::now();
  AskControl control;
  control.cancelled = [&] { return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(200); };
  const Asked asked = ask(server, control);
  ASSERT_FALSE(asked.answer);
  EXPECT_EQ(asked.answer.error().code, ErrorCode::limit);
  EXPECT_LT(asked.seconds, 3);
}

TEST_F(ServerFaults, NobodyThereIsSaid) {
  std::string url;
  { FaultServer server([&](int, const std::string&) { return Script{}; }); url = server.url(); }
  ClientOptions options;
  options.spec = "compatible:m";
  options.url = url;
  options.retry = {2, 0.01, 0.02, 1};
  auto client = open_client(options);
  ASSERT_TRUE(client);
  const auto answer = (*client)->ask(request_of("x"), {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::failed);
  EXPECT_THAT(answer.error().message, HasSubstr("tried 2 times"));
}

TEST_F(ServerFaults, AServerThatStreamsNotIsUnderstood) {
  FaultServer server([&](int, const std::string&) { return Script{{http(200, R"({"model":"m","choices":[{"message":{"role":"assistant","content":"whole"},"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":2}})")}}; });
  const Asked asked = ask(server);
  ASSERT_TRUE(asked.answer) << to_string(asked.answer.error());
  EXPECT_EQ(asked.answer->text, "whole");
  EXPECT_EQ(asked.answer->stop, StopReason::length);
}

TEST_F(ServerFaults, TheKeyTravelsToAnotherMachineOnlyEncrypted) {
  ClientOptions options;
  options.spec = "compatible:m";
  options.url = "http://models.example.org/v1";
  const auto client = open_client(options);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, ErrorCode::bad_input);
  EXPECT_THAT(to_string(client.error()), Not(HasSubstr(kKey)));
}

}  // namespace
}  // namespace kforge::llm
