// From sources to timings: what the rungs of a trial and `bench` share around time_contestants.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trial/time.h"
#include "trial/worker_process.h"

namespace kforge::trial {

// The task's reference, from its file or its formula. Errors: as build_reference.
Expected<build::Artefact> build_task_reference(const task::Task& task, CostLedger* costs);

// Of a candidate on the emulated device, but for its object, and of the reference. Errors: missing.
struct Workers { WorkerOptions candidate, reference; };
Expected<Workers> worker_options(const TrialRequest& request, const std::string& reference);
WorkerOptions on_gpu(WorkerOptions options, const GpuOptions& gpu);

// Of inputs that no candidate can have been made for; exact in a JSON number.
std::uint64_t draw_fresh_seed();

inline constexpr const char* kCudnn = "cudnn";   // the baseline whose library may lie outside the toolkit

// What may run on the GPU for this object, mangled; none where the task allows libraries: then anything may.
std::vector<std::string> kernels_to_expect(const task::Task& task, const build::Artefact& artefact);

// Adds the request's baselines. Errors: bad_input for a source that does not build.
Expected<void> build_baselines(const TrialRequest& request, std::vector<Contestant>& contestants);
TimeRequest time_request(const TrialRequest& request, std::vector<Contestant> contestants, const WorkerOptions& candidate, const WorkerOptions& reference);

struct SourceTimes {
  std::vector<TimedContestant> times;    // as time_contestants
  double copy_bytes_per_s = 0;           // as measure_copy; 0: it could not be measured
};
// Operations per second (a multiplication and an addition are two) of the request's one baseline, a matrix product, at its first measure size: the measured ceiling of
// the matrix units. Nothing is compared. REQUIRES: request.gpu, a task that is a product. Errors: the GPU cannot be used, the product cannot be made.
Expected<double> measure_product(const TrialRequest& request);

// Bytes per second of a copy (measure_copy), no contestant taking part: the measured ceiling of memory. REQUIRES: request.gpu. Errors: the GPU cannot be used, or is not well.
Expected<double> measure_copy_rate(const TrialRequest& request);

// The request's baselines alone, and the loop `beside` them (TimeRequest). REQUIRES: request.gpu. Errors: as time_contestants and build_baselines.
Expected<SourceTimes> time_sources(const TrialRequest& request, const std::string& beside, const std::function<void(std::size_t, const CallEvidence&)>& on_call);

}  // namespace kforge::trial
