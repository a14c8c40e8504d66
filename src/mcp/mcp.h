// The agent protocol: `kforge mcp` serves the forge's tools to coding agents by the Model Context Protocol, over standard input and output or over HTTP
// on the loopback interface.
//
// The room knows the protocol and how an answer is kept short; what a tool does is a function of include/kforge/. It speaks the revisions with a handshake
// (2024-11-05 to 2025-11-25) and the one without (2026-07-28), as a client's first request asks. A candidate runs where it runs for `check`: in a worker
// process under limits. What a cancelled or orphaned call has started ends with it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kforge/error.h"

namespace kforge::mcp {

struct ServerOptions {
  std::vector<std::string> roots;      // task files and candidates are read below these folders only; empty: below the current one
  std::vector<std::string> context;    // folders for search_context
  std::string store;                   // as load_run
  std::uint16_t port = 0;              // of HTTP; 0: a free one
  std::string token;                   // HTTP requests must carry it ("Authorization: Bearer TOKEN"); "": none is asked for
  std::uint64_t calls = 4;             // tool calls that run at once; further ones wait
  std::function<void(const std::string&)> say;   // lines for people: where it listens, what it may read; may be empty
};

// Serves until the end of standard input, SIGINT or SIGTERM; whatever still runs is then ended. Errors: bad_input (a folder that is not there), failed.
Expected<void> serve_stdio(const ServerOptions& options);
// Serves http://127.0.0.1:PORT/mcp until SIGINT or SIGTERM. Errors: as serve_stdio; failed when the port is taken.
Expected<void> serve_http(const ServerOptions& options);

}  // namespace kforge::mcp
