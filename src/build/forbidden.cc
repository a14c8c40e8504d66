#include "build/forbidden.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace kforge::build {
namespace {

// Whole names that are the worker's or the loader's, and starts of names that belong to CUDA's libraries. A start counts
// only before a capital letter, so that `cumsum` and `cuda_softmax` stay the candidate's.
constexpr std::array<std::string_view, 12> kLibraries = {"cuda", "cu", "__cuda", "nvrtc", "cublas", "cublasLt", "cudnn", "cufft", "curand", "cusparse", "cusolver", "nvJitLink"};
constexpr std::array<std::string_view, 4> kWorker = {"kforge_", "_dl_", "__libc_", "__pthread_"};

bool belongs_to_library(std::string_view name) {
  for (const std::string_view start : kLibraries) {
    if (!name.starts_with(start) || name.size() == start.size()) continue;
    const char next = name[start.size()];
    if (next >= 'A' && next <= 'Z') return true;
  }
  return std::any_of(kWorker.begin(), kWorker.end(), [&](std::string_view start) { return name.starts_with(start); });
}

// The C library tells itself which names are its own: libm, libdl and libpthread are in it or loaded beside it. Names of
// C++ (_Z...) are left to the linker's usual vague linkage.
bool belongs_to_c_library(const std::string& name) {
  if (name.starts_with("_Z") || name.starts_with("_ITM_") || name == "_init" || name == "_fini" || name == "_edata" || name == "_end" || name == "__bss_start") return false;
  for (const char* library : {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}) {
    void* handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) continue;
    void* address = dlsym(handle, name.c_str());
    Dl_info info{};
    const bool found = address && dladdr(address, &info) && info.dli_fname && std::string_view(info.dli_fname).find("libstdc++") == std::string_view::npos;
    dlclose(handle);
    if (found) return true;
  }
  return false;
}

}  // namespace

bool is_forbidden_symbol(const std::string& name) { return belongs_to_library(name) || belongs_to_c_library(name); }

std::vector<std::string> forbidden_symbols(const ElfFile& object, const std::string& launcher) {
  std::vector<std::string> out;
  for (const ElfSymbol& symbol : object.dynamic_symbols()) {
    if (!symbol.defined || symbol.hidden || symbol.name.empty() || symbol.name == "kforge_call" || symbol.name == launcher) continue;
    if (is_forbidden_symbol(symbol.name)) out.push_back(symbol.name);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace kforge::build
