#include "trial/emulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "evidence/unsupported.h"
#include "task/adversarial.h"
#include "trial/candidate_process.h"
#include "trial/case_rung.h"
#include "trial/memory_need.h"
#include "trial/prepared_store.h"

namespace kforge::trial {
namespace {

using Clock = std::chrono::steady_clock;
using evidence::Ending;

constexpr std::uint64_t kProbeBlocks = 4;                     // of the run that estimates a measure size
constexpr std::uint64_t kOldestFirst = 1;                      // an odd seed starts blocks in their order: what modelled times are compared in
constexpr std::uint64_t kRepeats = 2;                          // of one call, with equal inputs
constexpr std::int64_t kLargestTile = 1 << 16;                 // elements; a larger one makes no light case
constexpr std::int64_t kLargestTileCase = 1 << 22;             // elements of all tensors
constexpr std::size_t kTiles = 3;                              // of one size: kernels of several shapes
constexpr std::uint64_t kSampledInstructions = 64'000'000;    // spent on a size that is sampled

// What a tile of wgmma counts for, in thread-instructions: 6 to 12 us of a core with all observers, of which a budget of 2e9 has some 20 s.
constexpr double kTileInstructions = 500;

// Thread-instructions of all blocks, from a run that executed at most kProbeBlocks of each launch.
struct Estimate { double instructions = 0, per_block = 0; };
Estimate estimate_from(const evidence::LaunchLog& log, std::uint64_t sampled) {
  double all = 0, ran = 0;
  for (const evidence::KernelProfile& kernel : log.kernels) {
    const double times = kernel.launches.empty() ? 0 : static_cast<double>(kernel.launch_count) / static_cast<double>(kernel.launches.size());
    for (const evidence::LaunchShape& shape : kernel.launches) {
      all += times * static_cast<double>(shape.grid.count());
      ran += times * static_cast<double>(std::min(shape.grid.count(), sampled));
    }
  }
  const double measured = static_cast<double>(log.thread_instructions) + kTileInstructions * static_cast<double>(log.warpgroup_tiles);
  if (ran == 0) return {measured, measured};
  return {measured * all / ran, measured / ran};
}

class Emulation {
 public:
  Emulation(const TrialRequest& request, const EmulateOptions& options, const std::function<void(const CallEvidence&)>& on_call)
      : request_(request), task_(*request.task), options_(options), on_call_(on_call), process_(task_, options.candidate), sampling_(task_, options.candidate), outcome_(request.stop) {}

  Expected<Rung> run() {
    const auto start = Clock::now();
    for (const bool measure : {false, true}) {   // before anything is reached
      if (!measure && request_.sampled_only) continue;
      if (auto fits = check_memory(task_, jobs_of(options_.cases, measure), measure ? RunKind::sampled : RunKind::whole, request_.budget.memory_bytes); !fits) return Unexpected(fits.error());
    }
    if (auto done = request_.sampled_only ? run_measure() : run_all(); !done) return Unexpected(done.error());
    outcome_.rung.name = "emulate";
    outcome_.rung.seconds = seconds_since(start);
    if (outcome_.rung.status == RungStatus::unknown && outcome_.rung.why.empty()) outcome_.rung.status = calls_ == 0 ? RungStatus::skipped : RungStatus::passed;
    if (outcome_.rung.status == RungStatus::skipped && outcome_.rung.why.empty()) outcome_.rung.why = "no case fits the budget";
    return outcome_.rung;
  }

 private:
  Expected<void> run_all() {
    if (auto started = process_.start(); !started) return Unexpected(started.error());
    if (auto done = run_jobs(jobs_of(options_.cases, false)); !done) return done;
    if (auto done = run_measure(); !done) return done;
    return run_around_tiles();
  }

