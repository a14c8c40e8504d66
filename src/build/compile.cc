#include "build/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

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

std::vector<std::string> tool_environment(const std::string& program, const std::string& temporary_folder) {
  const char* path = std::getenv("PATH");
  const std::string bin = fs::path(program).parent_path().string();
  return {"PATH=" + bin + ":" + (path ? path : "/usr/local/bin:/usr/bin:/bin"), "LC_ALL=C", "TMPDIR=" + temporary_folder, "HOME=" + temporary_folder};
}

std::vector<std::string> in_tool_environment(std::vector<std::string> arguments, const std::string& temporary_folder) {
  std::vector<std::string> out = {"/usr/bin/env", "-i"};
  for (std::string& variable : tool_environment(arguments.front(), temporary_folder)) out.push_back(std::move(variable));
  for (std::string& argument : arguments) out.push_back(std::move(argument));
  return out;
}

bool write_scratch(const fs::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  return out.write(text.data(), static_cast<std::streamsize>(text.size())).flush().good();
}

std::string exceeded_limit(bool ok, bool timed_out, std::string_view output, const Limits& limits) {
  if (timed_out) return fmt::format("the build took longer than {}", human_seconds(limits.seconds));
  if (!ok && ran_out_of_memory(output)) return fmt::format("the build needed more than {} of memory", human_bytes(static_cast<double>(limits.memory_bytes)));
  return {};
}

Expected<CompileOutcome> run_compiler(std::vector<std::string> arguments, const fs::path& folder, const Limits& limits) {
  ProcessRequest request;
  request.arguments = in_tool_environment(std::move(arguments), folder.string());
  request.working_directory = folder;
  request.merge_output = true;
  request.limits = {.wall_seconds = limits.seconds, .cpu_seconds = {}, .memory_bytes = limits.memory_bytes, .output_bytes = 16ull << 20};
  auto result = run_process(request);
  if (!result) return Unexpected(result.error());
  CompileOutcome outcome{result->succeeded(), {}, std::move(result->out), result->cpu_seconds, result->wall_seconds};
  outcome.limit = exceeded_limit(outcome.ok, result->timed_out, outcome.output, limits);
  return outcome;
}

std::vector<std::string> user_dependencies(std::string_view rule, const fs::path& folder, const std::vector<std::string>& system_folders) {
  return user_files(rule_prerequisites(rule), folder, system_folders);
}

std::vector<std::string> user_files(const std::vector<std::string>& names, const fs::path& folder, const std::vector<std::string>& system_folders) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const std::string path = (fs::path(name).is_absolute() ? fs::path(name) : folder / name).lexically_normal().string();
    const auto inside = [&](const std::string& system) { return !system.empty() && path.starts_with(system + "/"); };
    if (inside(folder.string()) || std::any_of(system_folders.begin(), system_folders.end(), inside)) continue;
    if (std::find(out.begin(), out.end(), path) == out.end()) out.push_back(path);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace kforge::build
