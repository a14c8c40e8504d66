// The three protocols: streams as their services send them become one kind of answer, and a conversation goes back as they want it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "llm/codec.h"
#include "llm/json_tools.h"

namespace kforge::llm {
namespace {

using testing::HasSubstr;

Expected<Answer> read(const Codec& codec, const std::string& stream) {
  const auto reader = codec.reader();
  std::optional<Error> broken;
  EventReader events([&](const Event& event) {
    if (auto done = reader->event(event); !done && !broken) broken = done.error();
  });
  for (const char c : stream) events.feed({&c, 1});
  events.end();
  if (broken) return Unexpected(*broken);
  if (!reader->done()) return fail(ErrorCode::failed, "not done");
  return reader->answer();
}

const char* kAnthropicStream =
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-x\",\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":90,\"cache_creation_input_tokens\":5,\"output_tokens\":1}}}\n\n"
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n"
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"let me see\"}}\n\n"
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"c2ln\"}}\n\n"
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
    "event: ping\ndata: {\"type\":\"ping\"}\n\n"
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"checking\"}}\n\n"
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"check\",\"input\":{}}}\n\n"
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"source\\\":\"}}\n\n"
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\\\"x\\\"}\"}}\n\n"
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":42}}\n\n"
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

TEST(AnthropicCodec, ReadsThinkingTextAndTools) {
  const auto codec = anthropic_codec();
  const auto answer = read(*codec, kAnthropicStream);
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->text, "checking");
  ASSERT_EQ(answer->calls.size(), 1u);
  EXPECT_EQ(answer->calls[0].name, "check");
  EXPECT_EQ(answer->calls[0].arguments, R"({"source":"x"})");
  EXPECT_EQ(answer->stop, StopReason::tool_calls);
  EXPECT_EQ(answer->usage.input, 105u);
  EXPECT_EQ(answer->usage.cached_input, 90u);
  EXPECT_EQ(answer->usage.output, 42u);