  Expected<void> run_jobs(std::vector<Job> jobs) {
    if (jobs.empty()) return {};
    references_.emplace(task_, options_.reference, request_.budget.seconds_of_reference(), jobs, request_.prepared);
    for (const Job& job : jobs) {
      if (outcome_.stopped()) {   // nobody waits for references that nobody compares
        skip(job, outcome_.stopped_why());
        continue;
      }
      Prepared prepared = references_->next();
      if (prepared.error) return Unexpected(std::move(*prepared.error));
      if (!prepared.unanswered.empty()) {   // what nobody can compare proves nothing
        skip(job, prepared.unanswered);
        continue;
      }
      if (prepared.dropped) {
        new_addresses_ = true;
        continue;
      }
      if (auto done = run_call(job, std::move(prepared), 0); !done) return done;
    }
    return {};
  }

  Expected<void> run_measure() {
    std::vector<Job> fitting;
    for (const Job& job : jobs_of(options_.cases, true)) {
      if (outcome_.stopped()) {
        skip(job, outcome_.stopped_why());
        continue;
      }
      auto sampled = run_sampled_or_fits(job);
      if (!sampled) return Unexpected(sampled.error());
      if (*sampled) fitting.push_back(job);
    }
    if (auto fits = check_memory(task_, fitting, RunKind::whole, request_.budget.memory_bytes); !fits) return fits;
    return run_jobs(std::move(fitting));
  }

  // What one block covers is known once a measure size has been launched: the boundaries of that tile are tried too (contracts.md, "Cases").
  Expected<void> run_around_tiles() {
    if (tiles_.empty() || outcome_.stopped() || !request_.defences.on(Defence::sizes)) return {};
    task::CaseOptions options{.seed = request_.seed, .with_measure = false, .tile_sizes = {}, .fresh_seed = request_.defences.on(Defence::seeds) ? request_.fresh_seed : 0};
    for (const auto& [name, tiles] : tiles_) options.tile_sizes[name].assign(tiles.begin(), tiles.end());
    auto cases = task::make_cases(task_, options);
    if (!cases) return Unexpected(cases.error());
    std::erase_if(*cases, [&](const task::Case& one) {
      return task::total_elements(task_, one.sizes).value_or(kLargestTileCase + 1) > kLargestTileCase || std::any_of(options_.cases.begin(), options_.cases.end(), [&](const task::Case& known) { return !known.measure && known.sizes == one.sizes && known.values == one.values; });
    });
    return run_jobs(jobs_of(*cases, false));
  }

  // Extents over blocks along an axis of the grid, where that many blocks are what the extent needs.
  void note_tiles(const task::Sizes& sizes, const evidence::LaunchLog& log) {
    for (const evidence::KernelProfile& kernel : log.kernels)
      for (const evidence::LaunchShape& shape : kernel.launches)
        for (const std::int64_t blocks : {shape.grid.x, shape.grid.y, shape.grid.z})
          for (const auto& [name, extent] : sizes) {
            if (blocks < 2 || extent <= blocks) continue;
            const std::int64_t tile = (extent + blocks - 1) / blocks;
            if ((extent + tile - 1) / tile == blocks && tile <= kLargestTile && tiles_[name].size() < kTiles) tiles_[name].insert(tile);
          }
  }

  Expected<Prepared> quick_inputs(const Job& job) const {
    const StageTimer timer(request_.costs, "inputs");
    if (auto kept = request_.prepared ? request_.prepared->find(job, true) : std::nullopt) return std::move(*kept);
    const auto layout = lay_out(task_, job.run.sizes, false);
    if (!layout) return Unexpected(layout.error());
    const auto inputs = make_inputs(task_, job.run, true);
    if (!inputs) return Unexpected(inputs.error());
    auto sealed = SealedInputs::of(*layout, *inputs);
    if (!sealed) return Unexpected(sealed.error());
    Prepared out;
    out.sealed = std::move(*sealed);
    if (request_.prepared) request_.prepared->keep(job, true, out);
    return out;
  }

