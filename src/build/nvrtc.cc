// PTX of device code alone, by NVRTC, found at run time. NVRTC 13.0 brings no <cstdint>, no <cstring> and no INFINITY: the shims below
// give what device code uses of them.
#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "build/builder.h"
#include "build/compile.h"
#include "build/target.h"

namespace kforge::build {
namespace {

struct Shim { const char* name; const char* text; };
constexpr const char* kIntegers = R"(#pragma once
typedef signed char int8_t; typedef unsigned char uint8_t; typedef short int16_t; typedef unsigned short uint16_t;
typedef int int32_t; typedef unsigned int uint32_t; typedef long int64_t; typedef unsigned long uint64_t;
typedef long intptr_t; typedef unsigned long uintptr_t;
#ifndef INT32_MAX
#define INT8_MAX 127
#define INT8_MIN (-128)
#define UINT8_MAX 255
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MAX 2147483647
#define INT32_MIN (-2147483647 - 1)
#define UINT32_MAX 4294967295u
#define INT64_MAX 9223372036854775807l
#define INT64_MIN (-9223372036854775807l - 1)
#define UINT64_MAX 18446744073709551615ul
#endif
namespace std { using ::int8_t; using ::uint8_t; using ::int16_t; using ::uint16_t; using ::int32_t; using ::uint32_t; using ::int64_t; using ::uint64_t; using ::intptr_t; using ::uintptr_t; }
)";
constexpr const char* kLimits = R"(#pragma once
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-07F
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
)";
constexpr const char* kNothing = "#pragma once\n";
constexpr const char* kMaths = R"(#pragma once
#define INFINITY __builtin_bit_cast(float, 0x7f800000)
#define NAN __builtin_bit_cast(float, 0x7fffffff)
)";
constexpr const char* kStrings = "#pragma once\nnamespace std { using ::memcpy; using ::memset; using ::size_t; }\n";
constexpr Shim kShims[] = {{"cstdint", kIntegers}, {"stdint.h", kIntegers}, {"stdlib.h", kNothing}, {"cstdlib", kNothing}, {"stddef.h", kNothing},
    {"cstddef", kNothing}, {"math.h", kMaths}, {"cmath", kMaths}, {"string.h", kStrings}, {"cstring", kStrings}, {"stdio.h", kNothing}, {"cstdio", kNothing}, {"float.h", kLimits}, {"cfloat", kLimits},
    {"limits.h", kLimits}, {"climits", kLimits}, {"cuda_runtime.h", "#pragma once\n#include <math.h>\n"}, {"assert.h", kNothing}, {"cassert", kNothing}};

using Program = void*;
struct Library {
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*ptx_size)(Program, std::size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;
};

template <class F>
bool resolve(void* handle, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(handle, name));
  return function != nullptr;
}

// NVRTC looks for its builtins by name alone, so that another toolkit's could answer: those beside it are loaded first, by path.
void load_builtins(const std::filesystem::path& library) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(library.parent_path(), ignored)) {
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so.")) dlopen(entry.path().c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
}

// The library stays loaded: NVRTC does not survive being unloaded and loaded again.
Expected<Library> load() {
  const std::string path = find_nvrtc_library();
  const auto missing = [](const std::string& why) {
    return fail(ErrorCode::missing, "NVRTC cannot be used: " + why, {}, "install the CUDA 13.0 toolkit's libnvrtc, or run ./forge once");
  };
  if (path.empty()) return missing("libnvrtc.so was not found beside nvcc");
  load_builtins(path);
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return missing(dlerror());
  Library library;
  const bool complete = resolve(handle, "nvrtcCreateProgram", library.create) && resolve(handle, "nvrtcCompileProgram", library.compile) &&
      resolve(handle, "nvrtcGetPTXSize", library.ptx_size) && resolve(handle, "nvrtcGetPTX", library.ptx) &&
      resolve(handle, "nvrtcGetProgramLogSize", library.log_size) && resolve(handle, "nvrtcGetProgramLog", library.log) &&
      resolve(handle, "nvrtcDestroyProgram", library.destroy);
  if (!complete) return missing(path + " lacks functions of NVRTC");
  return library;
}

std::string text_of(Program program, int (*size)(Program, std::size_t*), int (*get)(Program, char*)) {
  std::size_t bytes = 0;
  if (size(program, &bytes) != 0 || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (get(program, text.data()) != 0) return {};
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

}  // namespace

Expected<NvrtcResult> compile_device_code(const std::string& source, int sm, const std::vector<std::string>& flags) {
  const auto text = read_file(source, 64ull << 20);
  if (!text) return Unexpected(text.error());
  const auto library = load();
  if (!library) return Unexpected(library.error());
  std::vector<const char*> names, contents;
  for (const Shim& shim : kShims) {
    names.push_back(shim.name);
    contents.push_back(shim.text);
  }
  std::error_code ignored;
  const std::filesystem::path toolkit = std::filesystem::canonical(find_nvrtc_library(), ignored).parent_path().parent_path();
  std::vector<std::string> options = {fmt::format("--gpu-architecture=compute_{}", target_of(sm, *text)), "--std=c++17", "-lineinfo", "--include-path=" + std::filesystem::path(source).parent_path().string()};
  for (const std::filesystem::path& include : {toolkit / "include", toolkit.parent_path().parent_path() / "include", toolkit.parent_path().parent_path() / "include" / "cccl", toolkit / "include" / "cccl"}) {
    if (std::filesystem::is_directory(include, ignored)) options.push_back("--include-path=" + include.string());
  }
  options.insert(options.end(), flags.begin(), flags.end());
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  Program program = nullptr;
  if (library->create(&program, text->c_str(), source.c_str(), static_cast<int>(names.size()), contents.data(), names.data()) != 0) {
    return fail(ErrorCode::failed, "NVRTC could not start on " + source);
  }
  NvrtcResult result;
  result.ok = library->compile(program, static_cast<int>(pointers.size()), pointers.data()) == 0;
  result.diagnostics = parse_diagnostics(text_of(program, library->log_size, library->log));
  for (Diagnostic& diagnostic : result.diagnostics) diagnostic.tool = "nvrtc";
  if (result.ok) result.ptx = text_of(program, library->ptx_size, library->ptx);
  library->destroy(&program);
  return result;
}

}  // namespace kforge::build
