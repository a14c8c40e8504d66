#include "mcp/http_rules.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace kforge::mcp {
namespace {

bool is_here(std::string_view host) {
  const std::size_t colon = host.starts_with('[') ? host.find(':', host.find(']')) : host.find(':');
  const std::string name = to_lower(host.substr(0, colon));
  if (colon != std::string_view::npos && !parse_unsigned(host.substr(colon + 1))) return false;
  return name == "127.0.0.1" || name == "localhost" || name == "[::1]";
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned char difference = a.size() != b.size();
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[b.empty() ? 0 : i % b.size()]);
  return difference == 0;
}

bool accepts(const std::string& accept, std::string_view type) {
  for (const std::string_view range : split(accept, ',')) {
    const std::string name = to_lower(trim(range.substr(0, range.find(';'))));
    if (name == type || name == "*/*" || (name.ends_with("/*") && type.starts_with(std::string_view(name).substr(0, name.size() - 1)))) return true;
  }
  return false;
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) { return i + k < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[i + k])) : 0u; };
    const unsigned three = at(0) << 16 | at(1) << 8 | at(2);
    for (std::size_t k = 0; k < 4; ++k) out += i + k <= bytes.size() ? kDigits[three >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

// Which parameter a method's header Mcp-Name repeats.
struct Named { std::string_view method; const char* key; };
constexpr std::array kNamed{Named{"tools/call", "name"}, Named{"prompts/get", "name"}, Named{"resources/read", "uri"}};

struct Status { int code, http; };
constexpr std::array kStatus{Status{kParseError, 400}, Status{kInvalidRequest, 400}, Status{kInvalidParams, 400}, Status{kHeaderMismatch, 400}, Status{kUnsupportedVersion, 400}, Status{kMethodNotFound, 404}};

}  // namespace

HttpFault access_fault(const Headers& headers, const std::string& token) {
  if (!is_here(headers("Host"))) return {403, "this server answers to 127.0.0.1 and localhost only"};
  if (const std::string origin = headers("Origin"); !origin.empty()) {
    const std::size_t scheme = origin.find("://");
    if (scheme == std::string::npos || !is_here(std::string_view(origin).substr(scheme + 3))) return {403, "requests of this origin are not taken"};
  }
  if (!token.empty() && !equal_in_constant_time(headers("Authorization"), "Bearer " + token)) return {401, "a token is needed: Authorization: Bearer TOKEN"};
  return {};
}

HttpFault type_fault(const Headers& headers) {
  const std::string type = headers("Content-Type");
  if (to_lower(trim(std::string_view(type).substr(0, type.find(';')))) != "application/json") return {415, "the body must be application/json"};
  const std::string accept = headers("Accept");
  if (!accepts(accept, "application/json") || !accepts(accept, "text/event-stream")) return {406, "the client must accept application/json and text/event-stream"};
  return {};
}

std::string routing_fault(const Headers& headers, const Message& message) {
  const Json meta = message.params.value("_meta", Json::object());
  if (Json(headers("MCP-Protocol-Version")) != (meta.is_object() ? meta.value("io.modelcontextprotocol/protocolVersion", Json()) : Json())) return "the header MCP-Protocol-Version is not the envelope's version";
  if (headers("Mcp-Method") != message.method) return "the header Mcp-Method is not the message's method";
  for (const Named& row : kNamed) {
    if (row.method != message.method) continue;
    const Json name = message.params.value(row.key, Json());
    if (!name.is_string()) return {};
    const std::string said = headers("Mcp-Name"), plain = name;
    if (said != plain && said != "=?base64?" + base64(plain) + "?=") return std::string("the header Mcp-Name is not the parameter \"") + row.key + "\"";
  }
  return {};
}

int http_status(const Json& message) {
  const auto error = message.find("error");
  if (error == message.end()) return 200;
  for (const Status& row : kStatus)
    if (error->value("code", 0) == row.code) return row.http;
  return 200;
}

}  // namespace kforge::mcp
