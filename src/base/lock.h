// A lock between processes on a file (flock): freed by the kernel when its holder ends, however it ends.
//
// The file is made if it is not there and is never removed: removing it would let two holders in.
// Two FileLock objects of one process exclude each other too.
#pragma once

#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/unique_fd.h"

namespace kforge {

class FileLock {
 public:
  // Waits for the lock, at most `timeout_seconds` (limit when it is over); no timeout waits for ever.
  static Expected<FileLock> acquire(const std::filesystem::path& path, std::optional<double> timeout_seconds = {});
  // Whether somebody holds it now. A lock that nobody ever took has no file, and none is made. Looking takes the lock for an instant, shared: who asks at that
  // very moment and does not wait may be told that it is held.
  static bool is_held(const std::filesystem::path& path);

 private:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace kforge
