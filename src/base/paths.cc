#include "base/paths.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;

fs::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool is_root(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_directory(folder / "data" / "gpus", ignored);
}

bool is_program(const fs::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// Relative entries of XDG_CACHE_HOME are invalid (XDG base directory specification) and ignored.
std::vector<fs::path> default_caches() {
  std::vector<fs::path> folders;
  if (const fs::path xdg = from_environment("XDG_CACHE_HOME"); xdg.is_absolute()) folders.push_back(xdg / "kforge");
  if (const fs::path home = from_environment("HOME"); home.is_absolute()) folders.push_back(home / ".cache/kforge");
  if (const auto root = project_root()) folders.push_back(*root / ".kforge/cache");
  return folders;
}

fs::path resolved(const fs::path& folder) {
  std::error_code error;
  const fs::path canonical = fs::canonical(folder, error);
  return error ? fs::absolute(folder).lexically_normal() : canonical;
}

bool usable(const fs::path& folder) {
  return make_directories(folder).has_value() && ::access(folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

fs::path executable_folder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

Expected<fs::path> project_root() {
  const std::string hint = "set KFORGE_ROOT to the folder that holds data/gpus";
  if (const fs::path root = from_environment("KFORGE_ROOT"); !root.empty()) {
    if (is_root(root)) return fs::absolute(root);
    return fail(ErrorCode::missing, "KFORGE_ROOT has no folder data/gpus", Where{root.string()}, hint);
  }
  const fs::path start = executable_folder();
  for (fs::path folder = start; !folder.empty(); folder = folder.parent_path()) {
    if (is_root(folder)) return folder;
    if (is_root(folder / "share/kforge")) return folder / "share/kforge";
    if (folder == folder.parent_path()) break;
  }
  return fail(ErrorCode::missing, "found no data/gpus in any folder above this one", Where{start.string()}, hint);
}

Expected<fs::path> cache_folder() {
  if (const fs::path wanted = from_environment("KFORGE_CACHE"); !wanted.empty()) {
    if (usable(wanted)) return resolved(wanted);
    return fail(ErrorCode::missing, "the cache folder of KFORGE_CACHE cannot be written", Where{wanted.string()},
                "set KFORGE_CACHE to a folder that can be written");
  }
  std::string tried;
  for (const fs::path& folder : default_caches()) {
    if (usable(folder)) return resolved(folder);
    tried += (tried.empty() ? "" : ", ") + folder.string();
  }
  return fail(ErrorCode::missing, "no folder for the cache can be written; tried: " + (tried.empty() ? "none" : tried),
              {}, "set KFORGE_CACHE to a folder that can be written");
}

std::optional<fs::path> find_program(std::string_view name, std::string_view search_path) {
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string_view::npos) {
    if (is_program(name)) return fs::path(name);
    return std::nullopt;
  }
  for (const std::string_view folder : split(search_path, ':')) {
    const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;  // an empty entry is the current folder
    if (is_program(candidate)) return candidate;
  }
  return std::nullopt;
}

std::optional<fs::path> find_program(std::string_view name) {
  const char* path = std::getenv("PATH");
  return find_program(name, path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
}

}  // namespace kforge
