#include "mcp/json_rpc.h"

#include "base/json_depth.h"

namespace kforge::mcp {
namespace {

Refusal refuse(int code, std::string message, const Json& id = nullptr) { return {id, {code, std::move(message), nullptr}}; }

}  // namespace

tl::expected<Message, Refusal> read_message(std::string_view text) {
  if (text.size() > kMaxMessageBytes) return tl::unexpected(refuse(kInvalidRequest, "the message is longer than 16 MiB"));
  if (json_depth(text) > kMaxDepth) return tl::unexpected(refuse(kInvalidRequest, "the message nests more than 64 levels deep"));
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return tl::unexpected(refuse(kParseError, "this is no JSON text"));
  if (json.is_array()) return tl::unexpected(refuse(kInvalidRequest, "batches are not supported: send one message at a time"));
  if (!json.is_object()) return tl::unexpected(refuse(kInvalidRequest, "a message is a JSON object"));
  Message out;
  if (const auto id = json.find("id"); id != json.end()) {
    if (!id->is_string() && !id->is_number_integer()) return tl::unexpected(refuse(kInvalidRequest, "an id is a string or an integer"));
    out.id = *id;
  }
  if (json.value("jsonrpc", Json()) != "2.0") return tl::unexpected(refuse(kInvalidRequest, "\"jsonrpc\" must be \"2.0\"", out.id));
  const auto method = json.find("method");
  if (method == json.end()) {
    if (json.contains("result") || json.contains("error")) return Message{};
    return tl::unexpected(refuse(kInvalidRequest, "a request names its \"method\"", out.id));
  }
  if (!method->is_string()) return tl::unexpected(refuse(kInvalidRequest, "a method is a string", out.id));
  out.method = *method;
  if (const auto params = json.find("params"); params != json.end() && !params->is_null()) {
    if (!params->is_object()) return tl::unexpected(refuse(kInvalidParams, "parameters are given by name, as an object", out.id));
    out.params = *params;
  }
  return out;
}

Json result_message(const Json& id, Json result) { return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}}; }

Json error_message(const Json& id, const RpcError& error) {
  Json body = {{"code", error.code}, {"message", error.message}};
  if (!error.data.is_null()) body["data"] = error.data;
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(body)}};
}

Json notification(std::string_view method, Json params) { return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}}; }

std::string to_text(const Json& message) { return message.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace kforge::mcp
