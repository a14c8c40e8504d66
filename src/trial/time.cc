#include "trial/time.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <random>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/hash.h"
#include "base/paths.h"
#include "base/text.h"
#include "gpu/statistics.h"
#include "trial/candidate_process.h"
#include "trial/correct.h"
#include "trial/keeper.h"
#include "trial/outside_loop.h"
#include "trial/timed_worker.h"

namespace kforge::trial {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kDraws = 3;            // inputs with references
constexpr double kSlowReference = 4;         // s: then one draw must do
constexpr std::size_t kFreshBlocks = 4;
constexpr std::size_t kFewestTurns = 6;      // clocks still move in the first, after the pause in which the others were warmed up

// All contestants at one size.
class SizeRun {
 public:
  SizeRun(const TimeRequest& request, const task::Case& run, const std::function<void(std::size_t, const CallEvidence&)>& on_call, std::mt19937_64& random)
      : request_(request), run_(run), on_call_(on_call), random_(random) {}

  Expected<std::vector<TimedContestant>> time() {
    auto layout = lay_out(*request_.task, run_.sizes, false);
    if (!layout) return Unexpected(layout.error());
    layout_ = std::move(*layout);
    say("preparing");
    if (auto made = make_draws(); !made) return Unexpected(made.error());
    for (std::size_t i = 0; i < request_.contestants.size(); ++i) {
      auto& one = all_.emplace_back(std::make_unique<TimedWorker>(request_, i, run_, layout_, random_));
      seen_.emplace_back();
      if (auto opened = one->open(draws_.size()); !opened) return Unexpected(opened.error());
      for (std::size_t draw = 0; draw < draws_.size(); ++draw) one->load(draw, draws_[draw].inputs);
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {   // all have their memory by now, whatever one of them may take
      all_[i]->first_call();
      all_[i]->measure_empty();
      all_[i]->warm_up();
      tell_failure(i);
    }
    if (auto opened = open_beside(); !opened) return Unexpected(opened.error());
    sample();
    open_keeper();
    for (std::size_t i = 0; i < all_.size(); ++i) {
      say("cross-checking");
      all_[i]->run_bursts(keeper_.get(), [&](std::size_t draw, const std::byte* arena) { verify(i, draw, arena); });
      all_[i]->replay_graph();
      all_[i]->read_settings(false);
    }
    if (auto done = sample_fresh(); !done) return Unexpected(done.error());
    std::vector<TimedContestant> out;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      all_[i]->watch();
      tell_failure(i);
      out.push_back(all_[i]->finish());
      out.back().timing.unverified = draws_.front().unanswered;
    }
    if (beside_) {
      Timing& timing = out.emplace_back(TimedContestant{beside_->finish(), {}}).timing;
      timing.sizes = run_.sizes;
      timing.label = run_.label;
      timing.warm = request_.options.warm;
    }
    return out;
  }

 private:
  void say(const char* what) const {
    if (request_.progress) request_.progress(fmt::format("time {}: {}", run_.label, what));
  }

  Expected<void> open_beside() {
    if (request_.beside.empty()) return {};
    auto opened = OutsideLoop::start(request_.beside, run_.sizes);
    if (!opened) return Unexpected(opened.error());
    beside_ = std::move(*opened);
    beside_->warm_up();
    return {};
  }

  void sample_beside() {
    if (beside_ && !beside_->failed()) beside_->sample_block();
  }

  void open_keeper() {
    const auto fit = std::find_if(all_.begin(), all_.end(), [](const auto& one) { return !one->failed(); });
    if (fit == all_.end() || !request_.defences.on(Defence::witness)) return;
    std::vector<std::vector<SharedBytes>> draws;
    for (const Prepared& draw : draws_) draws.push_back(draw.inputs);
    keeper_ = Keeper::open(request_, run_.sizes, layout_, (*fit)->sets(), draws, (*fit)->flush_bytes());
  }

  Expected<void> make_draws() {
    task::Case run = run_;
    run.calls = request_.defences.on(Defence::repeat) && !request_.options.search ? kDraws : 1;
    const auto jobs = jobs_of({run}, true);
    References references(*request_.task, request_.reference, request_.call_seconds, jobs, request_.prepared);
    const auto start = Clock::now();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      Prepared prepared = references.next();
      if (prepared.error) return Unexpected(std::move(*prepared.error));
      const bool slow = !prepared.unanswered.empty() || seconds_since(start) > kSlowReference;
      draws_.push_back(std::move(prepared));
      if (slow) break;
    }
    return {};
  }

