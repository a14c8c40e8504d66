#include <filesystem>
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "mcp/http_rules.h"
#include "mcp/json_rpc.h"
#include "mcp/protocol.h"
#include "mcp/tool.h"
#include "mcp/workspace.h"

namespace kforge::mcp {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

int refusal(std::string_view text) {
  const auto message = read_message(text);
  return message ? 0 : message.error().error.code;
}

TEST(JsonRpc, WhatIsNoMessageIsRefusedByTheStandardsCodes) {
  EXPECT_EQ(refusal("{"), kParseError);
  EXPECT_EQ(refusal("\xff"), kParseError);
  for (const char* text : {"[]", "1", "{}", R"({"jsonrpc":"2.0","id":1})", R"({"jsonrpc":"2.0","id":1.5,"method":"m"})", R"({"jsonrpc":"2.0","id":1,"method":2})", R"({"id":1,"method":"m"})"})
    EXPECT_EQ(refusal(text), kInvalidRequest) << text;
  EXPECT_EQ(refusal(R"({"jsonrpc":"2.0","id":1,"method":"m","params":[1]})"), kInvalidParams);
  EXPECT_EQ(refusal(R"({"jsonrpc":"2.0","id":"a","method":"m"})"), 0);
}

TEST(JsonRpc, NestingIsBoundedAndBracketsInTextsDoNotCount) {
  const auto nested = [](int depth) { return R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":)" + std::string(static_cast<std::size_t>(depth), '[') + std::string(static_cast<std::size_t>(depth), ']') + "}}"; };
  EXPECT_EQ(refusal(nested(kMaxDepth - 2)), 0);
  EXPECT_EQ(refusal(nested(kMaxDepth - 1)), kInvalidRequest);
  EXPECT_EQ(refusal(R"({"jsonrpc":"2.0","id":1,"method":"m","params":{"a":")" + std::string(500, '[') + R"(\"["}})"), 0);
}

TEST(JsonRpc, BytesThatAreNotUtf8AreReplaced) { EXPECT_EQ(to_text(Json("a\xff")), "\"a\xEF\xBF\xBD\""); }

// Any bytes are a message or a refusal with a code of the standard.
TEST(JsonRpc, NoBytesBreakTheReader) {
  const std::string whole = R"({"jsonrpc":"2.0","id":"a\u00e9","method":"tools/call","params":{"name":"x","arguments":{"a":[1,-2.5e3,true,null,"\\"]}}})";
  constexpr unsigned kSeed = 7;
  std::mt19937 random(kSeed);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = whole;
    for (unsigned change = random() % 4 + 1; change > 0; --change) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0) text.erase(at, random() % 5);
      else if (random() % 2 == 0) text[at] = static_cast<char>(random());
      else text.insert(at, 1, "{}[]\",:\\\0\xff"[random() % 10]);
      if (text.empty()) text = "x";
    }
    const auto message = read_message(text);
    if (!message) EXPECT_THAT(message.error().error.code, ::testing::AnyOf(kParseError, kInvalidRequest, kInvalidParams)) << "seed " << kSeed << ", round " << i;
    else static_cast<void>(to_text(result_message(message->id, message->params)));
  }
}

Headers with(std::map<std::string, std::string> headers) {
  return [headers](const char* name) {
    const auto at = headers.find(name);
    return at == headers.end() ? std::string() : at->second;
  };
}

TEST(HttpRules, OnlyThisMachineByANameOfItsOwnIsServed) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:80", "localhost:7800", "LOCALHOST", "[::1]:80", "[::1]"}) EXPECT_EQ(access_fault(with({{"Host", host}}), "").status, 0) << host;
  for (const char* host : {"", "evil", "127.0.0.1.evil", "localhost:80.evil", "127.0.0.2", "[::2]"}) EXPECT_EQ(access_fault(with({{"Host", host}}), "").status, 403) << host;
  for (const char* origin : {"null", "http://evil", "http://localhost.evil", "http://localhost@evil", "localhost"}) EXPECT_EQ(access_fault(with({{"Host", "localhost"}, {"Origin", origin}}), "").status, 403) << origin;
  EXPECT_EQ(access_fault(with({{"Host", "localhost"}, {"Origin", "http://localhost:3000"}}), "").status, 0);
}

TEST(HttpRules, ATokenMustBeWholeAndExact) {
  const auto fault = [](const std::string& given) { return access_fault(with({{"Host", "localhost"}, {"Authorization", given}}), "token").status; };
  EXPECT_EQ(fault("Bearer token"), 0);
  for (const char* given : {"", "token", "Bearer ", "Bearer toke", "Bearer tokens", "Bearer Token", "bearer token"}) EXPECT_EQ(fault(given), 401) << given;
}

TEST(HttpRules, HeadersSayWhatTheBodySays) {
  Message message{1, "tools/call", {{"name", "gpu_sh\xC3\xA9""et"}, {"_meta", {{"io.modelcontextprotocol/protocolVersion", kModernVersion}}}}};
  const auto fault = [&](const char* method, const char* name) { return routing_fault(with({{"MCP-Protocol-Version", kModernVersion}, {"Mcp-Method", method}, {"Mcp-Name", name}}), message); };
  EXPECT_THAT(fault("tools/call", "=?base64?Z3B1X3Now6lldA==?="), IsEmpty());
  EXPECT_THAT(fault("tools/call", "gpu_sheet"), HasSubstr("Mcp-Name"));
  EXPECT_THAT(fault("tools/list", "=?base64?Z3B1X3Now6lldA==?="), HasSubstr("Mcp-Method"));
}

