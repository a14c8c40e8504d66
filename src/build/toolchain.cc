// Where the compilers are: $KFORGE_CUDA alone when it is set ("pinned": what `./forge` put into the project), else PATH, $CUDA_HOME,
// $CUDA_PATH, the usual folder and what `./forge` put there, in this order.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/paths.h"
#include "base/process.h"
#include "base/text.h"
#include "build/builder.h"
#include "build/compile.h"

namespace kforge::build {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> pinned_folders() {
  const auto root = project_root();
  if (!root) return {};
  return {*root / ".kforge" / "cuda", *root / ".kforge" / "cuda" / "nvidia" / "cu13"};
}

std::string chosen() {
  const char* value = std::getenv("KFORGE_CUDA");
  return value ? value : "";
}

std::vector<fs::path> cuda_folders() {
  if (const std::string folder = chosen(); folder == "pinned") return pinned_folders();
  else if (!folder.empty()) return {folder};
  std::vector<fs::path> out;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* value = std::getenv(name); value && *value) out.emplace_back(value);
  }
  out.emplace_back("/usr/local/cuda");
  for (fs::path& folder : pinned_folders()) out.push_back(std::move(folder));
  return out;
}

std::optional<fs::path> find_nvcc() {
  if (chosen().empty()) {
    if (auto found = find_program("nvcc")) return found;
  }
  for (const fs::path& folder : cuda_folders()) {
    if (auto found = find_program((folder / "bin" / "nvcc").string())) return found;
  }
  return std::nullopt;
}

std::string where_looked() {
  const std::string folder = chosen();
  if (folder == "pinned") return "the project's .kforge/cuda, as $KFORGE_CUDA says";
  return folder.empty() ? "PATH, $CUDA_HOME, /usr/local/cuda and the project's .kforge/cuda" : folder + "/bin, as $KFORGE_CUDA says";
}

std::string find_nvrtc(const std::string& nvcc) {
  std::vector<fs::path> folders = cuda_folders();
  std::error_code error;
  if (!nvcc.empty()) folders.insert(folders.begin(), fs::canonical(nvcc, error).parent_path().parent_path());
  for (const fs::path& folder : folders) {
    for (const char* name : {"lib64/libnvrtc.so.13", "lib/libnvrtc.so.13", "lib64/libnvrtc.so", "lib/libnvrtc.so"}) {
      if (fs::exists(folder / name, error)) return (folder / name).string();
    }
  }
  return {};
}

// "13.0.88" out of "Cuda compilation tools, release 13.0, V13.0.88".
std::string version_in(std::string_view text) {
  const std::size_t at = text.find(", V");
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + 3);
  return std::string(rest.substr(0, rest.find_first_of(" \r\n")));
}

}  // namespace

Expected<std::string> find_host_compiler() {
  for (const char* name : {"g++", "c++", "clang++"}) {
    if (const auto found = find_program(name)) return found->string();
  }
  return fail(ErrorCode::missing, "no C++ compiler was found (looked for g++, c++, clang++ in PATH)", {}, "install g++ (Debian: apt-get install g++)");
}

std::string find_nvrtc_library() { return find_nvrtc(find_nvcc().value_or(fs::path{}).string()); }

Expected<Toolchain> find_toolchain() {
  const auto nvcc = find_nvcc();
  if (!nvcc) {
    return fail(ErrorCode::missing, "no nvcc was found (looked in " + where_looked() + ")", {},
                "run ./forge once, which fetches the CUDA 13.0 compiler parts, or install the CUDA toolkit 13.0");
  }
  const auto host = find_host_compiler();
  if (!host) return Unexpected(host.error());
  const auto version = run_process({.arguments = in_tool_environment({nvcc->string(), "--version"}, "/tmp"), .environment = {},
                                    .working_directory = {}, .stdin_text = {}, .merge_output = true, .limits = {.wall_seconds = 30, .cpu_seconds = {}, .memory_bytes = {}}});
  if (!version) return Unexpected(version.error());
  Toolchain toolchain{nvcc->string(), version_in(version->out), *host, find_nvrtc(nvcc->string())};
  if (toolchain.version.empty()) {
    return fail(ErrorCode::failed, nvcc->string() + " does not tell its version (" + describe_end(*version) + ")", {}, "reinstall the CUDA toolkit 13.0");
  }
  return toolchain;
}

}  // namespace kforge::build
