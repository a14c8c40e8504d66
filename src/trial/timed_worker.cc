#include "trial/timed_worker.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/paths.h"
#include "base/text.h"
#include "gpu/statistics.h"
#include "trial/candidate_process.h"
#include "trial/keeper.h"
#include "trial/sample_blocks.h"

namespace kforge::trial {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr std::uint64_t kFlushes = 3;                   // times the L2 cache
constexpr std::uint64_t kUnknownFlush = 256ull << 20;   // bytes, where the cache is not known
constexpr std::uint64_t kSetBytes = 256ull << 20;       // of all buffer sets together, but for two
constexpr std::size_t kMostSets = 64, kFewestSets = 2;
constexpr double kMemoryPart = 0.25;                    // of the device's, for all buffers of one contestant
constexpr double kWarmUpSeconds = 0.3, kLongestWarmUp = 2;
constexpr std::size_t kEmptySamples = 20, kBursts = 7, kFewestBurstCalls = 16;
constexpr double kGraphBelow = 20;                      // us: a tiny kernel
constexpr std::size_t kGraphCalls = 20, kGraphReplays = 15;
constexpr std::size_t kMostDiscardedBlocks = 200, kWatchedCalls = 3;
constexpr std::size_t kIdleWindows = 3;                // in which a thread of the driver sleeps at least once
constexpr std::chrono::milliseconds kIdleWindow{10};
constexpr std::size_t kCallsBeforeFresh = 3;            // on known inputs: after a pause the first calls wait for the host, whatever their inputs
constexpr double kSlowStartSeconds = 150;              // of PyTorch: to import it, to compile an operator

// What is no number reads as less than nothing, which no sample is.
std::vector<double> numbers(const json& object, const char* key) {
  std::vector<double> out;
  if (const auto found = object.find(key); found != object.end() && found->is_array())
    for (const json& value : *found) out.push_back(value.is_number() ? value.get<double>() : -1);
  return out;
}

}  // namespace

TimedWorker::TimedWorker(const TimeRequest& request, std::size_t place, const task::Case& run, const CaseLayout& layout, std::mt19937_64& random)
    : request_(request), place_(place), layout_(layout), random_(random), block_size_(kFewestInBlock), gpu_watch_(request.watch) {
  timing_.name = request.contestants[place].name;
  timing_.sizes = run.sizes;
  timing_.label = run.label;
  timing_.warm = request.options.warm;
  timing_.dishonest = request.contestants[place].doubts;
}

bool TimedWorker::goes_on() const { return !failed() && discarded_blocks_ <= kMostDiscardedBlocks; }
bool TimedWorker::known() const { return median_is_known(us_, request_.options.interval); }
const std::byte* TimedWorker::arena() const { return worker_->arena().data(); }

gpu::State TimedWorker::state() const {
  const auto& nvml = request_.gpu.nvml;
  return nvml ? nvml->state(nvml->device(request_.gpu.device.uuid, request_.gpu.device.index)) : gpu::State{};
}

// Of the candidate's worker, or of PyTorch's, which speaks the same protocol (data/baselines/pytorch_worker.py).
Expected<WorkerOptions> TimedWorker::options() const {
  WorkerOptions out = request_.worker;
  const Contestant& contestant = request_.contestants[place_];
  out.object = contestant.object;
  out.libraries = {request_.cupti, contestant.library};
  if (contestant.pytorch.empty()) return out;
  const auto python = find_program("python3");
  if (!python) return fail(ErrorCode::missing, "no python3 on PATH");
  const auto root = project_root();
  if (!root) return Unexpected(root.error());
  json tensors = json::array();
  for (const TensorPlace& place : layout_.places) {
    if (!place.tensor->strides.empty()) return fail(ErrorCode::unsupported, "PyTorch's operators are tried on plain tensors only");
    tensors.push_back({{"name", place.tensor->name}, {"dtype", task::name(place.tensor->dtype)}, {"role", static_cast<int>(place.tensor->role)}, {"shape", place.layout.shape}});
  }
  out.program = python->string();
  out.arguments = {(*root / "data" / "baselines" / "pytorch_worker.py").string()};
  const char* path = std::getenv("PATH");
  out.environment = {fmt::format("PATH={}", path ? path : "/usr/bin:/bin")};   // torch.compile starts compilers
  json scalars = json::object();
  for (const task::Scalar& scalar : request_.task->scalars) scalars[scalar.name] = scalar.value;
  out.configure = json{{"pattern", contestant.pattern}, {"variant", contestant.pytorch}, {"tensors", tensors}, {"scalars", scalars}}.dump();
  out.start_seconds = std::max(out.start_seconds, kSlowStartSeconds);
  return out;
}

