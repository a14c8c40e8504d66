#include "trial/worker_timing.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "trial/sandbox.h"
#include "trial/worker_activity.h"

namespace kforge::trial {
namespace {

using Clock = std::chrono::steady_clock;

double us_between(Clock::time_point from, Clock::time_point to) { return std::chrono::duration<double, std::micro>(to - from).count(); }

constexpr unsigned kLazyPeerAccess = 1;          // cudaIpcMemLazyEnablePeerAccess
constexpr std::uint64_t kAlignment = 512;        // of a tensor in a shared block, as cudaMalloc's at least

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::string to_hex(const DeviceApi::SharedHandle& handle) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char byte : handle.bytes) {
    out += kDigits[static_cast<unsigned char>(byte) >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

bool from_hex(const std::string& text, DeviceApi::SharedHandle& handle) {
  if (text.size() != 2 * sizeof handle.bytes) return false;
  const auto digit = [](char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; };
  for (std::size_t i = 0; i < sizeof handle.bytes; ++i) handle.bytes[i] = static_cast<char>(digit(text[2 * i]) * 16 + digit(text[2 * i + 1]));
  return true;
}

constexpr int kBusyValue = 0x3c;                 // of the fill before a watched call
constexpr int kPersistingLimit = 6;             // cudaLimitPersistingL2CacheSize
constexpr int kWindowAttribute = 1;              // cudaStreamAttributeAccessPolicyWindow
struct AccessWindow {                            // cudaStreamAttrValue with its member accessPolicyWindow
  void* base = nullptr;
  std::size_t bytes = 0;
  float ratio = 0;
  int hit = 0, miss = 0;
  char rest[40] = {};
};
static_assert(sizeof(AccessWindow) >= 64);

constexpr int kRelaxedCapture = 2;               // cudaStreamCaptureModeRelaxed
constexpr int kShortFills = 24;                  // of an eighth of the L2 cache: work before a warm call, so that the launch is queued when its
constexpr std::uint64_t kShortFillParts = 24;    // turn comes, as a flush does for a cold one; of the flush buffer, which is three times the cache

}  // namespace

namespace {

// While it lives, the parent's watchdog knows that the device is waited for.
class Waiting {
 public:
  Waiting() { mark(1); }
  ~Waiting() { mark(0); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  static void mark(std::uint64_t value) {
    static std::uint64_t* const header = Arena::header();
    if (header) std::atomic_ref(header[kWaitingWord]).store(value, std::memory_order_relaxed);
  }
};

}  // namespace

int wait_for_device() {
  const Waiting waiting;
  return device_api.synchronise();
}

Json TimedCalls::run(const Json& request, Arena& arena) {
  const std::string verb = request.at("time");
  if (!device_api.times()) return failure("the runtime lacks events");
  if (verb == "open") return open(request);
  if (verb == "load") return load(request, arena);
  if (verb == "block") return block(request, arena);
  if (verb == "prepare") return prepare(request);
  if (verb == "go") return go(request);
  if (verb == "fetch") return fetch(request, arena);
  if (verb == "graph") return graph(request);
  if (verb == "copy") return copy(request);
  if (verb == "settings") return settings();
  if (verb == "adopt") return adopt(request);
  if (verb == "activity") return activity(request);
  close();
  return {{"ok", true}};
}

Json TimedCalls::failed(int error) const {
  if (returned_ != 0) return {{"ok", true}, {"completed", false}, {"returned", returned_}, {"detail", ""}};
  return {{"ok", true}, {"completed", false}, {"returned", 0}, {"detail", device_api.error_name(error)}};
}

std::string TimedCalls::allocate(std::uint64_t bytes, void*& pointer) {
  pointer = nullptr;
  return bytes == 0 || device_api.malloc(&pointer, bytes) == 0 ? std::string() : "no device memory for timing";
}

Json TimedCalls::open(const Json& request) {
  close();
  tensors_ = read_tensors(request);
  values_ = read_values(request.at("values"));
  flush_bytes_ = request.at("flush_bytes");
  std::string why = allocate(flush_bytes_, flush_);
  sets_.resize(request.at("sets").get<std::size_t>());
  draws_.resize(request.at("draws").get<std::size_t>());
  const bool share = request.value("share", false);
  if (share && (!device_api.shares() || sets_.empty())) return failure("the runtime shares no memory");
  if (share && why.empty()) why = allocate(sets_.size() * set_bytes(), block_);
  if (share && why.empty()) sets_ = spread(block_, sets_.size());
  for (auto& set : sets_)
    for (const TensorRequest& tensor : tensors_)
      if (!share && why.empty()) why = allocate(tensor.bytes, set.emplace_back());
  for (auto& draw : draws_)
    for (const TensorRequest& tensor : tensors_)
      if (why.empty()) why = allocate(tensor.has_input() ? tensor.bytes : 0, draw.emplace_back());
  for (const TensorRequest& tensor : tensors_)
    if (why.empty()) why = allocate(tensor.has_output() ? tensor.bytes : 0, snapshot_.emplace_back());
  if (why.empty() && !ready()) why = "no stream or no events can be made";
  if (why.empty() && !share) return {{"ok", true}};
  DeviceApi::SharedHandle handle;
  if (why.empty() && device_api.share(&handle, block_) == 0) return {{"ok", true}, {"handle", to_hex(handle)}};
  if (why.empty()) why = "the memory cannot be shared";
  close();
  device_api.last_error();   // not sticky: the next attempt asks for less
  return failure(why);
}

bool TimedCalls::ready() {
  if (!stream_ && device_api.create_stream(&stream_, kNonBlockingStream) != 0) return false;
  if (begin_) return true;
  return device_api.create_event(&begin_) == 0 && device_api.create_event(&end_) == 0;
}

void TimedCalls::close() {
  const auto drop = [&](std::vector<void*>& all) {
    for (void* pointer : all)
      if (pointer) device_api.free(pointer);
    all.clear();
  };
  if (adopted_) device_api.leave(adopted_);
  adopted_ = nullptr;
  adopted_sets_.clear();
  if (block_) {
    device_api.free(block_);
    sets_.clear();
  }
  block_ = nullptr;
  for (auto* group : {&sets_, &draws_}) {
    for (auto& all : *group) drop(all);
    group->clear();
  }
  drop(snapshot_);
  if (flush_) device_api.free(flush_);
  flush_ = nullptr;
}

std::uint64_t TimedCalls::set_bytes() const {
  std::uint64_t bytes = 0;
  for (const TensorRequest& tensor : tensors_) bytes += aligned(tensor.bytes);
  return bytes;
}

std::vector<std::vector<void*>> TimedCalls::spread(void* block, std::size_t sets) const {
  std::vector<std::vector<void*>> out(sets);
  char* at = static_cast<char*>(block);
  for (auto& set : out)
    for (const TensorRequest& tensor : tensors_) {
      set.push_back(tensor.bytes == 0 ? nullptr : at);
      at += aligned(tensor.bytes);
    }
  return out;
}

Json TimedCalls::adopt(const Json& request) {
  if (!device_api.shares()) return failure("the runtime shares no memory");
  DeviceApi::SharedHandle handle;
  if (!from_hex(request.at("handle").get_ref<const std::string&>(), handle)) return failure("this is no handle");
  if (const int error = device_api.adopt(&adopted_, handle, kLazyPeerAccess); error != 0) {
    device_api.last_error();
    adopted_ = nullptr;
    return failure(std::string("the memory cannot be adopted: ") + device_api.error_name(error));
  }
  adopted_sets_ = spread(adopted_, request.at("sets").get<std::size_t>());
  return {{"ok", true}, {"completed", true}};
}

Json TimedCalls::load(const Json& request, Arena& arena) {
  const std::vector<void*>& draw = draws_.at(request.at("draw").get<std::size_t>());
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (draw[i])
      if (const int error = device_api.copy(draw[i], arena.at(tensors_[i].offset_in), tensors_[i].bytes, kHostToDevice); error != 0) return failed(error);
  return {{"ok", true}, {"completed", true}};
}

std::vector<TimedCalls::Pair> TimedCalls::read_pairs(const Json& request) const {
  std::vector<Pair> out;
  for (const Json& pair : request.at("pairs")) out.push_back({pair.at(0), pair.at(1), pair.at(2)});
  for (const Pair& pair : out) (void)sets_.at(pair.set), (void)draws_.at(pair.draw);
  return out;
}

int TimedCalls::fill(const Pair& pair) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    void* to = sets_[pair.set][i];
    if (!to) continue;
    if (!draws_[pair.draw][i] && pair.poison < 0) continue;
    const int error = draws_[pair.draw][i] ? device_api.copy_async(to, draws_[pair.draw][i], tensors_[i].bytes, kDeviceToDevice, stream_) : device_api.set(to, pair.poison, tensors_[i].bytes, stream_);
    if (error != 0) return error;
  }
  return 0;
}

int TimedCalls::launch(const std::vector<void*>& set) {
  std::vector<void*> pointers = set, arguments;
  std::vector<std::uint64_t> values = values_;
  for (void*& pointer : pointers) arguments.push_back(&pointer);
  for (std::uint64_t& value : values) arguments.push_back(&value);
  const int returned = launcher_(arguments.data(), stream_);
  if (returned != 0) returned_ = returned;
  return returned;
}

// A call as it is timed begins with inputs in place, poisoned outputs, and the L2 cache cold: no line of the tensors in it, persisting ones
// included. Warm, a call has just run on the same buffers, where there is a choice on other inputs: its answer is none to this one.
int TimedCalls::before(const Pair& pair, bool warm, bool flush) {
  int error = 0;
  if (warm) {
    const std::size_t known = std::max<std::size_t>(draws_.size(), 2) - 1;   // the last one is for inputs that come later
    error = fill({pair.set, known > 1 ? (pair.draw + 1) % known : pair.draw, pair.poison});
    if (error == 0) error = launch(sets_[pair.set]);
  }
  if (error == 0) error = fill(pair);
  if (error == 0 && warm) {
    for (int i = 0; i < kShortFills && error == 0 && flush_; ++i) error = device_api.set(flush_, i, flush_bytes_ / kShortFillParts, stream_);
    return error;
  }
  if (error != 0 || !flush || !flush_) return error;
  if (device_api.reset_persisting) (void)device_api.reset_persisting();
  return device_api.set(flush_, pair.poison, flush_bytes_, stream_);
}

int TimedCalls::sample(const Pair& pair, bool empty, bool keep, Sample& out) {
  int error = device_api.record(begin_, stream_);
  if (error != 0) return error;
  const auto start = Clock::now();
  if (!empty) error = launch(sets_[pair.set]);
  const auto launched = Clock::now();
  if (error == 0) error = device_api.record(end_, stream_);
  // What was not in place when the interval ended does not count: outputs are judged as they are now.
  for (std::size_t i = 0; keep && i < tensors_.size() && error == 0; ++i)
    if (snapshot_[i]) error = device_api.copy_async(snapshot_[i], sets_[pair.set][i], tensors_[i].bytes, kDeviceToDevice, stream_);
  if (error == 0 && !keep) {
    const Waiting waiting;
    error = device_api.wait_for_event(end_);
  }
  const auto ended = Clock::now();
  if (error == 0) error = wait_for_device();
  const auto quiet = Clock::now();
  float ms = 0;
  if (error == 0) error = device_api.elapsed(&ms, begin_, end_);
  out = {ms * 1000.0, us_between(start, launched), keep ? 0 : us_between(ended, quiet), us_between(start, quiet)};
  return error;
}

Json TimedCalls::block(const Json& request, Arena& arena) {
  const std::vector<Pair> pairs = read_pairs(request);
  const bool warm = request.at("warm"), flush = request.at("flush"), empty = request.at("empty"), fetch = request.at("fetch"), late = request.at("late");
  Json us = Json::array(), launch_us = Json::array(), after_us = Json::array(), host_us = Json::array();
  returned_ = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    Sample one;
    const bool keep = fetch && !late && i + 1 == pairs.size();
    int error = before(pairs[i], warm, flush);
    if (error == 0 && !flush) error = wait_for_device();   // the host's clock starts on an idle device
    if (error == 0) error = sample(pairs[i], empty, keep, one);
    if (error != 0) return failed(error);
    us.push_back(one.us);
    launch_us.push_back(one.launch_us);
    after_us.push_back(one.after_us);
    host_us.push_back(one.host_us);
  }
  if (fetch && !pairs.empty())
    if (const int error = copy_back(late ? sets_[pairs.back().set] : snapshot_, sets_[pairs.back().set], arena); error != 0) return failed(error);
  return {{"ok", true}, {"completed", true}, {"us", us}, {"launch_us", launch_us}, {"after_us", after_us}, {"host_us", host_us}};
}