  Request next;
  next.messages = {{Role::user, "go", {}, "", false}, message_of(*answer), {Role::tool, "accepted", {}, "toolu_1", false}};
  const Json body = parsed(codec->body(next, {"claude-x", true}));
  ASSERT_EQ(body["messages"].size(), 3u);
  EXPECT_EQ(body["messages"][1]["content"][0]["signature"], "c2ln") << "signed thinking goes back as it came";
  EXPECT_EQ(body["messages"][2]["content"][0]["tool_use_id"], "toolu_1");
  EXPECT_EQ(body["messages"][2]["content"][0]["cache_control"]["type"], "ephemeral");
}

TEST(AnthropicCodec, ErrorsInTheStreamAndRefusalsAreSeen) {
  const auto codec = anthropic_codec();
  const auto overloaded = read(*codec, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n");
  ASSERT_FALSE(overloaded);
  EXPECT_THAT(overloaded.error().message, HasSubstr("Overloaded"));
  const auto refused = read(*codec, "data: {\"type\":\"message_start\",\"message\":{}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\"},\"usage\":{\"output_tokens\":2}}\n\ndata: {\"type\":\"message_stop\"}\n\n");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->stop, StopReason::refused);
}

TEST(AnthropicCodec, ThinkingIsABudgetForOlderModelsAndAnEffortForLaterOnes) {
  Request request;
  request.effort = "medium";
  request.max_output_tokens = 1000;
  const Json older = parsed(anthropic_codec()->body(request, {"claude-sonnet-4-5", true}));
  EXPECT_EQ(older["thinking"]["type"], "enabled");
  EXPECT_GT(older["max_tokens"], older["thinking"]["budget_tokens"]);
  const Json later = parsed(anthropic_codec()->body(request, {"claude-opus-4-6", true}));
  EXPECT_EQ(later["thinking"]["type"], "adaptive");
  EXPECT_EQ(later["output_config"]["effort"], "medium");
}

TEST(OpenAiChatCodec, ToolCallsArriveInPieces) {
  const auto answer = read(*openai_chat_codec(),
                           "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"check\",\"arguments\":\"{\\\"a\\\"\"}}]}}]}\n\n"
                           "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\":1}\"}}]}}]}\n\n"
                           "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n");
  ASSERT_TRUE(answer) << to_string(answer.error());
  ASSERT_EQ(answer->calls.size(), 1u);
  EXPECT_EQ(answer->calls[0].arguments, R"({"a":1})");
  EXPECT_EQ(answer->stop, StopReason::tool_calls);
}

TEST(OpenAiChatCodec, RefusalsAreSeen) {
  const auto answer = read(*openai_chat_codec(), "data: {\"choices\":[{\"delta\":{\"refusal\":\"I cannot\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->stop, StopReason::refused);
  EXPECT_EQ(answer->why, "I cannot");
}

TEST(OpenAiResponsesCodec, TheLastEventHoldsAll) {
  const auto codec = openai_responses_codec();
  const auto answer = read(*codec,
                           "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"hel\"}\n\n"
                           "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"object\":\"response\",\"status\":\"completed\",\"model\":\"gpt-x\",\"output\":["
                           "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"abc\"},"
                           "{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"hello\"}]},"
                           "{\"type\":\"function_call\",\"call_id\":\"call_1\",\"name\":\"check\",\"arguments\":\"{}\"}],"
                           "\"usage\":{\"input_tokens\":5,\"output_tokens\":6,\"input_tokens_details\":{\"cached_tokens\":2}}}}\n\n");
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->text, "hello");
  EXPECT_EQ(answer->stop, StopReason::tool_calls);
  EXPECT_EQ(answer->usage.cached_input, 2u);
  Request next;
  next.messages = {{Role::user, "go", {}, "", false}, message_of(*answer), {Role::tool, "fine", {}, "call_1", false}};
  const Json body = parsed(codec->body(next, {"gpt-x", true}));
  ASSERT_EQ(body["input"].size(), 5u);
  EXPECT_EQ(body["input"][1]["encrypted_content"], "abc");
  EXPECT_EQ(body["input"][4]["type"], "function_call_output");
  EXPECT_EQ(body["store"], false);
}

TEST(OpenAiResponsesCodec, TruncationAndFailureAreSeen) {
  const auto cut = read(*openai_responses_codec(), "data: {\"type\":\"response.incomplete\",\"response\":{\"object\":\"response\",\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"},\"output\":[]}}\n\n");
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->stop, StopReason::length);
  const auto failed = read(*openai_responses_codec(), "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"message\":\"boom\"},\"output\":[]}}\n\n");
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, HasSubstr("boom"));
}

TEST(Codecs, AnyJsonIsReadWithoutACrash) {
  const char* hostile[] = {"data: null\n\n", "data: 1\n\n", "data: [1,2]\n\n", "data: {\"type\":7}\n\n", "data: {\"choices\":{}}\n\n", "data: {\"choices\":[7]}\n\n", "data: {\"choices\":[{\"delta\":{\"tool_calls\":[null,{\"index\":-3,\"id\":5}]}}]}\n\n",
                           "data: {\"type\":\"content_block_delta\",\"index\":\"x\",\"delta\":5}\n\n", "data: {\"type\":\"message_start\",\"message\":5}\n\n", "data: {\"type\":\"response.completed\",\"response\":{\"output\":[1,{\"type\":\"message\",\"content\":3}]}}\n\n",
                           "data: {\"error\":5}\n\n", "data:\n\n", ":comment\n\n", "data: \xff\xfe\n\n"};
  for (const auto& codec : {anthropic_codec(), openai_chat_codec(), openai_responses_codec()})
    for (const char* stream : hostile) {
      static_cast<void>(read(*codec, stream));
      static_cast<void>(codec->reader()->whole(std::string(stream).substr(5)));
    }
}

}  // namespace
}  // namespace kforge::llm