Expected<void> TimedWorker::start() {
  const auto wanted = options();
  if (!wanted) {
    timing_.failure = to_string(wanted.error());
    return {};
  }
  auto worker = WorkerProcess::start(*wanted);
  if (!worker) return Unexpected(worker.error());
  worker_ = std::move(*worker);
  const Answer& started = worker_->started();
  if (!started.ok) {
    if (!started.error.empty() && !started.error.starts_with("object: ")) return fail(ErrorCode::failed, "the GPU cannot be used: " + started.error);
    fail_with(started);
    return {};
  }
  const json answer = json::parse(started.json, nullptr, false);
  if (const auto threads = answer.find("threads"); threads != answer.end() && threads->is_array())
    for (const json& id : *threads)
      if (id.is_string()) threads_.insert(id.get<std::string>());
  return {};
}

Expected<void> TimedWorker::open(std::size_t draws) {
  if (!worker_ && !failed())
    if (auto started = start(); !started) return started;
  if (failed()) return {};
  if (auto reserved = worker_->arena().reserve(layout_.arena_bytes); !reserved) return Unexpected(reserved.error());
  std::uint64_t bytes = 1;
  for (const TensorPlace& place : layout_.places) bytes += place.bytes;
  const auto memory = static_cast<std::uint64_t>(kMemoryPart * static_cast<double>(request_.gpu.device.memory_bytes));
  const std::uint64_t flush = flush_bytes_ = request_.gpu.device.l2_bytes > 0 ? kFlushes * request_.gpu.device.l2_bytes : kUnknownFlush;
  draws_ = draws;
  sets_ = std::clamp<std::size_t>(static_cast<std::size_t>(kSetBytes / bytes), kFewestSets, kMostSets);
  while (sets_ > 1 && memory > 0 && (sets_ + draws_ + 2) * bytes > memory) --sets_;
  while (!ask("open", {{"sets", sets_}, {"draws", draws_ + 1}, {"flush_bytes", flush}}) && sets_ > 1 && worker_->alive()) {
    sets_ /= 2;   // another process may hold the memory
    timing_.failure.clear();
  }
  return {};
}

void TimedWorker::load(std::size_t draw, const std::vector<SharedBytes>& inputs) {
  if (failed()) return;
  place_inputs(layout_, inputs, worker_->arena().data());
  (void)ask("load", {{"draw", draw}});
}

void TimedWorker::first_call() {
  if (failed()) return;
  read_settings(true);
  const auto block = run_block(1, {.warm = false, .flush = false, .empty = false, .fetch = true, .late = true});
  if (block) timing_.first_call_us = block->host_us.front();
}

void TimedWorker::read_settings(bool before) {
  if (failed() || !on(Defence::persistence) || !request_.contestants[place_].pytorch.empty()) return;
  const auto reply = ask("settings", json::object());
  if (!reply) return;
  const auto figure = [&](const char* key) { return reply->contains(key) && (*reply)[key].is_number() ? (*reply)[key].get<double>() : 0; };
  const Settings now{figure("set_aside"), figure("window")};
  if (before) settings_ = now;
  else if (now.set_aside > settings_.set_aside) timing_.dishonest.push_back(fmt::format("calls leave {} of the L2 cache set aside for persisting lines", human_bytes(now.set_aside)));
  else if (now.window > settings_.window) timing_.dishonest.push_back(fmt::format("calls leave an access window of {} on the given stream, whose lines persist in the L2 cache", human_bytes(now.window)));
}

// Threads of the driver were there before the object was, or are named after CUDA and sleep while nothing is asked of them. One that a candidate starts has its
// process's name, or that of the driver's thread in which it started it, and has something to do.
void TimedWorker::note_threads() {
  if (!request_.contestants[place_].pytorch.empty() || !request_.contestants[place_].starts_threads) return;
  std::map<std::string, std::size_t> busy;   // by thread: windows in which it ran
  std::map<std::string, std::uint64_t> ran;
  for (std::size_t window = 0; window <= kIdleWindows; ++window) {
    if (window > 0) std::this_thread::sleep_for(kIdleWindow);
    for (const WorkerProcess::Thread& thread : worker_->threads()) {
      if (threads_.contains(thread.id)) continue;
      const auto known = ran.find(thread.id);
      if (known != ran.end() && thread.ran_ns > known->second) ++busy[thread.id];
      ran[thread.id] = thread.ran_ns;
      if (thread.name.starts_with("cuda") && busy[thread.id] < kIdleWindows) continue;
      timing_.dishonest.push_back(fmt::format("a thread of the candidate's ('{}') goes on when its launcher has returned", thread.name));
      return;
    }
  }
}