Json TimedCalls::prepare(const Json& request) {
  returned_ = 0;
  int error = 0;
  for (const Pair& pair : read_pairs(request))
    if (error == 0) error = fill(pair);
  if (error == 0 && flush_) error = device_api.set(flush_, 0, flush_bytes_, stream_);
  if (error == 0) error = wait_for_device();
  if (error != 0) return failed(error);
  return {{"ok", true}, {"completed", true}};
}

// Nothing but the calls and, if asked for, the end of all work: the parent measures how long the answer takes.
Json TimedCalls::go(const Json& request) {
  int error = 0;
  const auto& sets = request.value("shared", false) ? adopted_sets_ : sets_;
  for (const Json& set : request.at("sets")) {
    error = launch(sets.at(set.get<std::size_t>()));
    if (error != 0) break;
  }
  if (error == 0 && request.at("wait")) error = wait_for_device();
  if (error != 0) return failed(error);
  return {{"ok", true}, {"completed", true}};
}

Json TimedCalls::fetch(const Json& request, Arena& arena) {
  const std::vector<void*>& set = sets_.at(request.at("set").get<std::size_t>());
  if (const int error = copy_back(set, set, arena); error != 0) return failed(error);
  return {{"ok", true}, {"completed", true}};
}

int TimedCalls::copy_back(const std::vector<void*>& from, const std::vector<void*>& inputs, Arena& arena) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const void* source = tensors_[i].has_output() ? from[i] : inputs[i];
    if (!source) continue;
    if (const int error = device_api.copy(arena.at(tensors_[i].offset_out), source, tensors_[i].bytes, kDeviceToHost); error != 0) return error;
  }
  return 0;
}

