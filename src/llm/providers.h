// Who can be asked: one row a provider, from the word of `--llm PROVIDER[:REST]` to a client.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "llm/chat.h"
#include "llm/server_client.h"

namespace kforge::llm {

struct ClientOptions {
  std::string spec;            // "anthropic:MODEL", "command:PROGRAM ARGS", "replay:FILE"
  std::string url;             // base URL of the server; "": the provider's own
  std::string key_file;        // "": the provider's environment variable
  HttpLimits limits;
  RetryRules retry;
};

struct Provider {
  std::string_view word, rest;       // "anthropic", "MODEL"
  std::string_view what;             // one line for people
  std::string_view url, key_variable;
  bool key_needed = false;
  bool tools = false;                // requests offer tools unless told otherwise
};
std::span<const Provider> providers();
// Of a spec. Errors: bad_input with the nearest known word.
Expected<const Provider*> find_provider(const std::string& spec);
// Whether requests offer tools unless told otherwise; of a recorded run: whether they did. Errors: as open_client.
Expected<bool> offers_tools(const std::string& spec);

// Errors: bad_input (spec, URL, key's file), missing (no key, no record).
Expected<std::unique_ptr<Client>> open_client(const ClientOptions& options);

}  // namespace kforge::llm
