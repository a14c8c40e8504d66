#include "build/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/process.h"
#include "base/text.h"

namespace kforge::build {
namespace {

namespace fs = std::filesystem;

// What compilers print, or nvcc prints of them, when memory is refused.
bool ran_out_of_memory(std::string_view output) {
  constexpr std::array<std::string_view, 9> kSigns = {"out of memory", "virtual memory exhausted", "Cannot allocate memory", "bad_alloc",
      "died due to signal 9", "died due to signal 6", "Killed signal", "memory exhausted", "LLVM ERROR: out of memory"};
  return std::any_of(kSigns.begin(), kSigns.end(), [&](std::string_view sign) { return output.find(sign) != std::string_view::npos; });
}

// "target: a b \<newline> c" with "\ " for a space in a name.
std::vector<std::string> rule_prerequisites(std::string_view rule) {
  std::vector<std::string> out;
  std::string word;
  const std::size_t start = rule.find(": ");
  for (std::size_t i = start == std::string_view::npos ? rule.size() : start + 2; i <= rule.size(); ++i) {
    const char c = i < rule.size() ? rule[i] : '\n';
    if (c == '\\' && i + 1 < rule.size() && (rule[i + 1] == ' ' || rule[i + 1] == '#' || rule[i + 1] == '\\')) word += rule[++i];
    else if (c == '$' && i + 1 < rule.size() && rule[i + 1] == '$') word += rule[++i];
    else if (c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\\') {
      if (!word.empty()) out.push_back(std::move(word));
      word.clear();
    } else word += c;
  }
  return out;
}

}  // namespace

std::vector<std::string> in_tool_environment(std::vector<std::string> arguments, const std::string& temporary_folder) {
  const char* path = std::getenv("PATH");
  const std::string bin = fs::path(arguments.front()).parent_path().string();
  const std::vector<std::string> before = {"/usr/bin/env", "-i", "PATH=" + bin + ":" + (path ? path : "/usr/local/bin:/usr/bin:/bin"), "LC_ALL=C",
                                           "TMPDIR=" + temporary_folder, "HOME=" + temporary_folder};
  arguments.insert(arguments.begin(), before.begin(), before.end());
  return arguments;
}

Expected<CompileOutcome> run_compiler(std::vector<std::string> arguments, const fs::path& folder, const Limits& limits) {
  ProcessRequest request;
  request.arguments = in_tool_environment(std::move(arguments), folder.string());
  request.working_directory = folder;
  request.merge_output = true;
  request.limits = {.wall_seconds = limits.seconds, .cpu_seconds = {}, .memory_bytes = limits.memory_bytes, .output_bytes = 16ull << 20};
  auto result = run_process(request);
  if (!result) return Unexpected(result.error());
  CompileOutcome outcome{result->succeeded(), {}, std::move(result->out)};
  if (result->timed_out) outcome.limit = fmt::format("the build took longer than {}", human_seconds(limits.seconds));
  else if (!outcome.ok && ran_out_of_memory(outcome.output)) outcome.limit = fmt::format("the build needed more than {} of memory", human_bytes(static_cast<double>(limits.memory_bytes)));
  return outcome;
}

std::vector<std::string> user_dependencies(std::string_view rule, const fs::path& folder, const std::vector<std::string>& system_folders) {
  std::vector<std::string> out;
  for (const std::string& name : rule_prerequisites(rule)) {
    const std::string path = (fs::path(name).is_absolute() ? fs::path(name) : folder / name).lexically_normal().string();
    const auto inside = [&](const std::string& system) { return !system.empty() && path.starts_with(system + "/"); };
    if (inside(folder.string()) || std::any_of(system_folders.begin(), system_folders.end(), inside)) continue;
    if (std::find(out.begin(), out.end(), path) == out.end()) out.push_back(path);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace kforge::build
