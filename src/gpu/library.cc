#include "gpu/library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "base/paths.h"
#include "base/text.h"

namespace kforge::gpu {
namespace {

namespace fs = std::filesystem;

const char* named(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value ? value : nullptr;
}

// Where toolkits keep their libraries, the likeliest first.
std::vector<fs::path> toolkit_folders() {
  std::vector<fs::path> roots, out;
  std::error_code ignored;
  for (const char* variable : {"KFORGE_CUDA", "CUDA_HOME", "CUDA_PATH"})
    if (const char* value = named(variable)) roots.emplace_back(value);
  if (const auto nvcc = find_program("nvcc")) roots.push_back(fs::canonical(*nvcc, ignored).parent_path().parent_path());
  roots.emplace_back("/usr/local/cuda");
  if (const auto root = project_root()) {
    roots.push_back(*root / ".kforge" / "cuda");
    roots.push_back(*root / ".kforge" / "cuda" / "nvidia" / "cu13");
  }
  for (const fs::path& root : roots)
    for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib", "extras/CUPTI/lib64"}) out.push_back(root / folder);
  return out;
}

}  // namespace

Expected<Library> Library::open(const char* variable, const std::vector<std::string>& names, const std::string& hint) {
  std::vector<std::string> tried = names;
  if (const char* value = named(variable)) tried = {value};
  std::string why;
  for (const std::string& name : tried) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return Library(handle);
    const char* said = dlerror();
    if (why.empty()) why = said ? said : "it cannot be loaded";
  }
  return fail(ErrorCode::missing, fmt::format("{} was not found: {}", tried.front(), why), {}, hint);
}

void* Library::symbol(const char* name) const { return dlsym(handle_, name); }

std::string Library::path() const {
  link_map* map = nullptr;
  return dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name ? map->l_name : "";
}

Expected<Library> open_driver() {
  return Library::open("KFORGE_LIBCUDA", {"libcuda.so.1", "libcuda.so"}, "install NVIDIA's driver; without one kforge uses the emulated GPU");
}

Expected<Library> open_nvml() {
  return Library::open("KFORGE_LIBNVML", {"libnvidia-ml.so.1", "libnvidia-ml.so"}, "it comes with NVIDIA's driver");
}

Expected<std::string> find_toolkit_library(const char* variable, const std::vector<std::string>& names) {
  std::error_code ignored;
  if (const char* value = named(variable)) {
    if (fs::exists(value, ignored)) return std::string(value);
    return fail(ErrorCode::missing, fmt::format("${} names {}, which does not exist", variable, value));
  }
  for (const fs::path& folder : toolkit_folders())
    for (const std::string& name : names)
      if (fs::exists(folder / name, ignored)) return (folder / name).string();
  for (const std::string& name : names) {   // the loader's own folders; opened in passing to learn the path
    void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!handle) continue;
    link_map* map = nullptr;
    std::string path = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map ? map->l_name : name;
    dlclose(handle);
    return path;
  }
  return fail(ErrorCode::missing, fmt::format("{} was not found beside nvcc, in $CUDA_HOME, /usr/local/cuda or where the loader looks", names.front()), {},
              "install the CUDA toolkit 13.0");
}

Expected<std::string> find_cupti() { return find_toolkit_library("KFORGE_LIBCUPTI", {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}); }

Expected<std::string> find_cudnn() {
  constexpr const char* kFile = "libcudnn.so.9";
  auto found = find_toolkit_library("KFORGE_LIBCUDNN", {kFile});
  const auto python = found || named("KFORGE_LIBCUDNN") ? std::nullopt : find_program("python3");
  if (!python) return found;
  std::error_code error;
  const fs::path libraries = python->parent_path().parent_path() / "lib";   // of a virtual environment, whose python3 is a link
  for (fs::directory_iterator it(libraries, error), end; !error && it != end; it.increment(error)) {
    const fs::path file = it->path() / "site-packages" / "nvidia" / "cudnn" / "lib" / kFile;
    std::error_code ignored;
    if (it->path().filename().string().starts_with("python3") && fs::exists(file, ignored)) return file.string();
  }
  return found;
}

Expected<std::string> find_cuda_runtime() { return find_toolkit_library("KFORGE_LIBCUDART", {"libcudart.so.13"}); }

}  // namespace kforge::gpu
