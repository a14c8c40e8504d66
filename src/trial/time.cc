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

constexpr std::size_t kDraws = 3;            // inputs with references that calls get again and again
constexpr std::size_t kFreshDraws = 2;       // inputs with references that come at the end, among those that were never seen
constexpr double kSlowReference = 4;         // s: then one draw must do
constexpr std::size_t kFreshBlocks = 4;
constexpr unsigned kLookedAt = 8;            // one block in so many has its outputs looked at, after the first turns
constexpr std::size_t kMostKept = 1u << 30;  // bytes of outputs that are looked at after the sampling
constexpr std::size_t kFewestTurns = 24;     // clocks still move in the first, after the pause in which the others were warmed up

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
    if (request_.options.glance) return glance();
    for (std::size_t i = 0; i < request_.contestants.size(); ++i) {
      auto& one = all_.emplace_back(std::make_unique<TimedWorker>(request_, i, run_, layout_, random_));
      seen_.emplace_back();
      if (auto opened = one->open(known_); !opened) return Unexpected(opened.error());
      for (std::size_t draw = 0; draw < known_; ++draw) one->load(draw, draws_[draw].inputs);
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {   // all have their memory by now, whatever one of them may take
      all_[i]->first_call();
      if (!all_[i]->failed()) verify(i, all_[i]->last_draw(), all_[i]->arena());
      all_[i]->measure_empty();
      all_[i]->warm_up();
      tell_failure(i);
    }
    if (auto opened = open_beside(); !opened) return Unexpected(opened.error());
    sample();
    open_keeper();
    for (std::size_t i = 0; i < all_.size(); ++i) {
      say("cross-checking");
      const auto look = [&](std::size_t draw, const std::byte* arena) { verify(i, draw, arena); };
      all_[i]->run_bursts(keeper_.get(), look);
      all_[i]->replay_graph(look);
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
  // The candidate's median and one comparison. Its process starts, and its outputs are compared, while others hold the device.
  Expected<std::vector<TimedContestant>> glance() {
    auto& one = all_.emplace_back(std::make_unique<TimedWorker>(request_, 0, run_, layout_, random_));
    seen_.emplace_back();
    if (auto started = one->start(); !started) return Unexpected(started.error());
    {
      const auto lock = lock_gpu(request_.gpu.device);
      if (!lock) return Unexpected(lock.error());
      GpuWatch watch(request_.gpu);
      one->watch_by(&watch);
      if (auto opened = one->open(known_); !opened) return Unexpected(opened.error());
      for (std::size_t draw = 0; draw < known_; ++draw) one->load(draw, draws_[draw].inputs);
      one->first_call();
      one->warm_up();
      say("sampling");
      const auto start = Clock::now();
      for (std::size_t turn = 0; one->goes_on() && (turn < kFewestTurns || !one->known()) && seconds_since(start) < request_.options.seconds; ++turn) one->sample_block(false);
      if (one->goes_on()) one->sample_block(true);
      one->conclude(one->known() ? "interval" : "budget");
      one->watch_by(nullptr);
      if (one->failed())
        if (auto well = watch.well(); !well) return Unexpected(well.error());
    }
    if (!one->failed()) verify(0, one->last_draw(), one->arena());
    tell_failure(0);
    std::vector<TimedContestant> out;
    out.push_back(one->finish());
    out.back().timing.unverified = draws_.front().unanswered;
    return out;
  }

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
    for (std::size_t i = 0; i < known_; ++i) draws.push_back(draws_[i].inputs);
    keeper_ = Keeper::open(request_, run_.sizes, layout_, (*fit)->sets(), draws, (*fit)->flush_bytes());
  }

  Expected<void> make_draws() {
    task::Case run = run_;
    const std::size_t known = request_.defences.on(Defence::repeat) && !request_.options.search ? kDraws : 1;
    const std::size_t fresh = request_.defences.on(Defence::fresh) && !request_.options.search ? kFreshDraws : 0;
    run.calls = static_cast<std::uint32_t>(known + fresh);
    const auto jobs = jobs_of({run}, true);
    std::vector<Prepared> later;
    References references(*request_.task, request_.reference, request_.reference_seconds, jobs, request_.prepared);
    const auto start = Clock::now();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      Prepared prepared = references.next();
      if (prepared.error) return Unexpected(std::move(*prepared.error));
      const bool slow = !prepared.unanswered.empty() || seconds_since(start) > kSlowReference;
      const bool unanswered = !prepared.unanswered.empty();
      // In turns, so that a slow reference leaves one of each.
      (i % 2 == 1 && later.size() < fresh ? later : draws_).push_back(std::move(prepared));
      if (unanswered || (slow && later.size() >= std::min<std::size_t>(fresh, 1))) break;
    }
    known_ = draws_.size();
    std::move(later.begin(), later.end(), std::back_inserter(draws_));
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
        const bool fetch = turn < 2 || random_() % kLookedAt == 0;
        all_[i]->sample_block(fetch);
        if (fetch && !all_[i]->failed()) keep(i);
      }
      if (!back) sample_beside();
    }
    for (const auto& one : all_) one->conclude(ended_by);
    look_at_kept();
  }

  // Comparing takes long: the card would rest meanwhile, and whoever comes next would find it at another clock than the others do.
  void keep(std::size_t place) {
    if (kept_bytes_ + layout_.arena_bytes > kMostKept) look_at_kept();
    const std::byte* from = all_[place]->arena();
    kept_.push_back({place, all_[place]->last_draw(), {from, from + layout_.arena_bytes}});
    kept_bytes_ += layout_.arena_bytes;
  }

  void look_at_kept() {
    for (const Kept& one : kept_) verify(one.place, one.draw, one.arena.data());
    kept_.clear();
    kept_bytes_ = 0;
  }

  Expected<void> sample_fresh() {
    // Those whose answers are known stand at places that nobody can tell.
    std::vector<std::optional<std::size_t>> places((request_.options.search ? 1 : kFreshBlocks) * known_);
    for (std::size_t draw = known_; draw < draws_.size(); ++draw) places.insert(places.begin() + static_cast<std::ptrdiff_t>(random_() % (places.size() + 1)), draw);
    for (const std::optional<std::size_t>& place : places) {
      TimedWorker::Fresh fresh{{}, place};
      if (place) {
        fresh.inputs = draws_[*place].inputs;
      } else {
        task::Case run = run_;
        run.seed = random_();
        auto inputs = turned_inputs(*request_.task, run, draws_[random_() % known_].inputs);
        if (!inputs) return Unexpected(inputs.error());
        fresh.inputs.assign(std::make_move_iterator(inputs->begin()), std::make_move_iterator(inputs->end()));
      }
      for (std::size_t i = 0; i < all_.size(); ++i)
        if (!all_[i]->failed()) all_[i]->sample_fresh(fresh, [&](std::size_t draw, const std::byte* arena) { verify(i, draw, arena); });
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
    if (out.log.ending == evidence::Ending::trap) out.log.ending_detail += one.logged();
    on_call_(place, out);
  }

  struct Kept {
    std::size_t place, draw;
    std::vector<std::byte> arena;
  };

  const TimeRequest& request_;
  const task::Case& run_;
  const std::function<void(std::size_t, const CallEvidence&)>& on_call_;
  std::mt19937_64& random_;
  std::vector<Kept> kept_;                       // outputs of blocks that are not looked at yet
  std::size_t kept_bytes_ = 0;
  CaseLayout layout_;
  std::vector<Prepared> draws_;
  std::size_t known_ = 0;                        // of the draws: those that calls get again and again; the others come at the end
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
  // The samples of a short kernel lie close together where the host has no part in them; a busy host's do not.
  const bool steady = timing.us < 30 && timing.spread < 0.1 && doubts.slow_us < 1.2 * timing.us;
  const double slack_us = steady ? 0.1 * usual + 0.5 : 0.25 * usual + 2;
  if (defences.on(Defence::fresh) && timing.fresh_us > usual + slack_us && !timing.host_bound)
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