void TimedWorker::measure_empty() {
  const auto block = run_block(kEmptySamples, {.warm = false, .flush = true, .empty = true, .fetch = false});
  if (!block) return;
  timing_.empty_us = gpu::median(block->us);
  doubts_.quiet_empty_us = gpu::median(block->after_us);
}

void TimedWorker::warm_up() {
  const auto start = Clock::now();
  double before = 0;
  while (!failed() && seconds_since(start) < kLongestWarmUp) {
    const auto block = run_block(block_size_, plain());
    if (!block) return;
    const double now = gpu::median(block->us);
    block_size_ = calls_in_block(now);
    if (seconds_since(start) > kWarmUpSeconds && before > 0 && std::abs(now - before) < 0.01 * before) return;
    before = now;
  }
}

void TimedWorker::sample_block(bool fetch) {
  const gpu::State before = state();
  // A random number of calls: none of them knows whether it is the one whose outputs are looked at.
  Flags flags = plain();
  flags.fetch = fetch;
  const auto block = run_block(block_size_ - random_() % (block_size_ / 2 + 1), flags);
  const gpu::State after = state();
  if (!block) return;
  if ((before.clock_reasons | after.clock_reasons) & gpu::kSpoiling) {
    timing_.discarded += block->us.size();
    ++discarded_blocks_;
    return;
  }
  states_.push_back(after);
  power_capped_ |= ((before.clock_reasons | after.clock_reasons) & gpu::kPowerCap) != 0;
  us_.insert(us_.end(), block->us.begin(), block->us.end());
  launch_us_.insert(launch_us_.end(), block->launch_us.begin(), block->launch_us.end());
  quiet_us_.insert(quiet_us_.end(), block->after_us.begin(), block->after_us.end() - (fetch ? 1 : 0));   // after the last one its outputs were copied
}

bool TimedWorker::works_in_place() const {
  return std::any_of(layout_.places.begin(), layout_.places.end(), [](const TensorPlace& place) { return place.has_input() && place.has_output(); });
}

std::optional<double> TimedWorker::go(const json& sets, bool wait, bool shared) {
  const auto start = Clock::now();
  if (!ask("go", {{"sets", sets}, {"wait", wait}, {"shared", shared}})) return std::nullopt;
  return 1e6 * seconds_since(start);
}

void TimedWorker::run_bursts(Keeper* keeper, const std::function<void(std::size_t draw, const std::byte* arena)>& verify) {
  if (failed()) return;
  if (!request_.contestants[place_].pytorch.empty()) keeper = nullptr;   // it does not know the word
  if (keeper && !ask("adopt", {{"handle", keeper->handle()}, {"sets", keeper->sets()}})) {
    if (!worker_->alive()) return;
    timing_.failure.clear();   // this driver shares nothing with a process in a sandbox
    keeper = nullptr;
  }
  timing_.witnessed = keeper != nullptr;
  const std::size_t count = keeper ? keeper->sets() : sets_;
  const auto prepare = [&](const json& pairs) { return keeper ? keeper->prepare(pairs) : ask("prepare", {{"pairs", pairs}}).has_value(); };
  const auto fetch = [&](std::size_t set) -> const std::byte* { return keeper ? keeper->fetch(set) : ask("fetch", {{"set", set}}) ? arena() : nullptr; };
  // Large tensors have few sets: these are gone through again, so that the launch of the first call and the wait for the last weigh little. Not in place: there a
  // second call has other inputs.
  const std::size_t calls_in_burst = works_in_place() ? count : std::max(count, kFewestBurstCalls);
  std::vector<double> whole, idle, enqueue;
  for (std::size_t turn = 0; turn < kBursts; ++turn) {
    json pairs = json::array(), sets = json::array();
    std::vector<std::size_t> draw_of;
    for (std::size_t set = 0; set < count; ++set) {
      draw_of.push_back(random_() % draws_);
      pairs.push_back({set, draw_of.back(), poison()});
      sets.push_back(set);
    }
    for (std::size_t set = 0; sets.size() < calls_in_burst; ++set) sets.push_back(set % count);
    if (!prepare(pairs)) return;
    const auto nothing = go(json::array(), true, false), all = go(sets, true, keeper != nullptr);
    if (!nothing || !all) return;
    // The last one, and any other: what is still under way is not there yet.
    const std::size_t looked_at = turn % 2 == 0 ? count - 1 : random_() % count;
    if (turn % 3 == 0 || keeper)
      if (const std::byte* tensors = fetch(looked_at)) verify(draw_of[looked_at], tensors);
    if (!prepare(pairs)) return;
    const auto queued = go(sets, false, keeper != nullptr);
    if (!queued || !go(json::array(), true, false)) return;
    idle.push_back(*nothing);
    whole.push_back(*all);
    enqueue.push_back(*queued);
  }
  const auto calls = static_cast<double>(calls_in_burst);
  const double nothing = gpu::median(idle);
  timing_.back_to_back_us = std::max(0.0, (gpu::median(whole) - nothing) / calls);
  doubts_.enqueue_us = std::max(0.0, (gpu::median(enqueue) - nothing) / calls);
  doubts_.slack_us = 4 + (0.5 * nothing + 20) / calls;
}

