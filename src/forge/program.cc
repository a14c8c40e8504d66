// `run`: build or take the program, start it with our runtime in the place of NVIDIA's, read what the runtime saw.
#include "kforge/program.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/files.h"
#include "base/foreground.h"
#include "base/held_directory.h"
#include "base/paths.h"
#include "base/text.h"
#include "build/compile.h"
#include "build/program.h"
#include "evidence/unsupported.h"
#include "forge/target.h"
#include "forge/program_report.h"
#include "trial/worker_process.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;

constexpr int kFindings = 86, kCannotRun = 125;
constexpr const char* kWhatRuns = "sources end in .cu, .cpp, .cc, .cxx or .c; a program is a file that may be executed (chmod +x), by its path or on $PATH";
constexpr int kOldestRuntime = 12, kNewestRuntime = 13;

// Why the existing program cannot use our runtime; none when it can, or does not say.
Expected<build::BinaryFacts> check_binary(const std::string& path) {
  auto facts = build::inspect_binary(path);
  if (!facts) return facts;
  if (facts->static_runtime && facts->runtime == 0)
    return fail(ErrorCode::unsupported, "the program holds device code and links the CUDA runtime statically, so that no other can take its place", {path},
                "build it with nvcc -cudart shared, or give its sources to kforge run");
  if (facts->runtime != 0 && (facts->runtime < kOldestRuntime || facts->runtime > kNewestRuntime))
    return fail(ErrorCode::unsupported, fmt::format("the program was built for libcudart.so.{}; the emulated runtime stands in for {} and {}", facts->runtime, kOldestRuntime, kNewestRuntime),
                {path}, "build it with CUDA 12 or 13");
  return facts;
}

struct Target {
  std::string path;
  int runtime = kNewestRuntime;
  bool uses_nvrtc = false;
};

Expected<void> find_existing(const ProgramOptions& options, Target& target) {
  if (options.files.size() > 1)
    return fail(ErrorCode::bad_input, "two programs cannot be run at once", {options.files[1]}, "put -- before the program's own arguments");
  std::error_code ignored;
  if (target.path.find('/') == std::string::npos && !fs::exists(target.path, ignored)) {
    const auto found = find_program(target.path);
    if (!found) return fail(ErrorCode::bad_input, "there is no such source file, nor a program of that name", {target.path}, kWhatRuns);
    target.path = found->string();
  }
  target.path = fs::absolute(target.path, ignored).string();
  if (!fs::exists(target.path, ignored)) return fail(ErrorCode::bad_input, "there is no such program", {target.path}, kWhatRuns);
  if (fs::is_directory(target.path, ignored)) return fail(ErrorCode::bad_input, "this is a folder, and a source or a program was expected", {target.path}, kWhatRuns);
  if (::access(target.path.c_str(), X_OK) != 0) return fail(ErrorCode::bad_input, "this is neither a source, by its name, nor a program: it cannot be executed", {target.path}, kWhatRuns);
  return {};
}

// The sources built, or the program as it is. An empty path: it did not build, and `run` says why.
Expected<Target> target_of(const ProgramOptions& options, const hardware::DataSheet& sheet, ProgramRun& run) {
  Target target;
  target.path = options.files.front();
  if (build::is_program_source(target.path)) {
    build::ProgramRequest request;
    request.sources = options.files;
    request.flags = options.build_flags;
    request.sm = sheet.sm();
    auto program = build::build_program(request);
    if (!program) return Unexpected(program.error());
    run.build_seconds = program->seconds;
    run.build_output = std::move(program->output);
    target.path = program->ok ? program->path : "";
    if (!program->ok) return target;
  } else if (auto found = find_existing(options, target); !found) return Unexpected(found.error());
  const auto facts = check_binary(target.path);
  if (!facts) return Unexpected(facts.error());
  if (facts->runtime != 0) target.runtime = facts->runtime;
  for (const std::string& library : facts->libraries) target.uses_nvrtc |= library.starts_with("libnvrtc.so");
  return target;
}

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const bool replaced = std::any_of(variables.begin(), variables.end(), [&](const auto& v) { return std::string_view(*entry).starts_with(v.first + "="); });
    if (!replaced) out.emplace_back(*entry);
  }
  for (const auto& [name, value] : variables) out.push_back(name + "=" + value);
  return out;
}

std::string before_path(const std::string& folder, const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr || *value == 0 ? folder : folder + ":" + value;
}

// ":FOLDER" of the toolkit's other libraries (NVRTC), which are not always where the loader looks.
std::string toolkit_libraries() {
  const std::string library = build::find_nvrtc_library();
  return library.empty() ? "" : ":" + fs::path(library).parent_path().string();
}

// How the program ended, as the shell would say it.
int own_exit_code(const ForegroundResult& result) { return result.signal != 0 ? 128 + result.signal : result.exit_status; }