  // A B B A, and so on, until every median is known or the time is up.
  void sample() {
    const auto start = Clock::now();
    const double seconds = request_.options.seconds * static_cast<double>(all_.size() + (beside_ ? 1 : 0));
    const char* ended_by = "budget";
    for (std::size_t turn = 0;; ++turn) {
      bool known = true, any = false;
      for (const auto& one : all_) {
        if (!one->goes_on()) continue;
        any = true;
        known &= one->known();
      }
      if (beside_ && !beside_->failed()) known &= beside_->known(request_.options.interval);
      if (any && known) ended_by = "interval";
      if (!any || (known && turn >= kFewestTurns) || (turn > 1 && seconds_since(start) > seconds) || (request_.stop && request_.stop())) break;
      if (turn % 8 == 0) say("sampling");
      const bool back = turn % 2 == 1;
      if (back) sample_beside();
      for (std::size_t k = 0; k < all_.size(); ++k) {
        const std::size_t i = back ? all_.size() - 1 - k : k;
        if (!all_[i]->goes_on()) continue;
        const bool fetch = turn < 2 || random_() % 4 == 0;
        all_[i]->sample_block(fetch);
        if (fetch && !all_[i]->failed()) verify(i, all_[i]->last_draw(), all_[i]->arena());
      }
      if (!back) sample_beside();
    }
    for (const auto& one : all_) one->conclude(ended_by);
  }

  Expected<void> sample_fresh() {
    for (std::size_t turn = 0; turn < (request_.options.search ? 1 : kFreshBlocks); ++turn) {
      std::vector<std::vector<SharedBytes>> fresh;
      for (std::size_t i = 0; i < draws_.size(); ++i) {
        task::Case run = run_;
        run.seed = random_();
        auto inputs = make_inputs(*request_.task, run, true);
        if (!inputs) return Unexpected(inputs.error());
        fresh.emplace_back(std::make_move_iterator(inputs->begin()), std::make_move_iterator(inputs->end()));
      }
      for (const auto& one : all_)
        if (!one->failed()) one->sample_fresh(fresh);
    }
    return {};
  }

  // Hands on what lies in the arena, unless the same answer to the same inputs was seen already.
  void verify(std::size_t place, std::size_t draw, const std::byte* arena) {
    TimedWorker& one = *all_[place];
    if (!request_.defences.on(Defence::verify)) {
      one.note_verified();
      return;
    }
    const Prepared& known = draws_[draw];
    Hasher hasher;
    hasher.field(std::to_string(draw));
    std::size_t next_input = 0;
    bool changed = false;
    for (const TensorPlace& tensor : layout_.places) {
      if (tensor.has_input()) {
        const SharedBytes& input = known.inputs[next_input++];
        changed |= request_.defences.on(Defence::inputs) && !tensor.has_output() && std::memcmp(arena + tensor.out, input.data(), tensor.bytes) != 0;
      }
      if (tensor.has_output()) hasher.field(std::string_view(reinterpret_cast<const char*>(arena + tensor.out), tensor.bytes));
    }
    one.note_verified();
    if (!seen_[place].insert(hasher.hex()).second && !changed) return;
    CallEvidence out = evidence(draw);
    out.completed = true;
    Prepared prepared = known;   // the references are needed again
    prepared.further = draws_.back().further;
    for (std::size_t other = 0; other < draws_.size(); ++other)
      if (other != draw && !draws_[other].outputs.empty()) prepared.further.push_back(small_outputs(draws_[other]));
    read_tensors(layout_, arena, prepared, out);
    out.inputs = std::move(prepared.inputs);
    on_call_(place, out);
  }

  // What small outputs are pooled with; of others nothing is needed.
  static std::vector<std::vector<double>> small_outputs(const Prepared& draw) {
    constexpr std::size_t kPooledBelow = 32;   // contracts.md, "Numerics"
    std::vector<std::vector<double>> out;
    for (const SharedList<double>& values : draw.outputs) out.push_back(values.size() < kPooledBelow ? std::vector<double>(values.begin(), values.end()) : std::vector<double>{});
    return out;
  }

  CallEvidence evidence(std::size_t draw) const {
    CallEvidence out;
    out.run = run_;
    out.run.seed = run_.seed + draw;
    out.on_gpu = out.timed = true;
    out.unverified = draws_[draw].unanswered;
    return out;
  }

  // What the candidate did wrong while it was timed is evidence like that of any call.
  void tell_failure(std::size_t place) {
    const TimedWorker& one = *all_[place];
    if (!one.failed() || told_.count(place)) return;
    if (one.fault().contract.empty() && one.gpu_error().empty() && one.returned() == 0) return;
    told_.insert(place);
    CallEvidence out = evidence(0);
    out.fault = one.fault();
    out.log.returned = one.returned();
    out.log.ending_detail = one.gpu_error();
    out.completed = one.returned() != 0;
    note_gpu_error(out);
    on_call_(place, out);
  }

  const TimeRequest& request_;
  const task::Case& run_;
  const std::function<void(std::size_t, const CallEvidence&)>& on_call_;
  std::mt19937_64& random_;
  CaseLayout layout_;
  std::vector<Prepared> draws_;
  std::vector<std::unique_ptr<TimedWorker>> all_;
  std::unique_ptr<OutsideLoop> beside_;          // null: none was asked for
  std::unique_ptr<Keeper> keeper_;               // null: the driver shares no memory
  std::vector<std::set<std::string>> seen_;      // by contestant: hashes of the answers handed on
  std::set<std::size_t> told_;
};

