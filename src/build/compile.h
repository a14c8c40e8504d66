// Running one compiler in a private folder: what candidates and references have in common.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "build/builder.h"

namespace kforge::build {

Expected<std::string> find_host_compiler();
std::string find_nvrtc_library();   // "" when there is none

// "NAME=value" of the variables that compilers need: PATH with the folder of `program` first, and where temporary files go.
std::vector<std::string> tool_environment(const std::string& program, const std::string& temporary_folder);

// The arguments with `env -i` and only those variables before them that compilers need: NVCC_APPEND_FLAGS or CPATH would
// change a build behind the cache's back.
std::vector<std::string> in_tool_environment(std::vector<std::string> arguments, const std::string& temporary_folder);

// Limits::seconds are the processor's, of each process of a build: how long that takes by the clock on the wall is the machine's affair. The wall has
// a limit of its own, against a machine that does not get on, and who meets it has not done anything wrong.
inline constexpr double kWallSeconds = 3600;

// How a compiler, or a driver of several, ended.
struct ToolEnd {
  bool ok = false, timed_out = false;   // timed_out: by the clock on the wall
  int exit_status = 0, signal = 0;
  double cpu_s = 0;                     // with its children
};

// Why a failed compiler failed, where it is not what it says about the source. In words; empty: that is not it.
struct Trouble {
  std::string limit;       // the source needs more than its limits
  std::string machine;     // the machine's: killed from outside, no space left, no end
  std::string crash;       // of the compiler itself
};
Trouble trouble_of(const ToolEnd& end, std::string_view all_output, const Limits& limits, const std::filesystem::path& folder);

// As resource limits have them.
std::uint64_t whole_seconds(double seconds);

struct CompileOutcome {
  bool ok = false;
  Trouble trouble;        // where it is not ok
  std::string output;     // stdout and stderr, in order
  double cpu_s = 0, wall_s = 0;
};
// A compiler that crashes is run once more: what happens twice is the source's doing.
Expected<CompileOutcome> run_compiler(std::vector<std::string> arguments, const std::filesystem::path& folder, const Limits& limits);

// Into a private folder, where nobody looks at a half-written file: without waiting for the disk.
bool write_scratch(const std::filesystem::path& path, std::string_view text);

// A failure that is the machine's, as an error.
Error machine_error(const std::string& what);

// `names`, relative ones in `folder`, sorted and each once, without those inside `folder` or a folder of the system.
std::vector<std::string> user_files(const std::vector<std::string>& names, const std::filesystem::path& folder, const std::vector<std::string>& system_folders);

// Paths of a Makefile rule (-MD) that lie outside the folders of the toolkit and the system and outside `folder`, the
// compiler's private one (its files are generated, and what #line names is listed as well).
// With `source`, and without the names that it is compiled under (wrapper.h).
std::vector<std::string> user_dependencies(std::string_view rule, const std::string& source, const std::filesystem::path& folder, const std::vector<std::string>& system_folders);

}  // namespace kforge::build