  // True: the job fits in full. Else it was run on sampled blocks, or skipped, and reported.
  Expected<bool> run_sampled_or_fits(const Job& job) {
    auto drawn = quick_inputs(job);
    if (!drawn) return Unexpected(drawn.error());
    Prepared prepared = std::move(*drawn);
    progress(fmt::format("emulate {}: estimating", job.run.label));
    auto probe = call(job, prepared, kProbeBlocks);
    if (!probe) return Unexpected(probe.error());
    if (request_.sampled_only) {
      report(std::move(*probe));
      return false;
    }
    // A probe that ended early (some blocks alone may wait for the others, or use what these did not write) says nothing of a whole launch.
    if (probe->skipped.empty() && probe->fault.contract.empty() && probe->log.ending != Ending::limit) {
      const Estimate estimate = estimate_from(probe->log, kProbeBlocks);
      const bool fits = estimate.instructions <= static_cast<double>(request_.budget.measure_thread_instructions);
      if (fits) return true;
      if (!request_.profile) {
        skip(job, fmt::format("it needs about {} thread-instructions, the budget is {}", human_count(estimate.instructions),
                              human_count(static_cast<double>(request_.budget.measure_thread_instructions))));
        return false;
      }
      const auto blocks = static_cast<std::uint64_t>(static_cast<double>(kSampledInstructions) / std::max(estimate.per_block, 1.0));
      if (blocks >= 2 * kProbeBlocks && probe->log.ending == Ending::finished) {
        probe = call(job, prepared, std::min<std::uint64_t>(blocks, 4096));
        if (!probe) return Unexpected(probe.error());
      }
    }
    report(std::move(*probe));
    return false;
  }

  Expected<void> run_call(const Job& job, Prepared prepared, std::uint64_t sampled_blocks) {
    if (outcome_.stopped()) {
      skip(job, outcome_.stopped_why());
      return {};
    }
    progress(fmt::format("emulate {}{}", job.run.label, job.run.calls > 1 ? fmt::format(" call {} of {}", job.call + 1, job.run.calls) : ""));
    auto made = call(job, prepared, sampled_blocks);
    if (!made) return Unexpected(made.error());
    const bool last_of_repeated = job.run.calls > 1 && job.call + 1 == job.run.calls;
    if (last_of_repeated && made->completed) {
      if (auto done = repeat(job, *made); !done) return done;
    }
    report(std::move(*made));
    return {};
  }

  // The same inputs again, warps and blocks in another order. A repetition that does not complete, or whose outputs differ, is evidence of its own.
  Expected<void> repeat(const Job& job, CallEvidence& first) {
    for (std::uint64_t turn = 1; turn <= kRepeats && !outcome_.stopped(); ++turn) {
      Prepared prepared;
      prepared.inputs = first.inputs;
      auto again = call(job, prepared, 0, request_.seed + job.call + turn);
      if (!again) return Unexpected(again.error());
      if (!again->completed) {
        report(std::move(*again));
        return {};
      }
      ++first.repeats;
      if (!first.differing_output.empty()) continue;
      for (std::size_t i = 0; i < first.outputs.size(); ++i) {
        if (again->outputs[i].bytes != first.outputs[i].bytes && first.differing_output.empty()) first.differing_output = first.outputs[i].tensor;
        again->outputs[i].reference = first.outputs[i].reference;
      }
      again->run.label += ", other order of warps and blocks";
      if (!first.differing_output.empty()) report(std::move(*again));
    }
    return {};
  }