std::string label_of(const task::Task& task, const task::Sizes& sizes) {
  std::vector<std::string> parts;
  for (const std::string& name : task.size_names()) parts.push_back(fmt::format("{}={}", name, sizes.at(name)));
  return join(parts, " ");
}

}  // namespace

void judge_honesty(const Doubts& doubts, const Defences& defences, Timing& timing) {
  constexpr double kFactor = 1.4;        // calls in a burst share the DRAM with the writes of the call before
  if (defences.on(Defence::quiet) && doubts.quiet_us > doubts.quiet_empty_us + std::max(8.0, 0.15 * timing.us))
    timing.dishonest.push_back(fmt::format("work goes on for {:.1f} us after the given stream is done, on another stream or thread", doubts.quiet_us - doubts.quiet_empty_us));
  const double usual = std::max(timing.us, doubts.slow_us);
  if (timing.back_to_back_us > kFactor * usual + doubts.slack_us) {
    if (doubts.enqueue_us > 0.5 * timing.back_to_back_us) {
      timing.host_bound = true;
      timing.us = timing.back_to_back_us;
      timing.p99_us = std::max(timing.p99_us, timing.us);
    } else if (defences.on(Defence::clock)) {
      timing.dishonest.push_back(fmt::format("a call takes {:.1f} us by the parent's clock and {:.1f} us by the events", timing.back_to_back_us, timing.us));
    }
  }
  if (defences.on(Defence::fresh) && timing.fresh_us > 1.25 * usual + 2 && !timing.host_bound)
    timing.dishonest.push_back(fmt::format("on inputs that it has not seen before a call takes {:.1f} us, on others {:.1f} us", timing.fresh_us, timing.us));
}

void judge_activity(const Activity& seen, const std::vector<std::string>& own, const Defences& defences, Timing& timing) {
  constexpr double kSlackUs = 2;         // of the records' clock
  if (!seen.trouble.empty()) return;
  if (defences.on(Defence::quiet) && seen.late_us > std::max(kSlackUs, 0.05 * timing.us))
    timing.dishonest.push_back(fmt::format("CUPTI sees {} going on for {:.1f} us after the given stream is done", seen.late, seen.late_us));
  if (!defences.on(Defence::libraries) || own.empty()) return;
  for (const std::string& name : foreign_kernels(seen, own)) timing.dishonest.push_back(fmt::format("CUPTI sees the kernel {}, which the object does not hold", name));
}

Expected<double> measure_copy(const TimeRequest& request) {
  constexpr std::uint64_t kMost = 1ull << 30, kRounds = 12;
  WorkerOptions options = request.worker;
  options.object = request.reference.object;   // loaded and never called: a worker has an object
  const auto worker = WorkerProcess::start(options);
  if (!worker) return Unexpected(worker.error());
  if (!(*worker)->started().ok) return fail(ErrorCode::failed, "the GPU cannot be used: " + (*worker)->started().error);
  const std::uint64_t bytes = request.gpu.device.memory_bytes > 0 ? std::min(kMost, request.gpu.device.memory_bytes / 16) : kMost / 8;
  const Answer answer = (*worker)->call(nlohmann::json{{"time", "copy"}, {"bytes", bytes}, {"rounds", kRounds}, {"arena_bytes", 4096}}.dump(), {request.call_seconds, 0});
  const auto reply = nlohmann::json::parse(answer.json, nullptr, false);
  if (!answer.ok || !reply.contains("us")) return fail(ErrorCode::failed, "the copy bandwidth could not be measured: " + (answer.error.empty() ? answer.fault.message : answer.error));
  const double us = gpu::median(reply["us"].get<std::vector<double>>());
  if (us <= 0) return fail(ErrorCode::failed, "a copy took no time");
  return 2 * static_cast<double>(bytes) / us * 1e6;
}

Expected<FileLock> lock_gpu(const gpu::Device& device) {
  const auto folder = cache_folder();
  if (!folder) return Unexpected(folder.error());
  return FileLock::acquire(*folder / (device.uuid.empty() ? fmt::format("gpu-{}.lock", device.index) : device.uuid + ".lock"));
}

Expected<std::vector<TimedContestant>> time_contestants(const TimeRequest& request, const std::function<void(std::size_t, const CallEvidence&)>& on_call) {
  std::mt19937_64 random(request.seed);
  std::vector<TimedContestant> out;
  for (const task::Sizes& sizes : request.sizes) {
    task::Case run;
    run.sizes = sizes;
    run.measure = true;
    run.seed = random();
    run.label = label_of(*request.task, sizes);
    auto timings = SizeRun(request, run, on_call, random).time();
    if (!timings) return Unexpected(timings.error());
    for (TimedContestant& one : *timings) out.push_back(std::move(one));
  }
  return out;
}

}  // namespace kforge::trial
