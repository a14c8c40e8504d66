// A compiler that has read the headers and waits: each request goes on from there in a copy of the process.
//
// The compiler is NVIDIA's or the host's own, unchanged, with its usual arguments. A library that is preloaded into it
// (fork_server/preload.cc) stops it at a place in one named file; from there it forks for each request, and the child computes what the compiler
// would have computed from the start. Requests may run at once. The server ends with this object, and with this process however that ends;
// what a request started ends with its limit, and with whoever asked.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/costs.h"
#include "base/error.h"
#include "base/unique_fd.h"
#include "build/builder.h"
#include "build/compile.h"

namespace kforge::build {

// Where a compiler is to stop.
struct ForkPlace {
  std::string file;          // as the compiler names it when it opens it
  std::uint64_t bytes = 0;   // of its start that are read before; 0: it stops before the file is opened
};

struct ForkOutcome {
  ToolEnd end;
  std::string output;        // stdout and stderr, in order
  double wall_s = 0;
};

class ForkServer {
 public:
  // `arguments[0]` is a full path. Does not wait until the compiler is at `place`. Errors: missing (no preload library), failed.
  static Expected<std::unique_ptr<ForkServer>> start(std::vector<std::string> arguments, std::vector<std::string> environment, const std::filesystem::path& folder, const ForkPlace& place, CostLedger* ledger = nullptr);
  ~ForkServer();
  ForkServer(const ForkServer&) = delete;
  ForkServer& operator=(const ForkServer&) = delete;

  // Goes on in `folder` with `file` in place of the one at which the server stopped. Thread-safe. Errors: failed (the server is gone, or never came to its place in time).
  Expected<ForkOutcome> run(const std::filesystem::path& folder, const std::string& file, const Limits& limits, double wall_seconds = kWallSeconds);

 private:
  ForkServer(UniqueFd control, pid_t pid, CostLedger* ledger) : control_(std::move(control)), pid_(pid), ledger_(ledger) {}
  bool ready(double seconds);

  std::mutex mutex_;
  UniqueFd control_;
  pid_t pid_;
  CostLedger* ledger_;       // takes what the server itself used, when it ends
  double reported_cpu_s_ = 0;
  bool ready_ = false;
};

// Path of the library to preload, or "" when it is not beside this program.
std::string find_preload_library();

}  // namespace kforge::build
