#include "trial/trial.h"

#include <fmt/format.h>

#include <chrono>
#include <future>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "ptx/checks.h"
#include "ptx/parser.h"
#include "task/formula.h"
#include "trial/emulate.h"
#include "trial/worker_process.h"

namespace kforge::trial {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Rung skipped(std::string name, std::string why) { return {std::move(name), RungStatus::skipped, 0, std::move(why)}; }

std::string first_error(const build::Artefact& artefact) {
  for (const build::Diagnostic& diagnostic : artefact.diagnostics) {
    if (diagnostic.severity == build::Severity::error) return to_string(Where{diagnostic.file, diagnostic.line, diagnostic.column}) + ": " + diagnostic.message;
  }
  return "the compiler gave no reason";
}

Rung build_rung(const build::Artefact& artefact, double seconds) {
  return {"build", artefact.ok ? RungStatus::passed : RungStatus::failed, seconds, artefact.ok ? std::string() : first_error(artefact)};
}

// Reads the PTX and asks what the target lacks.
Rung static_rung(const TrialRequest& request, TrialResult& result) {
  const auto start = Clock::now();
  Rung rung{"static", RungStatus::passed, 0, {}};
  if (result.artefact.ptx_path.empty()) {
    result.ptx_error = "the object holds no PTX";
  } else if (const auto text = read_file(result.artefact.ptx_path); !text) {
    result.ptx_error = to_string(text.error());
  } else if (auto module = ptx::parse(*text, result.artefact.ptx_path); !module) {
    result.ptx_error = to_string(module.error());
  } else {
    result.module = std::make_shared<const ptx::Module>(std::move(*module));
    const auto issues = ptx::check_target(*result.module, static_cast<std::uint32_t>(request.sheet.sm()));
    if (!issues.empty()) {
      rung.status = RungStatus::failed;
      rung.why = fmt::format("{} needs sm_{}, the target is sm_{} ({} such places)", issues[0].opcode, issues[0].needed_sm, request.sheet.sm(), issues.size());
    }
  }
  if (!result.ptx_error.empty()) {
    rung.status = RungStatus::unknown;
    rung.why = result.ptx_error;
  }
  rung.seconds = seconds_since(start);
  return rung;
}

struct Builds { build::Artefact candidate, reference; };

// Both compilers at once: they are most of a cold trial's time.
Expected<Builds> build_both(const TrialRequest& request) {
  const task::Task& task = *request.task;
  auto reference = std::async(std::launch::async, [&]() -> Expected<build::Artefact> {
    build::ReferenceRequest wanted;
    wanted.source = task.reference;
    if (!task.formula.empty()) {
      auto written = task::formula::write_reference(task);
      if (!written) return Unexpected(written.error());
      wanted.source = *written;
    }
    wanted.interface = reference_interface_of(task);
    wanted.costs = request.costs;
    return build::build_reference(wanted);
  });
  build::CandidateRequest wanted;
  wanted.source = request.candidate;
  wanted.interface = interface_of(task);
  wanted.sm = request.sheet.sm();
  wanted.flags = task.flags;
  wanted.server = request.compile_server;
  wanted.costs = request.costs;
  auto candidate = build::build_candidate(wanted);
  auto built = reference.get();
  if (!candidate) return Unexpected(candidate.error());
  if (!built) return Unexpected(built.error());
  return Builds{std::move(*candidate), std::move(*built)};
}

Expected<EmulateOptions> emulate_options(const TrialRequest& request, const Builds& builds) {
  auto cases = task::make_cases(*request.task, {.seed = request.seed, .with_measure = true, .tile_sizes = {}});
  if (!cases) return Unexpected(cases.error());
  const auto program = find_worker_program(), runtime = find_emulated_runtime();
  if (!program) return Unexpected(program.error());
  if (!runtime) return Unexpected(runtime.error());
  EmulateOptions options;
  options.cases = std::move(*cases);
  options.candidate.program = options.reference.program = *program;
  options.candidate.memory_bytes = options.reference.memory_bytes = request.budget.memory_bytes;
  options.candidate.start_seconds = options.reference.start_seconds = request.budget.call_seconds;
  options.candidate.runtime = *runtime;
  options.candidate.object = builds.candidate.shared_object;
  options.candidate.costs = options.reference.costs = request.costs;
  options.candidate.configure = nlohmann::json{{"sheet", request.sheet_name.empty() ? request.sheet.name : request.sheet_name}, {"safety", true}, {"profile", true}, {"seed", request.seed}}.dump();
  options.reference.reference = true;
  options.reference.object = builds.reference.shared_object;
  return options;
}

}  // namespace

Expected<TrialResult> run_trial(const TrialRequest& request, const std::function<void(const CallEvidence&)>& on_call) {
  if (!request.task) return fail(ErrorCode::bad_input, "a trial needs a task");
  const auto progress = [&](std::string_view line) {
    if (request.progress) request.progress(line);
  };
  const auto start = Clock::now();
  progress("build " + request.candidate);
  auto builds = [&] {
    const StageTimer timer(request.costs, "build");
    return build_both(request);
  }();
  const StageTimer timer(request.costs, "trial");
  if (!builds) return Unexpected(builds.error());
  TrialResult result;
  result.artefact = builds->candidate;
  result.rungs.push_back(build_rung(result.artefact, seconds_since(start)));
  if (!result.artefact.ok) {
    for (const char* name : {"static", "emulate", "correct"}) result.rungs.push_back(skipped(name, "the candidate did not build"));
    return result;
  }
  progress("static");
  result.rungs.push_back(static_rung(request, result));
  const auto options = emulate_options(request, *builds);
  if (!options) return Unexpected(options.error());
  auto emulated = emulate(request, *options, on_call);
  if (!emulated) return Unexpected(emulated.error());
  result.rungs.push_back(std::move(*emulated));
  result.rungs.push_back(skipped("correct", "this needs a GPU; the rung emulate ran all sizes on the emulated one"));
  return result;
}

}  // namespace kforge::trial
