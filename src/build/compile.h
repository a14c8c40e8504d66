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

struct CompileOutcome {
  bool ok = false;
  std::string limit;      // which limit was exceeded, in words; empty: none
  std::string output;     // stdout and stderr, in order
  double cpu_s = 0, wall_s = 0;
};
Expected<CompileOutcome> run_compiler(std::vector<std::string> arguments, const std::filesystem::path& folder, const Limits& limits);

// Into a private folder, where nobody looks at a half-written file: without waiting for the disk.
bool write_scratch(const std::filesystem::path& path, std::string_view text);

// The words for a limit that was met, "" when none was.
std::string exceeded_limit(bool ok, bool timed_out, std::string_view output, const Limits& limits);

// `names`, relative ones in `folder`, sorted and each once, without those inside `folder` or a folder of the system.
std::vector<std::string> user_files(const std::vector<std::string>& names, const std::filesystem::path& folder, const std::vector<std::string>& system_folders);

// Paths of a Makefile rule (-MD) that lie outside the folders of the toolkit and the system and outside `folder`, the
// compiler's private one (its files are generated, and what #line names is listed as well).
std::vector<std::string> user_dependencies(std::string_view rule, const std::filesystem::path& folder, const std::vector<std::string>& system_folders);

}  // namespace kforge::build
