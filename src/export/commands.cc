#include "export/commands.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/paths.h"
#include "base/text.h"
#include "build/builder.h"
#include "trial/worker_process.h"

namespace kforge::exporting {
namespace {

// The folder in which our runtime has the names of the toolkit's; "" where it is not there.
std::string runtime_folder(const std::string& toolkit_version) {
  const auto runtime = trial::find_emulated_runtime();
  if (!runtime) return {};
  const auto folder = std::filesystem::path(*runtime).parent_path() / (toolkit_version.starts_with("12.") ? "cudart12" : "cudart");
  std::error_code ignored;
  return std::filesystem::is_directory(folder, ignored) ? folder.string() : "";
}

}  // namespace

std::string shell_word(std::string_view text) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::string_view("_./=:,+@%-").find(c) != std::string_view::npos; };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  return "'" + replace_all(text, "'", "'\\''") + "'";
}

void add_commands(Exported& done) {
  const std::string folder = shell_word(done.folder), build = shell_word(done.folder + "/build");
  const auto tools = build::find_toolchain();
  std::string options;
  if (!find_program("make") && find_program("ninja")) options += " -G Ninja";   // CMake's own choice is make
  if (tools && !find_program("nvcc")) options += " " + shell_word("-DCMAKE_CUDA_COMPILER=" + tools->nvcc);
  done.build_command = fmt::format("cmake -S {} -B {}{} && cmake --build {}", folder, build, options, build);
  if (!done.has_test) return;
  done.test_command = fmt::format("ctest --test-dir {} --output-on-failure", build);
  if (const std::string runtime = runtime_folder(tools ? tools->version : ""); !runtime.empty()) done.emulated_test_command = "LD_LIBRARY_PATH=" + shell_word(runtime) + " " + done.test_command;
}

}  // namespace kforge::exporting