void add_notes(const ForegroundResult& ended, const forge::ProgramReport& report, const ProgramOptions& options, ProgramRun& run) {
  if (ended.timed_out) run.notes.push_back(fmt::format("the program was stopped after {}", human_seconds(options.limit_seconds)));
  else if (ended.signal != 0) run.notes.push_back(fmt::format("the program was ended by signal {} ({})", ended.signal, strsignal(ended.signal)));
  if (ended.signal == SIGSEGV) run.notes.emplace_back("host code that reads or writes through a device pointer ends like this, here as on a GPU");
  if (report.any && !report.complete && !ended.timed_out && ended.signal == 0)
    run.notes.emplace_back("the program ended without running its exit handlers: the figures may lack the last kernels");
  if (!report.damaged.empty()) run.notes.push_back("what the runtime saw of a process is not known, and so not whether it is right: its report " + report.damaged);
  for (const evidence::Violation& violation : report.log.violations)
    if (violation.contract == "run.crash") run.notes.push_back(violation.message);
  for (const evidence::Unproven& unproven : report.log.unproven) run.notes.push_back(unproven.why);
}

void take_report(const forge::ProgramReport& report, const forge::CheckChoice& checks, const ProgramOptions& options, ProgramRun& run) {
  run.launches = report.launches;
  run.thread_instructions = report.thread_instructions;
  run.device_seconds = report.seconds;
  run.kernels = report.log.kernels.size();
  run.findings = forge::program_findings(report, checks, options.files.front());
  run.unsupported = evidence::unsupported_instruction(report.log);
  if (options.profile) run.profile_json = forge::profile_json(report, options.gpu);
}

int answer(const ProgramRun& run, const forge::CheckChoice& checks, const ForegroundResult& ended, bool is_known) {
  if (!run.unsupported.empty()) return kCannotRun;
  const bool wrong = std::any_of(run.findings.begin(), run.findings.end(), [](const Finding& f) { return f.severity == Severity::error; });
  if (wrong || (ended.timed_out && !checks.contracts.empty())) return kFindings;
  if (!is_known && !checks.contracts.empty()) return kCannotRun;
  return own_exit_code(ended);
}

}  // namespace

Expected<ProgramRun> run_program(const ProgramOptions& options) {
  if (options.files.empty()) return fail(ErrorCode::bad_input, "no program was named");
  const auto gpu = forge::open_target(options.gpu, "");
  if (!gpu) return Unexpected(gpu.error());
  const auto checks = forge::choose_checks(options.checks);
  if (!checks) return Unexpected(checks.error());
  const auto runtime = trial::find_emulated_runtime();
  if (!runtime) return Unexpected(runtime.error());
  ProgramRun run;
  const auto target = target_of(options, gpu->sheet, run);
  if (!target) return Unexpected(target.error());
  if (target->path.empty()) {
    run.exit_code = kCannotRun;
    return run;
  }
  const auto folder = HeldDirectory::create("kforge-run");
  if (!folder) return Unexpected(folder.error());
  const nlohmann::json wanted = {{"sheet", gpu->sheet_name}, {"safety", checks->needs_observers}, {"forgiving", checks->contracts.empty() && !checks->needs_observers}, {"profile", options.profile},
                                 {"seed", options.seed}, {"sites", !checks->contracts.empty()}, {"instructions", options.limit_instructions}, {"report", folder->path().string()}};
  const std::string libraries = (fs::path(*runtime).parent_path() / (target->runtime == kNewestRuntime ? "cudart" : "cudart12")).string();
  ForegroundRequest request;
  request.arguments = {target->path};
  request.arguments.insert(request.arguments.end(), options.arguments.begin(), options.arguments.end());
  std::vector<std::pair<std::string, std::string>> variables = {{"LD_LIBRARY_PATH", before_path(libraries, "LD_LIBRARY_PATH") + toolkit_libraries()}, {"KFORGE_RUN", wanted.dump()}};
  if (target->uses_nvrtc) variables.emplace_back("LD_PRELOAD", before_path((fs::path(*runtime).parent_path() / "libkforge_nvrtc.so").string(), "LD_PRELOAD"));
  request.environment = environment_with(variables);
  if (options.limit_seconds > 0) request.wall_seconds = options.limit_seconds;
  const auto ended = run_in_foreground(request);
  if (!ended) return Unexpected(ended.error());
  run.started = true;
  run.program_seconds = ended->wall_seconds;
  const forge::ProgramReport report = forge::read_program_report(folder->path());
  take_report(report, *checks, options, run);
  add_notes(*ended, report, options, run);
  run.exit_code = answer(run, *checks, *ended, report.damaged.empty());
  return run;
}

}  // namespace kforge
