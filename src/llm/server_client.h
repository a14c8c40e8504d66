// A model behind HTTP: sends a codec's request, reads its stream, and tries again what may succeed the next time.
#pragma once

#include <memory>
#include <string>

#include "llm/chat.h"
#include "llm/codec.h"
#include "llm/http.h"
#include "llm/key.h"

namespace kforge::llm {

// Waits double from the first on, each times a random factor of 0.5 to 1.5, unless the server says how long.
struct RetryRules {
  std::uint32_t tries = 6;
  double first_wait = 1, longest_wait = 60;      // seconds
  double longest_asked = 300;                    // a server that asks for more is not waited for
};

struct ServerOptions {
  std::string name;                              // of the client
  std::string base_url;                          // without a slash at the end
  Dialect dialect;
  Key key;
  HttpLimits limits;
  RetryRules retry;
};

// Errors: bad_input where the key would travel unencrypted to another machine.
Expected<std::unique_ptr<Client>> server_client(std::unique_ptr<Codec> codec, ServerOptions options);

// Seconds that a header `retry-after` (seconds, or a date of HTTP) or `retry-after-ms` asks for; negative: it says nothing.
double asked_wait(const std::map<std::string, std::string>& headers);

}  // namespace kforge::llm
