#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/unique_fd.h"
#include "base/writable.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;

std::string reason(int error_number) { return std::generic_category().message(error_number); }

ErrorCode code_of(int error_number) {
  const bool callers_fault = error_number == ENOENT || error_number == ENOTDIR || error_number == EISDIR ||
                             error_number == EACCES || error_number == ENAMETOOLONG || error_number == ELOOP;
  return callers_fault ? ErrorCode::bad_input : ErrorCode::failed;
}

std::string hint_of(int error_number) {
  if (error_number == ENOSPC || error_number == EDQUOT) return "free some disk space and run again";
  if (error_number == EFBIG) return kFileLimitHint;
  if (error_number == EROFS || error_number == EACCES) return "check the permissions of the folder";
  return {};
}

Unexpected io_error(const std::string& what, const fs::path& path, int error_number) {
  return fail(code_of(error_number), what + ": " + reason(error_number), Where{path.string()}, hint_of(error_number));
}

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// A name that no other thread or process uses: concurrent writers must not share a temporary file.
fs::path temporary_beside(const fs::path& path) {
  static std::atomic<unsigned> counter{0};
  return path.string() + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(counter++);
}

void sync_folder_of(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) ::fsync(fd.get());
}

// Folders without the write bit (a candidate's leftovers) would make the removal fail.
void make_folders_writable(const fs::path& root) {
  std::error_code ignored;
  if (!fs::is_directory(fs::symlink_status(root, ignored))) return;
  fs::permissions(root, fs::perms::owner_all, fs::perm_options::add, ignored);
  for (fs::directory_iterator it(root, ignored), end; !ignored && it != end; it.increment(ignored)) {
    make_folders_writable(it->path());
  }
}

// Into a device or a pipe: there is nothing that could be half done, and a file in its place would be a new fault of the machine.
Expected<void> write_through(const fs::path& path, std::string_view content) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd || !write_all(fd.get(), content) || ::close(fd.release()) != 0) return io_error("cannot write this file", path, errno);
  return {};
}

}  // namespace

Expected<std::string> read_file(const fs::path& path, std::uint64_t max_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return io_error("cannot open this file", path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode)) return io_error("cannot read this file", path, EISDIR);

  std::string content;
  const auto expected = static_cast<std::uint64_t>(std::max<off_t>(info.st_size, 0));
  if (expected <= max_bytes) content.reserve(expected);
  char buffer[1 << 16];
  while (true) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("cannot read this file", path, errno);
    if (n == 0) return content;
    if (content.size() + static_cast<std::uint64_t>(n) > max_bytes) {
      return fail(ErrorCode::limit, "the file is larger than the limit of " + std::to_string(max_bytes) + " bytes",
                  Where{path.string()});
    }
    content.append(buffer, static_cast<std::size_t>(n));
  }
}

Expected<void> write_file_atomic(const fs::path& named, std::string_view content, Flush flush) {
  std::error_code ignored;
  const fs::path path = behind_links(named);
  if (const fs::file_status there = fs::status(path, ignored); fs::exists(there) && !fs::is_regular_file(there) && !fs::is_directory(there)) return write_through(path, content);
  const fs::path temporary = temporary_beside(path);
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd) return io_error("cannot write this file", path, errno);
  if (!write_all(fd.get(), content) || (flush == Flush::now && ::fsync(fd.get()) != 0) || ::close(fd.release()) != 0 ||
      ::rename(temporary.c_str(), path.c_str()) != 0) {
    const int why = errno;
    ::unlink(temporary.c_str());
    return io_error("cannot write this file", path, why);
  }
  if (flush == Flush::now) sync_folder_of(path);
  return {};
}

Expected<void> make_directories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && !fs::is_directory(path)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) return io_error("cannot make this folder", path, error.value());
  return {};
}

Expected<std::vector<std::string>> list_directory(const fs::path& path) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) return io_error("cannot list this folder", path, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

Expected<void> remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) {
    make_folders_writable(path);
    fs::remove_all(path, error);
  }
  if (error) return io_error("cannot remove this", path, error.value());
  return {};
}

Expected<TemporaryDirectory> TemporaryDirectory::create(std::string_view prefix, const fs::path& parent) {
  const char* from_environment = std::getenv("TMPDIR");
  fs::path folder = parent;
  if (folder.empty()) folder = from_environment != nullptr && *from_environment != '\0' ? from_environment : "/tmp";
  std::string name = (folder / (std::string(prefix) + "-XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) return io_error("cannot make a temporary folder in", folder, errno);
  return TemporaryDirectory(fs::path(name));
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(other.release()) {}

TemporaryDirectory& TemporaryDirectory::operator=(TemporaryDirectory&& other) noexcept {
  if (this != &other) {
    if (!path_.empty()) static_cast<void>(remove_tree(path_));
    path_ = other.release();
  }
  return *this;
}

TemporaryDirectory::~TemporaryDirectory() {
  if (!path_.empty()) static_cast<void>(remove_tree(path_));
}

fs::path TemporaryDirectory::release() {
  fs::path path = std::move(path_);
  path_.clear();
  return path;
}

}  // namespace kforge
