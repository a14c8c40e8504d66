// Files: whole reads with a limit, writes that are never seen half done, temporary folders.
//
// Everything that Kernel Forge leaves on disk goes through write_file_atomic: a reader (or the next
// run after a kill) sees the old content or the new one. Reads take a limit because inputs come
// from strangers. All errors name the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kforge {

inline constexpr std::uint64_t kDefaultReadLimit = 256ull << 20;  // bytes

// The whole content of a regular file (or pipe). A file that does not exist or is a folder is
// bad_input; one of more than `max_bytes` is limit; anything else is failed.
Expected<std::string> read_file(const std::filesystem::path& path, std::uint64_t max_bytes = kDefaultReadLimit);

// `later`: a machine that loses power may lose what was written. For what can be made again and vouches for itself, as the entries of a cache do.
enum class Flush : std::uint8_t { now, later };

// Writes a temporary file beside `path`, syncs it, renames it over `path` and syncs the folder. Safe
// against concurrent writers (the last one wins) and against a kill at any point. The folder must exist. A device or pipe is written to, not replaced. Of a link, what it leads to.
Expected<void> write_file_atomic(const std::filesystem::path& path, std::string_view content, Flush flush = Flush::now);

// Like `mkdir -p`. It is no error if the folder exists.
Expected<void> make_directories(const std::filesystem::path& path);

// Names (not paths) of the entries of a folder, sorted bytewise, so that nothing depends on the disk's order.
Expected<std::vector<std::string>> list_directory(const std::filesystem::path& path);

// Removes a file or a whole tree, made writable first where needed; never follows symbolic links. Absent is fine.
Expected<void> remove_tree(const std::filesystem::path& path);

// A fresh folder (mode 0700) under `parent`, or $TMPDIR, or /tmp; removed with all it holds at the end of its life.
class TemporaryDirectory {
 public:
  static Expected<TemporaryDirectory> create(std::string_view prefix = "kforge",
                                             const std::filesystem::path& parent = {});
  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&& other) noexcept;
  ~TemporaryDirectory();

  const std::filesystem::path& path() const { return path_; }
  // Leaves the folder on disk and gives its path.
  std::filesystem::path release();

 private:
  explicit TemporaryDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace kforge