Json TimedCalls::copy(const Json& request) {
  const auto bytes = request.at("bytes").get<std::uint64_t>(), rounds = request.at("rounds").get<std::uint64_t>();
  void *from = nullptr, *to = nullptr;
  std::string why = ready() ? allocate(bytes, from) : "no stream or no events can be made";
  if (why.empty()) why = allocate(bytes, to);
  int error = why.empty() ? device_api.set(from, 1, bytes, stream_) : 0;
  Json us = Json::array();
  for (std::uint64_t i = 0; i < rounds && why.empty() && error == 0; ++i) {
    error = device_api.record(begin_, stream_);
    if (error == 0) error = device_api.copy_async(to, from, bytes, kDeviceToDevice, stream_);
    if (error == 0) error = device_api.record(end_, stream_);
    if (error == 0) error = wait_for_device();
    float ms = 0;
    if (error == 0) error = device_api.elapsed(&ms, begin_, end_);
    us.push_back(ms * 1000.0);
  }
  if (from) device_api.free(from);
  if (to) device_api.free(to);
  if (!why.empty()) return failure(why);
  if (error != 0) return failed(error);
  return {{"ok", true}, {"completed", true}, {"us", us}};
}

Json TimedCalls::activity(const Json& request) {
  refuse_quietly();
  if (const std::string why = start_activity(request.at("cupti")); !why.empty()) return failure(why);
  if (!flush_ || flush_bytes_ < kMarkerBytes) return failure("there is no room for a marker");
  Json calls = Json::array();
  returned_ = 0;
  for (const Pair& pair : read_pairs(request)) {
    int error = fill(pair);
    if (error == 0) error = wait_for_device();
    (void)take_activity();
    // The given stream is busy until all of the call is queued: what does not wait for it is then seen to go on after it.
    if (error == 0) error = device_api.set(flush_, kBusyValue, flush_bytes_, stream_);
    if (error == 0) error = launch(sets_[pair.set]);
    if (error == 0) error = device_api.set(flush_, kMarkerValue, kMarkerBytes, stream_);
    if (error == 0) error = wait_for_device();
    if (error != 0) return failed(error);
    Json& call = calls.emplace_back(Json::array());
    for (const ActivityRecord& one : take_activity())
      if (one.kind != ActivityRecord::Kind::fill || one.bytes != flush_bytes_ || one.value != kBusyValue) call.push_back({{"kind", std::string(1, static_cast<char>(one.kind))}, {"name", one.name}, {"stream", one.stream}, {"start", one.start_ns}, {"end", one.end_ns}, {"bytes", one.bytes}, {"copy_kind", one.copy_kind}, {"value", one.value}});
  }
  return {{"ok", true}, {"completed", true}, {"calls", calls}};
}

