// Running one compiler in a private folder: what candidates and references have in common.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "build/builder.h"

namespace kforge::build {

Expected<std::string> find_host_compiler();
std::string find_nvrtc_library();   // "" when there is none

// The arguments with `env -i` and only those variables before them that compilers need: NVCC_APPEND_FLAGS or CPATH would
// change a build behind the cache's back.
std::vector<std::string> in_tool_environment(std::vector<std::string> arguments, const std::string& temporary_folder);

struct CompileOutcome {
  bool ok = false;
  std::string limit;      // which limit was exceeded, in words; empty: none
  std::string output;     // stdout and stderr, in order
};
Expected<CompileOutcome> run_compiler(std::vector<std::string> arguments, const std::filesystem::path& folder, const Limits& limits);

// Paths of a Makefile rule (-MD) that lie outside the folders of the toolkit and the system and outside `folder`, the
// compiler's private one (its files are generated, and what #line names is listed as well).
std::vector<std::string> user_dependencies(std::string_view rule, const std::filesystem::path& folder, const std::vector<std::string>& system_folders);

}  // namespace kforge::build
