#include "base/held_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace kforge {
namespace {

namespace fs = std::filesystem;

// The mark: the sticky bit, which means nothing in a folder of one owner. It is set when the lock is had, so that a marked folder without a lock is
// nobody's.
constexpr mode_t kMarked = 01700;

bool take_lock(int fd) {
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0)
    if (errno != EINTR) return false;
  return true;
}

// Whether the open folder is still the one of this name.
bool is_at(int fd, const fs::path& path) {
  struct stat open {}, named {};
  return ::fstat(fd, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

}  // namespace

Expected<HeldDirectory> HeldDirectory::create(std::string_view prefix, const fs::path& parent) {
  auto folder = TemporaryDirectory::create(prefix, parent);
  if (!folder) return Unexpected(folder.error());
  UniqueFd lock(::open(folder->path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock && take_lock(lock.get())) ::chmod(folder->path().c_str(), kMarked);   // where there are no locks nobody sweeps
  return HeldDirectory(std::move(*folder), std::move(lock));
}

void sweep_held_directories(std::string_view prefix, const fs::path& parent) {
  const char* from_environment = std::getenv("TMPDIR");
  const fs::path folder = !parent.empty() ? parent : fs::path(from_environment != nullptr && *from_environment != '\0' ? from_environment : "/tmp");
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    struct stat about {};
    if (!it->path().filename().string().starts_with(prefix) || ::lstat(it->path().c_str(), &about) != 0 || about.st_mode != (S_IFDIR | kMarked) || about.st_uid != ::geteuid()) continue;
    const UniqueFd lock(::open(it->path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (lock && take_lock(lock.get()) && is_at(lock.get(), it->path())) static_cast<void>(remove_tree(it->path()));
  }
}

}  // namespace kforge
