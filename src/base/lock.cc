#include "base/lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

namespace kforge {
namespace {

using Clock = std::chrono::steady_clock;

Unexpected lock_error(const std::filesystem::path& path, int why) {
  return fail(ErrorCode::failed, "cannot lock this file: " + std::generic_category().message(why), Where{path.string()},
              "check the permissions of the folder");
}

int flock_retrying(int fd, int operation) {
  while (::flock(fd, operation) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace

Expected<FileLock> FileLock::acquire(const std::filesystem::path& path, std::optional<double> timeout_seconds) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!fd) return lock_error(path, errno);
  if (!timeout_seconds) {
    const int why = flock_retrying(fd.get(), LOCK_EX);
    if (why != 0) return lock_error(path, why);
    return FileLock(std::move(fd));
  }
  const auto deadline = Clock::now() + std::chrono::duration<double>(*timeout_seconds);
  for (auto pause = std::chrono::milliseconds(1);; pause = std::min(pause * 2, std::chrono::milliseconds(50))) {
    const int why = flock_retrying(fd.get(), LOCK_EX | LOCK_NB);
    if (why == 0) return FileLock(std::move(fd));
    if (why != EWOULDBLOCK) return lock_error(path, why);
    if (Clock::now() >= deadline) {
      return fail(ErrorCode::limit, "another process holds this lock", Where{path.string()}, "wait for it or end it");
    }
    std::this_thread::sleep_for(pause);
  }
}

bool FileLock::is_held(const std::filesystem::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return fd && flock_retrying(fd.get(), LOCK_SH | LOCK_NB) == EWOULDBLOCK;
}

}  // namespace kforge
