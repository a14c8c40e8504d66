// What an HTTP request must be before its body is looked at, and what its headers must say of its message. No transport here: headers in, status out.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "mcp/json_rpc.h"

namespace kforge::mcp {

// Value of a header by its name, letter case aside; "" when it is not there.
using Headers = std::function<std::string(const char* name)>;

struct HttpFault {
  int status = 0;               // 0: none
  std::string reason;
};

// A page in a browser must reach nothing here: the host is this machine by a name that no foreign page has, and where an origin is told it is this machine's, too.
// `token` "": none is asked for. Compared without telling by its time how much of a token is right.
HttpFault access_fault(const Headers& headers, const std::string& token);

// Of a POST: the types of its body and of the answer.
HttpFault type_fault(const Headers& headers);

// 2026-07-28: version, method and name stand in headers, too, and must be the body's. "" when they are.
std::string routing_fault(const Headers& headers, const Message& message);

// HTTP status of an answer in the modern era; 200 for results.
int http_status(const Json& message);

}  // namespace kforge::mcp
