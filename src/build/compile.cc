#include "build/compile.h"

#include <fmt/format.h>

#include <signal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>

#include "base/process.h"
#include "base/text.h"
#include "build/wrapper.h"

namespace kforge::build {
namespace {

namespace fs = std::filesystem;

bool says(std::string_view output, std::initializer_list<std::string_view> signs) {
  return std::any_of(signs.begin(), signs.end(), [&](std::string_view sign) { return output.find(sign) != std::string_view::npos; });
}

// What compilers print, or nvcc prints of them, when memory is refused.
bool ran_out_of_memory(std::string_view output) {
  return says(output, {"out of memory", "virtual memory exhausted", "Cannot allocate memory", "instance of 'std::bad_alloc'", "memory exhausted"});
}

bool used_up_its_time(const ToolEnd& end, std::string_view output, const Limits& limits) {
  const bool killed = end.signal == SIGKILL || end.exit_status == 128 + SIGKILL;   // so end those that let SIGXCPU pass by
  return end.signal == SIGXCPU || end.exit_status == 128 + SIGXCPU || (killed && end.cpu_s >= limits.seconds) ||
         says(output, {"Internal error: CPU time limit exceeded", "CPU time limit exceeded signal terminated program"});   // cudafe++ and cicc; g++
}

// The signal by which somebody outside ended a compiler, 0 when that is not it. nvcc starts its steps through a shell, which tells a signal by an exit status; g++ says it.
int killing_signal(const ToolEnd& end, std::string_view output) {
  struct Row { int signal; std::string_view said; };
  constexpr std::array<Row, 5> kOutside = {{{SIGKILL, "fatal error: Killed signal terminated program"}, {SIGTERM, "fatal error: Terminated signal terminated program"},
      {SIGINT, "fatal error: Interrupt signal terminated program"}, {SIGHUP, "fatal error: Hangup signal terminated program"}, {SIGQUIT, "fatal error: Quit signal terminated program"}}};
  for (const Row& row : kOutside)
    if (end.signal == row.signal || end.exit_status == 128 + row.signal || says(output, {row.said, fmt::format("' died due to signal {} ", row.signal)})) return row.signal;
  return 0;
}

int crash_signal(const ToolEnd& end, std::string_view output) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGILL, SIGBUS, SIGFPE})
    if (end.signal == signal || end.exit_status == 128 + signal || says(output, {fmt::format("' died due to signal {} ", signal)})) return signal;
  return says(output, {"internal compiler error:"}) ? SIGABRT : 0;
}

// Without the lines that quote the source, which both compilers set in: what it or an #error says is no sign of anything.
std::string without_quotes(std::string_view output) {
  std::string out;
  for (const std::string_view line : split_lines(output)) {
    const bool quoted = line.starts_with("  ") || says(line, {"#error", "static assertion", "#warning"});
    if (!quoted) out.append(line).append("\n");
  }
  return out;
}

// Why a file of a megabyte cannot be written into the compilers' folder, as errno says it; 0: it can.
int space_fault(const fs::path& folder) {
  const fs::path probe = folder / "space";
  errno = 0;
  const int fault = write_scratch(probe, std::string(1 << 20, ' ')) ? 0 : errno != 0 ? errno : ENOSPC;
  std::error_code ignored;
  fs::remove(probe, ignored);
  return fault;
}

// What keeps the compilers from writing their files; "" when nothing does, as far as can be seen.
std::string write_fault(const ToolEnd& end, std::string_view output, const fs::path& folder) {
  constexpr const char* kTooLarge = "a file of the build would be larger than files may be here (ulimit -f)";
  if (end.signal == SIGXFSZ || end.exit_status == 128 + SIGXFSZ || says(output, {"File size limit exceeded signal terminated program", fmt::format("' died due to signal {} ", SIGXFSZ), "File too large"})) return kTooLarge;
  const bool told = says(output, {"No space left on device", "Disk quota exceeded", "Read-only file system"});
  const int fault = told ? ENOSPC : space_fault(folder);
  return fault == 0 ? "" : fault == EFBIG ? kTooLarge : "there is no space left in " + folder.parent_path().string();
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

std::uint64_t whole_seconds(double seconds) { return static_cast<std::uint64_t>(std::ceil(std::max(1.0, seconds))); }

Trouble trouble_of(const ToolEnd& end, std::string_view all_output, const Limits& limits, const fs::path& folder) {
  if (end.ok) return {};
  const std::string output = without_quotes(all_output);
  if (used_up_its_time(end, output, limits)) return {fmt::format("the build took longer than {} of processor time", human_seconds(limits.seconds)), {}, {}};
  if (end.timed_out) return {{}, fmt::format("the build did not end within {}, and had used {} of the processor: the machine is too busy", human_seconds(kWallSeconds), human_seconds(end.cpu_s)), {}};
  if (const int signal = killing_signal(end, output); signal != 0)
    return {{}, fmt::format("a compiler was killed from outside by signal {} ({}){}", signal, ::strsignal(signal), signal == SIGKILL ? ", most likely because the machine ran out of memory" : ""), {}};
  if (std::string fault = write_fault(end, output, folder); !fault.empty()) return {{}, std::move(fault), {}};
  if (ran_out_of_memory(output)) return {fmt::format("the build needed more than {} of memory", human_bytes(static_cast<double>(limits.memory_bytes))), {}, {}};
  if (const int signal = crash_signal(end, output); signal != 0) return {{}, {}, fmt::format("a compiler crashes on this source by signal {} ({})", signal, ::strsignal(signal))};
  return {};
}

Error machine_error(const std::string& what) {
  return {ErrorCode::failed, "the build could not be done on this machine: " + what, {}, "this says nothing about the source: free memory or disk space (KFORGE_CACHE names another folder), raise what ulimit allows, and run again"};
}

Expected<CompileOutcome> run_compiler(std::vector<std::string> arguments, const fs::path& folder, const Limits& limits) {
  ProcessRequest request;
  request.arguments = in_tool_environment(std::move(arguments), folder.string());
  request.working_directory = folder;
  request.merge_output = true;
  request.limits = {.wall_seconds = kWallSeconds, .cpu_seconds = whole_seconds(limits.seconds), .memory_bytes = limits.memory_bytes, .output_bytes = 16ull << 20};
  CompileOutcome outcome;
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto result = run_process(request);
    if (!result) return Unexpected(result.error());
    outcome.ok = result->succeeded();
    outcome.trouble = trouble_of({outcome.ok, result->timed_out, result->exit_status, result->signal, result->cpu_seconds}, result->out, limits, folder);
    outcome.output = std::move(result->out);
    outcome.cpu_s += result->cpu_seconds;
    outcome.wall_s += result->wall_seconds;
    if (outcome.trouble.crash.empty()) break;
  }
  return outcome;
}

std::vector<std::string> user_dependencies(std::string_view rule, const std::string& source, const fs::path& folder, const std::vector<std::string>& system_folders) {
  std::vector<std::string> names = rule_prerequisites(rule);
  if (names.empty()) return {};   // no rule: what was read is not known
  for (std::string& name : names) name = user_path(name, source, folder);
  names.push_back(source);
  return user_files(names, folder, system_folders);
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