void TimedWorker::replay_graph(const std::function<void(std::size_t draw, const std::byte* arena)>& verify) {
  if (failed() || timing_.us >= kGraphBelow) return;
  // Calls on different buffers, as far as there are some: what one of them left is no answer to another. In place none can be worked on twice.
  const std::size_t calls = works_in_place() ? std::min(kGraphCalls, sets_) : kGraphCalls;
  json pairs = json::array();
  std::vector<std::size_t> draw_of;
  for (std::size_t set = 0; set < std::min(calls, sets_); ++set) draw_of.push_back(random_() % draws_);
  for (std::size_t call = 0; call < calls; ++call) pairs.push_back({call % sets_, draw_of[call % sets_], poison()});
  const auto answer = ask("graph", {{"pairs", pairs}, {"replays", kGraphReplays}});
  if (answer) {
    timing_.graph_us = gpu::median(numbers(*answer, "us"));
    const std::size_t looked_at = random_() % draw_of.size();
    if (ask("fetch", {{"set", looked_at}})) verify(draw_of[looked_at], arena());
  } else if (worker_->alive() && gpu_error_.empty()) {
    timing_.failure.clear();   // a launcher that cannot be captured is no fault
  }
}

void TimedWorker::sample_fresh(const Fresh& fresh, const std::function<void(std::size_t draw, const std::byte* arena)>& verify) {
  load(draws_, fresh.inputs);   // beside the known ones
  std::vector<std::size_t> draws;
  for (std::size_t i = 0; i < kCallsBeforeFresh; ++i) draws.push_back(random_() % draws_);
  draws.push_back(draws_);
  Flags flags = plain();
  flags.fetch = fresh.known.has_value();
  const auto block = run_block_on(draws, flags);
  if (!block) return;
  fresh_us_.push_back(block->us.back());
  if (fresh.known) verify(*fresh.known, arena());
}

void TimedWorker::watch() {
  if (!failed() && on(Defence::threads)) note_threads();   // before CUPTI starts its own
  activity_.trouble = request_.no_cupti;
  if (failed() || request_.cupti.empty()) return;
  if (!request_.contestants[place_].pytorch.empty()) {
    activity_.trouble = "PyTorch's process is not watched";
    return;
  }
  json pairs = json::array();
  for (std::size_t i = 0; i < kWatchedCalls; ++i) pairs.push_back({random_() % sets_, random_() % draws_, poison()});
  const auto answer = ask("activity", {{"pairs", pairs}, {"cupti", request_.cupti}});
  if (answer) {
    activity_ = read_activity(*answer);
    return;
  }
  // The time is known by now, and stands: a library in the process is no call as the candidate was promised.
  activity_.trouble = timing_.failure;
  timing_.failure.clear();
  fault_ = {};
  gpu_error_.clear();
  returned_ = 0;
}

