#include "base/writable.h"

#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace kforge {
namespace {

namespace fs = std::filesystem;

Expected<void> may_write(const fs::path& what, int how, const fs::path& path) {
  if (::access(what.c_str(), how) == 0) return {};
  return fail(ErrorCode::bad_input, "this file cannot be written: " + std::generic_category().message(errno), Where{path.string()}, "check the permissions of its folder, or name another file");
}

}  // namespace

fs::path behind_links(const fs::path& path) {
  std::error_code none;
  if (!fs::is_symlink(path, none)) return path;
  fs::path found = fs::canonical(path, none);
  return none ? path : found;
}

Expected<void> can_be_written(const fs::path& named) {
  std::error_code ignored;
  const fs::path path = behind_links(named);
  const fs::file_status there = fs::status(path, ignored);
  if (fs::is_directory(there)) return fail(ErrorCode::bad_input, "this is a folder, and a file is to be written", Where{path.string()}, "name a file in it");
  if (fs::exists(there) && !fs::is_regular_file(there)) return may_write(path, W_OK, path);   // a device, a pipe
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, ignored)) return fail(ErrorCode::bad_input, "the folder of this file is not there", Where{path.string()}, "make it, or name a file in one that is");
  return may_write(folder, W_OK | X_OK, path);
}

}  // namespace kforge