Json TimedCalls::settings() {
  std::size_t set_aside = 0;
  if (device_api.get_limit && device_api.get_limit(&set_aside, kPersistingLimit) != 0) set_aside = 0, device_api.last_error();
  AccessWindow window;
  if (stream_ && device_api.stream_attribute && device_api.stream_attribute(stream_, kWindowAttribute, &window) != 0) window = {}, device_api.last_error();
  return {{"ok", true}, {"completed", true}, {"set_aside", set_aside}, {"window", window.bytes}};
}

// The launcher's work as a graph, a call for each pair, replayed: what a tiny kernel costs without the launch. Inputs and poison are renewed before each replay,
// outside the interval, so that the outputs that are left are of the last one.
Json TimedCalls::graph(const Json& request) {
  if (!device_api.graphs()) return failure("the runtime has no graphs");
  const std::vector<Pair> pairs = read_pairs(request);
  const auto replays = request.at("replays").get<std::size_t>();
  if (pairs.empty()) return failure("a graph of no calls");
  returned_ = 0;
  int error = fill(pairs.front());
  if (error == 0) error = wait_for_device();
  if (error != 0) return failed(error);
  void *graph = nullptr, *executable = nullptr;
  if (device_api.begin_capture(stream_, kRelaxedCapture) != 0) {
    device_api.last_error();   // a launcher would take it for its own
    return failure("the stream cannot be captured");
  }
  for (std::size_t i = 0; i < pairs.size() && error == 0; ++i) error = launch(sets_[pairs[i].set]);
  const int captured = device_api.end_capture(stream_, &graph);
  if (error != 0 || captured != 0 || !graph || device_api.instantiate(&executable, graph, 0) != 0) {
    device_api.last_error();
    returned_ = 0;
    return failure("the launcher's work cannot be captured in a graph");
  }
  Json us = Json::array();
  for (std::size_t i = 0; i <= replays && error == 0; ++i) {
    for (std::size_t k = 0; k < pairs.size() && error == 0; ++k) error = fill(pairs[k]);
    if (error == 0) error = device_api.record(begin_, stream_);
    if (error == 0) error = device_api.launch_graph(executable, stream_);
    if (error == 0) error = device_api.record(end_, stream_);
    if (error == 0) error = wait_for_device();
    float ms = 0;
    if (error == 0) error = device_api.elapsed(&ms, begin_, end_);
    if (i > 0) us.push_back(ms * 1000.0 / static_cast<double>(pairs.size()));   // the first one uploads it
  }
  device_api.destroy_executable(executable);
  device_api.destroy_graph(graph);
  if (error != 0) return failed(error);
  return {{"ok", true}, {"completed", true}, {"us", us}};
}

}  // namespace kforge::trial
