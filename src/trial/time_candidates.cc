#include "trial/time_candidates.h"

#include <algorithm>
#include <chrono>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gpu/library.h"
#include "base/clock.h"
#include "task/formula.h"
#include "trial/timed_worker.h"
#include "trial/worker_process.h"

namespace kforge::trial {

std::uint64_t draw_fresh_seed() {
  std::random_device device;
  return ((std::uint64_t{device()} << 20) ^ device()) | 1;
}

Expected<build::Artefact> build_task_reference(const task::Task& task, CostLedger* costs) {
  build::ReferenceRequest wanted;
  wanted.source = task.reference;
  if (!task.formula.empty()) {
    auto written = task::formula::write_reference(task);
    if (!written) return Unexpected(written.error());
    wanted.source = *written;
  }
  wanted.interface = reference_interface_of(task);
  wanted.costs = costs;
  return build::build_reference(wanted);
}

Expected<Workers> worker_options(const TrialRequest& request, const std::string& reference) {
  const auto program = find_worker_program(), runtime = find_emulated_runtime();
  if (!program) return Unexpected(program.error());
  if (!runtime) return Unexpected(runtime.error());
  Workers out;
  out.candidate.program = out.reference.program = *program;
  out.candidate.memory_bytes = out.reference.memory_bytes = request.budget.memory_bytes;
  out.candidate.start_seconds = out.reference.start_seconds = request.budget.call_seconds;
  out.candidate.runtime = *runtime;
  out.candidate.configure = nlohmann::json{{"sheet", request.sheet_name.empty() ? request.sheet.name : request.sheet_name}, {"safety", true}, {"profile", true}, {"seed", request.seed}}.dump();
  out.candidate.costs = out.reference.costs = request.costs;
  out.candidate.defences_off = request.defences.names_off();
  out.reference.reference = true;
  out.reference.object = reference;
  return out;
}

WorkerOptions on_gpu(WorkerOptions options, const GpuOptions& gpu) {
  constexpr double kStartSeconds = 60;   // of a driver that wakes up many GPUs
  options.gpu = true;
  options.runtime = gpu.runtime;
  options.driver = gpu.driver;
  options.gpu_uuid = gpu.device.uuid;
  options.start_seconds = std::max(options.start_seconds, kStartSeconds);
  return options;
}

std::vector<std::string> kernels_to_expect(const task::Task& task, const build::Artefact& artefact) {
  std::vector<std::string> out;
  if (std::find(task.allow.begin(), task.allow.end(), "libraries") != task.allow.end()) return out;
  for (const build::KernelReport& kernel : artefact.kernels) out.push_back(kernel.kernel);
  return out;
}

Expected<void> build_baselines(const TrialRequest& request, std::vector<Contestant>& contestants) {
  for (const Baseline& baseline : request.baselines) {
    if (!baseline.pytorch.empty()) {
      contestants.push_back({baseline.name, {}, baseline.pytorch, baseline.pattern, {}});
      continue;
    }
    build::CandidateRequest wanted;
    wanted.source = baseline.source;
    wanted.interface = interface_of(*request.task);
    wanted.sm = request.sheet.sm();
    wanted.flags = request.task->flags;
    const auto built = build::build_candidate(wanted);
    if (!built) return Unexpected(built.error());
    if (!built->ok && baseline.optional) continue;
    if (!built->ok) return fail(ErrorCode::bad_input, "it does not build", {baseline.source, 0, 0}, "kforge check says why");
    Contestant& one = contestants.emplace_back(Contestant{baseline.name, built->shared_object, {}, {}, {}, built->starts_threads});
    one.library = baseline.name == kCudnn ? gpu::find_cudnn().value_or("") : "";
    if (!baseline.own) continue;
    one.kernels = kernels_to_expect(*request.task, *built);
    if (request.defences.on(Defence::symbols))
      for (const std::string& symbol : built->forbidden_symbols) one.doubts.push_back(fmt::format("the object defines '{}', which belongs to CUDA, the C library or the harness", symbol));
    if (request.defences.on(Defence::imports))
      for (const std::string& name : built->forbidden_imports) one.doubts.push_back(fmt::format("the object asks for {}", name));
  }
  return {};
}

TimeRequest time_request(const TrialRequest& request, std::vector<Contestant> contestants, const WorkerOptions& candidate, const WorkerOptions& reference) {
  TimeRequest out;
  out.task = request.task;
  out.contestants = std::move(contestants);
  out.sizes = request.task->measure;
  if (auto cupti = gpu::find_cupti()) out.cupti = std::move(*cupti);
  else out.no_cupti = cupti.error().message;
  out.worker = on_gpu(candidate, *request.gpu);
  out.reference = reference;
  out.gpu = *request.gpu;
  out.options = request.time;
  out.defences = request.defences;
  out.call_seconds = request.budget.call_seconds;
  out.reference_seconds = request.budget.seconds_of_reference();
  out.seed = request.time.search ? request.seed : draw_fresh_seed();
  out.prepared = request.time.search ? request.prepared : nullptr;
  out.progress = request.progress;
  out.stop = request.stop;
  return out;
}

Expected<double> measure_product(const TrialRequest& request) {
  constexpr double kSeconds = 1;
  std::vector<Contestant> contestants;
  if (auto built = build_baselines(request, contestants); !built) return Unexpected(built.error());
  const auto workers = worker_options(request, {});
  if (!workers) return Unexpected(workers.error());
  const auto lock = lock_gpu(request.gpu->device);
  if (!lock) return Unexpected(lock.error());
  const TimeRequest wanted = time_request(request, std::move(contestants), workers->candidate, workers->reference);
  task::Case run;
  run.sizes = request.task->measure.front();
  const auto layout = lay_out(*request.task, run.sizes, false);
  if (!layout) return Unexpected(layout.error());
  auto inputs = make_inputs(*request.task, run, true);
  if (!inputs) return Unexpected(inputs.error());
  std::mt19937_64 random(wanted.seed);
  TimedWorker one(wanted, 0, run, *layout, random);
  if (auto opened = one.open(1); !opened) return Unexpected(opened.error());
  one.load(0, {inputs->begin(), inputs->end()});
  one.first_call();
  one.warm_up();
  for (const auto start = std::chrono::steady_clock::now(); one.goes_on() && !one.known() && seconds_since(start) < kSeconds;) one.sample_block(false);
  one.conclude("budget");
  const Timing timing = one.finish().timing;
  if (!timing.failure.empty() || timing.us <= 0) return fail(ErrorCode::failed, "the rate of the matrix units could not be measured: " + timing.failure);
  double operations = 2;
  for (const auto& [name, extent] : run.sizes) operations *= static_cast<double>(extent);
  return operations / timing.us * 1e6;
}

Expected<double> measure_copy_rate(const TrialRequest& request) {
  const auto reference = build_task_reference(*request.task, request.costs);
  if (!reference) return Unexpected(reference.error());
  const auto workers = worker_options(request, reference->shared_object);
  if (!workers) return Unexpected(workers.error());
  const auto lock = lock_gpu(request.gpu->device);
  if (!lock) return Unexpected(lock.error());
  GpuWatch watch(*request.gpu);
  if (auto well = watch.well(); !well) return Unexpected(well.error());
  return measure_copy(time_request(request, {}, workers->candidate, workers->reference));
}

Expected<SourceTimes> time_sources(const TrialRequest& request, const std::string& beside, const std::function<void(std::size_t, const CallEvidence&)>& on_call) {
  if (request.progress) request.progress("build");
  const auto reference = build_task_reference(*request.task, request.costs);
  if (!reference) return Unexpected(reference.error());
  std::vector<Contestant> contestants;
  if (auto built = build_baselines(request, contestants); !built) return Unexpected(built.error());
  const auto workers = worker_options(request, reference->shared_object);
  if (!workers) return Unexpected(workers.error());
  const auto lock = lock_gpu(request.gpu->device);
  if (!lock) return Unexpected(lock.error());
  TimeRequest wanted = time_request(request, std::move(contestants), workers->candidate, workers->reference);
  wanted.beside = beside;
  GpuWatch watch(*request.gpu);
  wanted.watch = &watch;
  if (auto well = watch.well(); !well) return Unexpected(well.error());
  SourceTimes out;
  out.copy_bytes_per_s = measure_copy(wanted).value_or(0);
  auto times = time_contestants(wanted, on_call);
  if (!times) return Unexpected(times.error());
  if (auto well = watch.well(); !well) return Unexpected(well.error());
  out.times = std::move(*times);
  return out;
}

}  // namespace kforge::trial