TEST(Tools, EachHasASchemaAndAFunction) {
  for (const Tool& tool : tools()) {
    const Json schema = schema_of(tool);
    EXPECT_EQ(schema["type"], "object") << tool.name;
    for (const Json& name : schema.value("required", Json::array())) EXPECT_TRUE(schema["properties"].contains(name)) << tool.name;
    EXPECT_NE(tool.run, nullptr);
  }
}

TEST(Tools, ArgumentsThatDoNotFitAreNamed) {
  const Tool& check = *find_tool("check_candidate");
  EXPECT_THAT(argument_fault(check, {{"task", "t.toml"}, {"seed", 3}}), IsEmpty());
  EXPECT_THAT(argument_fault(check, Json::object()), HasSubstr("\"task\" is missing"));
  EXPECT_THAT(argument_fault(check, {{"task", 1}}), HasSubstr("must be a string"));
  EXPECT_THAT(argument_fault(check, {{"task", "t"}, {"findings", 0}}), HasSubstr("at least 1"));
  EXPECT_THAT(argument_fault(check, {{"task", "t"}, {"findings", 1.5}}), HasSubstr("integer"));
  EXPECT_THAT(argument_fault(check, {{"task", "t"}, {"seed", 18446744073709551615ull}}), HasSubstr("at most"));
  EXPECT_THAT(argument_fault(check, {{"task", "t"}, {"sede", 1}}), HasSubstr("did you mean \"seed\""));
  EXPECT_THAT(argument_fault(check, {{"task", std::string(5'000, 'x')}}), HasSubstr("longer"));
  const Tool& sweep = *find_tool("sweep_parameters");
  EXPECT_THAT(argument_fault(sweep, {{"task", "t"}, {"parameters", {{"A", {1, "x"}}}}}), IsEmpty());
  EXPECT_THAT(argument_fault(sweep, {{"task", "t"}, {"parameters", {{"A", Json::array()}}}}), HasSubstr("list of integers or strings"));
}

class InWorkspace : public ::testing::Test {
 protected:
  Workspace open() const {
    ServerOptions options;
    options.roots = {(folder_.path() / "root").string()};
    return std::move(*Workspace::open(options));
  }
  void SetUp() override {
    fs::create_directories(folder_.path() / "root/sub");
    std::ofstream(folder_.path() / "root/sub/a.cu") << "a";
    std::ofstream(folder_.path() / "secret.cu") << "s";
    fs::create_directories(folder_.path() / "root-more");
    std::ofstream(folder_.path() / "root-more/b.cu") << "b";
    fs::create_symlink(folder_.path() / "secret.cu", folder_.path() / "root/link.cu");
  }
  TemporaryDirectory folder_ = *TemporaryDirectory::create("kforge-mcp-test");
};

TEST_F(InWorkspace, OnlyFilesBelowTheRootsAreFound) {
  const Workspace workspace = open();
  EXPECT_TRUE(workspace.file("sub/a.cu"));
  EXPECT_TRUE(workspace.file((folder_.path() / "root/sub/a.cu").string()));
  for (const char* path : {"../secret.cu", "link.cu", "/etc/passwd", "../root-more/b.cu", "sub", "", "none.cu", "sub/../../secret.cu"}) EXPECT_FALSE(workspace.file(path)) << path;
  // What is there and what is not are told alike.
  EXPECT_EQ(workspace.file("../secret.cu").error().message, workspace.file("../none.cu").error().message);
}

TEST_F(InWorkspace, TheOldestHandlesAreDropped) {
  Workspace workspace = open();
  const Link first = workspace.keep("source", "text/plain", "", "first");
  EXPECT_EQ(workspace.kept_text("source", first.uri.substr(first.uri.rfind('/') + 1)), "first");
  for (int i = 0; i < 600; ++i) workspace.keep("source", "text/plain", "", "text " + std::to_string(i));
  EXPECT_EQ(workspace.kept().size(), 500u);
  EXPECT_THAT(workspace.kept_text("source", first.uri.substr(first.uri.rfind('/') + 1)), IsEmpty());
  workspace.keep("ptx", "text/plain", "", std::string(70u << 20, 'x'));
  EXPECT_EQ(workspace.kept().size(), 1u);
}

TEST_F(InWorkspace, ACallsIdIsItsOwnWhileItRuns) {
  Peer peer;
  const auto call = peer.begin(1);
  ASSERT_TRUE(call);
  EXPECT_FALSE(peer.begin(1));
  EXPECT_TRUE(peer.begin("1"));
  peer.cancel("1");
  EXPECT_FALSE(*call);
  peer.cancel(1);
  EXPECT_TRUE(*call);
  peer.end(1);
  EXPECT_TRUE(peer.begin(1));
}

}  // namespace
}  // namespace kforge::mcp
