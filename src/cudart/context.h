// The state of the emulated runtime: one per process, made at first use and never destroyed (destructors of the program's own
// statics still call us at exit). Every exported function takes its lock, so the rest of the room knows no threads.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cudart/abi.h"
#include "cudart/advice.h"
#include "cudart/call_log.h"
#include "cudart/float_environment.h"
#include "cudart/host_function.h"
#include "cudart/registry.h"
#include "cudart/session.h"
#include "cudart/status.h"
#include "cudart/stream_races.h"
#include "cudart/timeline.h"
#include "emulator/device.h"
#include "hardware/data_sheet.h"

namespace kforge::cudart {

// How a function meets an error that a kernel left behind. Launches are asynchronous on a GPU, so nobody hears of it before
// the host waits; from then on the context is lost.
enum class Mode : std::uint8_t {
  plain,     // works even then (cudaGetDevice, cudaGetDeviceCount, ...)
  context,   // needs the context: answers the error once it was seen
  sync,      // waits for the device: is the first to see it
};

// A row of api.def.
struct Function {
  const char* name;
  Mode mode;
  const char* kind;          // what `[interface] allow` calls it (evidence::RuntimeCall::kind)
};

struct Capture;
struct GraphNode;
class GraphStore;
class ArrayStore;
class PoolStore;

struct Stream {
  StreamIndex index = Timeline::kLegacy;
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t id = 0;
  std::map<int, std::array<std::byte, kAttributeBytes>> attributes;   // as the program set them
  std::shared_ptr<Capture> capture;           // that it takes part in
  std::vector<GraphNode*> tail;               // what the next captured work comes after
  // Branches of the graphs that are launched into it run in streams of their own (graph_run.h).
  std::vector<std::unique_ptr<Stream>> branches;
  const Stream* branch_of = nullptr;
  const Stream& root() const { return branch_of == nullptr ? *this : branch_of->root(); }   // that the program knows
};

struct Event {
  unsigned flags = 0;
  std::optional<Clock> recorded;
  std::shared_ptr<Capture> capture;           // it was recorded in
  std::vector<GraphNode*> tail;
};

// A tensor that the worker named with kforge_cudart_describe.
struct Tensor {
  std::string name;
  int role = 0;              // 0 in, 1 out, 2 inout
  std::uint64_t element_bytes = 1;
  std::vector<std::int64_t> shape, strides;   // in elements; empty: every element of the allocation
};

struct Settings {
  std::string sheet = "h200";
  emulator::Checks checks{.safety = true, .profile = false};
  std::uint64_t seed = 1;
};

// The call of the candidate's launcher that runs between kforge_cudart_begin_call and _end_call.
struct Call {
  bool running = false;
  bool any_ended = false;
  Stream* given = nullptr;
  std::thread::id thread;    // of the worker
  std::uint64_t sampled_blocks = 0;
  evidence::Ending ending = evidence::Ending::finished;
  std::string ending_detail;
  std::map<emulator::Address, std::string> allocated;   // by the candidate, during this call; the function's name
  FloatEnvironment environment;                         // of the host, when the call began
  std::uint64_t bytes_to_host = 0;                      // by copies
};

class Context {
 public:
  static Context& get();

  std::recursive_mutex mutex;
  Settings settings;
  bool configured = false;                    // by the worker: then the environment has no say
  Registry registry;
  Timeline timeline;
  StreamRaces stream_races;
  CallLog log;
  Session session;
  std::shared_ptr<GraphStore> graphs;
  std::shared_ptr<ArrayStore> arrays;
  std::shared_ptr<PoolStore> pools;
  Call call;
  bool loading = false;                       // the candidate's object: what it does meanwhile counts as its first call's
  std::map<emulator::Address, Tensor> tensors;
  std::map<int, std::size_t> limits;          // cudaDeviceSetLimit
  Advice advice;

  // The device, made at first use. Null when the data sheet cannot be had: the error is said on stderr once, and every
  // function answers cudaErrorInitializationError.
  emulator::Device* device();
  emulator::Device* device_if_any() { return device_.get(); }
  // Throws the device away with all memory, streams and errors.
  void reset();

  // Null for a handle that is no stream. Null, 1 and 2 are the legacy and per-thread default streams.
  Stream* find_stream(void* handle);
  Stream* create_stream(unsigned flags, int priority);
  bool destroy_stream(void* handle);
  Event* find_event(void* handle);
  Event* create_event(unsigned flags);
  bool destroy_event(void* handle);
  // Streams that take part in the capture.
  std::vector<Stream*> streams_of(const Capture* capture);

  // An operation was put into a stream; it took `us` by the model.
  void issue(const Stream& stream, std::string what, double us);
  // A word for the record of the function that runs now.
  void note(std::string detail) { detail_ = std::move(detail); }
  // Of the exported function that runs now.
  const char* running_name() const { return running_ == nullptr ? "CUDA" : running_->name; }
  // A name for a new allocation: "cudaMalloc #3".
  std::string next_label();
  void violate(std::string contract, std::string kind, std::string kernel, std::string message, bool advice = false);

  // Where in the program's host code the running function was called, for `kforge run`; empty else.
  evidence::SourcePosition call_position() const;

  // A kernel failed in a way that loses the context.
  void fail_later(Status status) { if (fatal_ == cudaSuccess) fatal_ = status; }
  bool lost() const { return fatal_ != cudaSuccess; }
  // Writes what kernels printed to stdout.
  void flush_output();

  // Calls code of the program that may wait for other threads of it.
  template <class F>
  void without_lock(F&& f) {
    mutex.unlock();
    f();
    mutex.lock();
  }

  // Calls a host function that a stream was given: on a GPU the driver does, in a thread of its own, and CUDA can be asked for nothing there.
  template <class F>
  void call_host_function(F&& f) {
    const HostFunctionScope scope;
    without_lock(f);
  }

  // Around each exported function: begin() says whether it may run; end() keeps the error and the record.
  Status begin(const Function& function);
  Status end(const Function& function, Status status);
  static int& last_error();                    // of this thread

 private:
  Context();
  bool make_device();
  void make_stores();
  Stream& per_thread_stream();

  std::unique_ptr<emulator::Device> device_;
  bool device_failed_ = false;
  Stream legacy_;
  std::map<std::thread::id, Stream> per_thread_;
  std::unordered_map<void*, std::unique_ptr<Stream>> streams_;
  std::unordered_map<void*, std::unique_ptr<Event>> events_;
  std::uint64_t next_stream_id_ = 3;
  const Function* running_ = nullptr;
  std::uint64_t allocations_ = 0;
  Status fatal_ = cudaSuccess;
  bool fatal_seen_ = false;
  bool on_given_stream_ = true;
  std::string detail_;
  std::string printed_, asserted_;   // by kernels, until the host waits
};

// Runs one exported function.
template <class Body>
int run(const Function& function, Body&& body) noexcept {
  Context& context = Context::get();
  const std::lock_guard lock(context.mutex);
  const DeviceArithmetic arithmetic;
  Status status = context.begin(function);
  if (status == cudaSuccess) {
    try {
      status = body(context);
    } catch (const std::bad_alloc&) {
      status = cudaErrorMemoryAllocation;
    } catch (...) {
      status = cudaErrorUnknown;
    }
  }
  return context.end(function, status);
}

}  // namespace kforge::cudart