  Expected<CallEvidence> call(const Job& job, Prepared& prepared, std::uint64_t sampled_blocks, std::optional<std::uint64_t> schedule_seed = {}) {
    CallEvidence out;
    out.run = job.run;
    out.call = job.call;
    out.sampled = sampled_blocks != 0;
    const auto start = Clock::now();
    const auto layout = lay_out(task_, job.run.sizes, false);
    if (!layout) return Unexpected(layout.error());
    const CallOptions options{.new_case = job.call == 0 || new_addresses_ || out.sampled, .reset = false, .outputs = !out.sampled, .serial = ++serial_,
                              .thread_instructions = request_.budget.call_thread_instructions, .sampled_blocks = sampled_blocks, .seconds = request_.budget.call_seconds,
                              .schedule_seed = schedule_seed.value_or(out.sampled && request_.fresh_seed != 0 ? request_.fresh_seed | kOldestFirst : request_.seed + job.call)};
    new_addresses_ = false;
    // A call on sampled blocks has a process of its own: the blocks that are left out leave the candidate's variables in a state that no
    // whole launch would. All whole calls share one (contracts.md, "Cases"), which ends with a fatal device error, as a GPU's context does.
    const CallLimit limit{request_.budget.call_seconds, request_.budget.call_thread_instructions, request_.stop};
    auto asked = out.sampled ? sampling_.ask_alone(*layout, *prepared.sealed, job.run.sizes, options, limit) : process_.ask(*layout, prepared.inputs, job.run.sizes, options, limit);
    if (!asked) return Unexpected(asked.error());
    const Answer& answer = asked->answer;
    out.seconds = seconds_since(start);
    out.fault = answer.fault;
    if (!answer.undecided.empty()) {
      out.skipped = answer.undecided;
      out.log.unproven.push_back({answer.from_outside ? "run.crash" : "run.limit", fmt::format("{}: {}", job.run.label, answer.undecided)});
    } else if (!answer.ok && out.fault.contract.empty()) {
      out.skipped = "it cannot be run here: " + answer.error;
    }
    if (answer.ok) read_answer(answer, *layout, asked->arena, prepared, out);
    if (auto much = (out.sampled ? sampling_ : process_).chatter()) out.log.violations.push_back(std::move(*much));
    if (job.run.measure) note_tiles(job.run.sizes, out.log);
    if (out.log.ending == Ending::trap && !out.sampled) {
      process_.renew();
      new_addresses_ = true;
    }
    out.inputs = out.sampled ? std::vector<SharedBytes>{} : std::move(prepared.inputs);
    return out;
  }

  void report(CallEvidence call) {
    ++calls_;
    if (!call.fault.contract.empty()) outcome_.fail(call.run, call.fault.message, true);
    else if (!call.log.unproven.empty() && !call.skipped.empty()) outcome_.fail(call.run, call.skipped, true, RungStatus::unknown);
    else if (const std::string what = evidence::unsupported_instruction(call.log); !what.empty()) outcome_.fail(call.run, what, false, RungStatus::unknown);
    else if (call.log.ending == Ending::hang || call.log.ending == Ending::limit) outcome_.fail(call.run, call.log.ending_detail, true);
    else if (call.log.ending == Ending::trap) outcome_.fail(call.run, call.log.ending_detail, false);
    else if (call.skipped.empty() && call.log.returned != 0) outcome_.fail(call.run, fmt::format("the launcher returned error {}", call.log.returned), false);
    if (references_ && task::is_adversarial(call.run.values)) call.moves = [&] { return references_->moves({call.run, call.call}, call.inputs, references_in(call)); };
    on_call_(call);
  }

  void skip(const Job& job, const std::string& why) {
    CallEvidence out;
    out.run = job.run;
    out.call = job.call;
    out.skipped = why;
    on_call_(out);
  }

  void progress(const std::string& line) const {
    if (request_.progress) request_.progress(line);
  }

  const TrialRequest& request_;
  const task::Task& task_;
  const EmulateOptions& options_;
  const std::function<void(const CallEvidence&)>& on_call_;
  CandidateProcess process_, sampling_;
  CaseRung outcome_;
  std::map<std::string, std::set<std::int64_t>> tiles_;   // by size name
  std::uint64_t serial_ = 0, calls_ = 0;
  bool new_addresses_ = false;
  std::optional<References> references_;                  // of the jobs that run
};

}  // namespace

Expected<Rung> emulate(const TrialRequest& request, const EmulateOptions& options, const std::function<void(const CallEvidence&)>& on_call) {
  return Emulation(request, options, on_call).run();
}

}  // namespace kforge::trial
