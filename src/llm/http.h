// One HTTP request through libcurl, which is opened at run time: the program starts and judges on machines without it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "llm/chat.h"

namespace kforge::llm {

struct HttpRequest {
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

struct HttpLimits {
  double connect_seconds = 15;
  double idle_seconds = 180;                   // without a byte of the answer
  double total_seconds = 1800;
  std::uint64_t answer_bytes = 10u << 20;
};

struct HttpAnswer {
  long status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // all that came, also when it broke off
  std::string broke_off;                       // why the answer is not whole; "": it is
};

// Posts; redirects are answers, not followed. What came before a break is in `body`. Errors: missing (no libcurl), bad_input (no such URL), limit (cancelled, time
// or size), failed (not reached: nothing came). `on_data`: pieces of a body whose status is 200 to 299, as they come; may be empty.
Expected<HttpAnswer> http_post(const HttpRequest& request, const HttpLimits& limits, const AskControl& control, const std::function<void(std::string_view)>& on_data);

// For `doctor`: "libcurl/7.88.1 OpenSSL/3.0.17 ..." Errors: missing.
Expected<std::string> curl_version();

}  // namespace kforge::llm