void TimedWorker::conclude(std::string_view ended_by) {
  timing_.samples = us_.size();
  timing_.us = gpu::median(us_);
  timing_.p99_us = gpu::quantile(us_, 0.99);
  timing_.spread = gpu::spread(us_);
  timing_.interval = gpu::median_interval(us_);
  timing_.launch_us = gpu::median(launch_us_);
  timing_.samples_us = us_;
  timing_.ended_by = ended_by;
  doubts_.quiet_us = gpu::median(quiet_us_);
  doubts_.slow_us = gpu::quantile(us_, 0.9);
  const auto middle = [&](double gpu::State::*field) {
    std::vector<double> values;
    for (const gpu::State& state : states_) values.push_back(state.*field);
    return gpu::median(values);
  };
  timing_.conditions = {middle(&gpu::State::sm_mhz), middle(&gpu::State::memory_mhz), middle(&gpu::State::temperature_c), middle(&gpu::State::power_w), power_capped_};
  if (!failed() && us_.empty()) timing_.failure = timing_.discarded > 0 ? "the GPU was slowed down by heat or its power supply in every sample" : "no sample was taken";
}

TimedContestant TimedWorker::finish() {
  timing_.fresh_us = gpu::median(fresh_us_);
  if (!failed()) judge_honesty(doubts_, request_.defences, timing_);
  if (!failed()) judge_activity(activity_, request_.contestants[place_].kernels, request_.defences, timing_);
  worker_.reset();
  return {std::move(timing_), std::move(activity_)};
}

void TimedWorker::fail_with(const Answer& answer) {
  fault_ = answer.fault;
  timing_.failure = !answer.fault.contract.empty() ? answer.fault.message : !answer.undecided.empty() ? answer.undecided : answer.error;
  add_what_the_driver_logs();
}

void TimedWorker::add_what_the_driver_logs() {
  if (!gpu_watch_) return;
  logged_ = gpu_watch_->take(true);
  timing_.failure += logged_;
  if (!fault_.contract.empty()) fault_.message += logged_;
}

std::optional<json> TimedWorker::ask(const char* verb, const json& request) {
  if (failed()) return std::nullopt;
  json whole = json::parse(request_text(*request_.task, layout_, timing_.sizes, {}));
  whole.update(request);
  whole["time"] = verb;
  const Answer answer = worker_->call(whole.dump(), {request_.contestants[place_].pytorch.empty() ? request_.call_seconds : kSlowStartSeconds, 0, request_.stop});
  if (!answer.ok) {
    fail_with(answer);
    return std::nullopt;
  }
  json reply = json::parse(answer.json, nullptr, false);
  if (const auto done = reply.find("completed"); done == reply.end() || *done != false) return reply;
  const json number = reply.value("returned", json()), detail = reply.value("detail", json());
  returned_ = number.is_number_integer() ? number.get<int>() : 0;
  gpu_error_ = returned_ == 0 && detail.is_string() ? detail.get<std::string>() : "";
  timing_.failure = returned_ != 0 ? fmt::format("the launcher returned error {} in a timed call", returned_) : fmt::format("the GPU reports {} in a timed call", gpu_error_);
  add_what_the_driver_logs();
  return std::nullopt;
}

std::optional<TimedWorker::Block> TimedWorker::run_block(std::size_t count, Flags flags) {
  std::vector<std::size_t> draws(count);
  for (std::size_t& draw : draws) draw = random_() % draws_;
  return run_block_on(draws, flags);
}

std::optional<TimedWorker::Block> TimedWorker::run_block_on(const std::vector<std::size_t>& draws, Flags flags) {
  json pairs = json::array();
  for (const std::size_t draw : draws) pairs.push_back({random_() % sets_, last_draw_ = draw, poison()});
  const auto start = Clock::now();
  const auto reply = ask("block", {{"pairs", pairs}, {"warm", flags.warm}, {"flush", flags.flush}, {"empty", flags.empty}, {"fetch", flags.fetch}, {"late", flags.late || !on(Defence::quiet)}});
  if (!reply) return std::nullopt;
  const double took_us = 1e6 * seconds_since(start);
  Block out{numbers(*reply, "us"), numbers(*reply, "launch_us"), numbers(*reply, "after_us"), numbers(*reply, "host_us")};
  double sum = 0;
  bool sane = true;
  for (const auto* series : {&out.us, &out.launch_us, &out.after_us, &out.host_us}) sane &= series->size() == draws.size();
  for (const double us : out.us) {
    sane &= us >= 0;
    sum += us;
  }
  if (sane && (sum <= 1.02 * took_us + 100 || !on(Defence::clock))) return out;
  fault_ = {"run.crash", sane ? fmt::format("the worker reports {:.0f} us of samples within {:.0f} us: the candidate changed its clock", sum, took_us) : "the candidate damaged the worker: its samples cannot be read"};
  timing_.failure = fault_.message;
  return std::nullopt;
}

}  // namespace kforge::trial
