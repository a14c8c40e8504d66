// What the server's clients may read, and what it keeps for them.
//
// Task files and candidates are read below the roots alone. That keeps an agent to the project that it was started for; it is no defence against one that
// writes files there, since the compiler reads what a source includes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "mcp/json_rpc.h"
#include "mcp/mcp.h"

namespace kforge::mcp {

// A handle of a resource: what an answer leaves out for shortness is behind it.
struct Link {
  std::string kind;              // "verdict"; the key under which a structured answer gives it
  std::string uri;               // "kforge://verdict/0123456789abcdef"
  std::string mime, what;
};

struct Kept {
  Link link;
  std::string text;
};

class Workspace {
 public:
  // Errors: bad_input (a root or context folder that is not there), failed (no temporary folder).
  static Expected<Workspace> open(const ServerOptions& options);

  // The file, absolute and with links resolved. Errors: bad_input (not there, no regular file, or outside the roots: the message names them).
  Expected<std::string> file(const std::string& path) const;
  // Text of a candidate as a file of our own, which lives as long as the server. Errors: bad_input (too large), failed.
  Expected<std::string> write_source(std::string_view text);

  // Keeps a text under a handle made of its content; the oldest ones go when there are more than 500, or 64 MiB.
  Link keep(const std::string& kind, const std::string& mime, const std::string& what, std::string text);
  std::string kept_text(const std::string& kind, const std::string& id) const;   // "": not there (any more)
  std::vector<Link> kept() const;                                                // latest first

  const ServerOptions& options() const { return options_; }
  std::string roots_text() const;
  void remove_files();           // before an exit that runs no destructors

 private:
  struct Shelf {
    mutable std::mutex mutex;
    std::list<Kept> items;       // latest first
    std::uint64_t bytes = 0;
  };
  Workspace(ServerOptions options, std::vector<std::string> roots, TemporaryDirectory sources)
      : options_(std::move(options)), roots_(std::move(roots)), sources_(std::move(sources)), shelf_(std::make_unique<Shelf>()) {}

  ServerOptions options_;
  std::vector<std::string> roots_;
  TemporaryDirectory sources_;
  std::unique_ptr<Shelf> shelf_;
};

}  // namespace kforge::mcp
