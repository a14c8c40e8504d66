#include "trial/trial.h"

#include <fmt/format.h>

#include <chrono>
#include <future>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/files.h"
#include "ptx/checks.h"
#include "ptx/parser.h"
#include "trial/correct.h"
#include "trial/emulate.h"
#include "trial/time_candidates.h"
#include "trial/tools.h"
#include "trial/worker_process.h"

namespace kforge::trial {
namespace {

using Clock = std::chrono::steady_clock;
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
    if (request.sampled_only) return build::Artefact();   // nothing is compared
    return build_task_reference(task, request.costs);
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
  if (!candidate) {
    Error error = candidate.error();
    if (error.code == ErrorCode::bad_input && error.where.file.empty()) error.where.file = task.path;   // the task's flags
    return Unexpected(std::move(error));
  }
  if (!built) return Unexpected(built.error());
  return Builds{std::move(*candidate), std::move(*built)};
}

Expected<EmulateOptions> emulate_options(const TrialRequest& request, const Builds& builds) {
  auto cases = task::make_cases(*request.task, {.seed = request.seed, .with_measure = true, .tile_sizes = {}, .fresh_seed = request.defences.on(Defence::seeds) ? request.fresh_seed : 0});
  if (!cases) return Unexpected(cases.error());
  if (!request.defences.on(Defence::sizes)) std::erase_if(*cases, [](const task::Case& run) { return !run.measure; });
  if (!request.defences.on(Defence::repeat))
    for (task::Case& run : *cases) run.calls = 1;
  auto workers = worker_options(request, builds.reference.shared_object);
  if (!workers) return Unexpected(workers.error());
  EmulateOptions options;
  options.cases = std::move(*cases);
  options.candidate = std::move(workers->candidate);
  options.reference = std::move(workers->reference);
  options.candidate.object = builds.candidate.shared_object;
  return options;
}

Rung time_rung(const std::vector<Timing>& times, double seconds) {
  Rung rung{"time", RungStatus::passed, seconds, {}};
  for (const Timing& timing : times) {
    if (!timing.name.empty() || (timing.failure.empty() && timing.dishonest.empty())) continue;
    rung.status = timing.failure.empty() ? RungStatus::failed : RungStatus::unknown;
    rung.why = fmt::format("{}: {}", timing.label, timing.failure.empty() ? timing.dishonest.front() : timing.failure);
    break;
  }
  return rung;
}

Expected<void> run_on_gpu(const TrialRequest& request, const Builds& builds, const EmulateOptions& emulated, TrialResult& result, const std::function<void(const CallEvidence&)>& on_call) {
  const auto lock = lock_gpu(request.gpu->device);
  if (!lock) return Unexpected(lock.error());
  GpuWatch watch(*request.gpu);
  if (auto well = watch.well(); !well) return well;
  const bool timed = request.profile && request.time.wanted;
  const auto correct = correct_on_gpu(request, {on_gpu(emulated.candidate, *request.gpu), emulated.reference, emulated.cases, timed, &watch}, on_call);
  if (!correct) return Unexpected(correct.error());
  result.rungs.push_back(*correct);
  if (!timed) {
    result.rungs.push_back(skipped("time", "it was not asked for"));
    return {};
  }
  if (request.worth_timing && !request.worth_timing()) {
    result.rungs.push_back(skipped("time", "the candidate is rejected already: a wrong kernel has no time"));
    return {};
  }
  if (request.sanitize) {
    const auto sanitized = sanitize_on_gpu(request, on_gpu(emulated.candidate, *request.gpu), emulated.cases, on_call);
    if (!sanitized) return Unexpected(sanitized.error());
    result.rungs.push_back(*sanitized);
  }
  const auto start = Clock::now();
  std::vector<Contestant> contestants = {{"", builds.candidate.shared_object, {}, {}, {}, builds.candidate.starts_threads, {}, kernels_to_expect(*request.task, builds.candidate)}};
  if (auto built = build_baselines(request, contestants); !built) return Unexpected(built.error());
  TimeRequest wanted = time_request(request, std::move(contestants), emulated.candidate, emulated.reference);
  wanted.watch = &watch;
  auto times = time_contestants(wanted, [&](std::size_t contestant, const CallEvidence& call) {
    if (contestant == 0) on_call(call);
    else if (request.on_baseline) request.on_baseline(wanted.contestants[contestant].name, call);
  });
  if (!times) return Unexpected(times.error());
  if (auto well = watch.well(); !well) return well;
  for (TimedContestant& one : *times) result.times.push_back(std::move(one.timing));
  result.rungs.push_back(time_rung(result.times, seconds_since(start)));
  if (request.counters) {
    const auto profiled = profile_on_gpu(request, on_gpu(emulated.candidate, *request.gpu), result);
    if (!profiled) return Unexpected(profiled.error());
    result.rungs.push_back(*profiled);
  }
  return {};
}

// The measure sizes' times alone; the device is held for their samples only, which time_contestants sees to.
Expected<void> glance_on_gpu(const TrialRequest& request, const Builds& builds, const EmulateOptions& emulated, TrialResult& result, const std::function<void(const CallEvidence&)>& on_call) {
  const auto start = Clock::now();
  auto times = time_contestants(time_request(request, {{"", builds.candidate.shared_object, {}, {}, {}}}, emulated.candidate, emulated.reference),
                                [&](std::size_t, const CallEvidence& call) { on_call(call); });
  if (!times) return Unexpected(times.error());
  for (TimedContestant& one : *times) result.times.push_back(std::move(one.timing));
  result.rungs.push_back(time_rung(result.times, seconds_since(start)));
  return {};
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
    for (const char* name : {"static", "emulate", "correct", "time"}) {
      if (name != std::string_view("time") || request.gpu) result.rungs.push_back(skipped(name, "the candidate did not build"));
    }
    return result;
  }
  if (request.worth_running && !request.worth_running(result.artefact)) {
    for (const char* name : {"static", "emulate", "correct", "time"}) {
      if (name != std::string_view("time") || request.gpu) result.rungs.push_back(skipped(name, "it is known what this code does"));
    }
    return result;
  }
  progress("static");
  result.rungs.push_back(static_rung(request, result));
  const auto options = emulate_options(request, *builds);
  if (!options) return Unexpected(options.error());
  if (request.gpu && request.time.glance) {
    for (const char* name : {"emulate", "correct"}) result.rungs.push_back(skipped(name, "only the time was asked for"));
    if (auto done = glance_on_gpu(request, *builds, *options, result, on_call); !done) return Unexpected(done.error());
    return result;
  }
  auto emulated = emulate(request, *options, on_call);
  if (!emulated) return Unexpected(emulated.error());
  result.rungs.push_back(std::move(*emulated));
  if (!request.gpu) {
    result.rungs.push_back(skipped("correct", "this needs a GPU; the rung emulate ran all sizes on the emulated one"));
    return result;
  }
  if (request.sampled_only) {
    for (const char* name : {"correct", "time"}) result.rungs.push_back(skipped(name, "only the model's figures were asked for"));
    return result;
  }
  if (auto done = run_on_gpu(request, *builds, *options, result, on_call); !done) return Unexpected(done.error());
  return result;
}

}  // namespace kforge::trial
