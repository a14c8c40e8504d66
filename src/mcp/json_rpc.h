// JSON-RPC 2.0 messages as values (https://www.jsonrpc.org/specification), as far as MCP uses them: requests and notifications with parameters by name,
// no batches.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

namespace kforge::mcp {

using Json = nlohmann::ordered_json;

inline constexpr std::size_t kMaxMessageBytes = 16u << 20;
inline constexpr int kMaxDepth = 64;             // of nested arrays and objects: what is read is also copied and printed, which calls itself

// Codes of JSON-RPC 2.0, and of MCP 2026-07-28 (-320xx).
inline constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601, kInvalidParams = -32602, kInternalError = -32603;
inline constexpr int kHeaderMismatch = -32020, kUnsupportedVersion = -32022;
inline constexpr int kResourceNotFound = -32002;   // until 2025-11-25; kInvalidParams since

struct RpcError {
  int code = kInternalError;
  std::string message;
  Json data = nullptr;
};

struct Message {
  Json id = nullptr;            // string or integer; null: a notification
  std::string method;           // "": an answer of the client to something; there is nothing to do
  Json params = Json::object();
  bool is_request() const { return !id.is_null(); }
};

struct Refusal {
  Json id = nullptr;            // where it could be read
  RpcError error;
};

tl::expected<Message, Refusal> read_message(std::string_view text);

Json result_message(const Json& id, Json result);
Json error_message(const Json& id, const RpcError& error);
Json notification(std::string_view method, Json params);

// On one line; bytes that are not UTF-8 are replaced.
std::string to_text(const Json& message);

}  // namespace kforge::mcp
