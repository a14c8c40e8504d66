// The state of the emulated runtime: one per process, made at first use and never destroyed (destructors of the program's own
// statics still call us at exit). Every exported function takes its lock, so the rest of the room knows no threads.
#pragma once

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

#include "cudart/call_log.h"
#include "cudart/registry.h"
#include "cudart/session.h"
#include "cudart/status.h"
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

struct Stream {
  StreamIndex index = Timeline::kLegacy;
  unsigned flags = 0;
  int priority = 0;
  std::uint64_t id = 0;
};

struct Event {
  unsigned flags = 0;
  std::optional<Clock> recorded;
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
};

class Context {
 public:
  static Context& get();

  std::recursive_mutex mutex;
  Settings settings;
  bool configured = false;                    // by the worker: then the environment has no say
  Registry registry;
  Timeline timeline;
  CallLog log;
  Session session;
  Call call;
  std::map<emulator::Address, Tensor> tensors;
  std::map<int, std::size_t> limits;          // cudaDeviceSetLimit

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

  // An operation was put into a stream; it took `us` by the model.
  void issue(const Stream& stream, std::string what, double us);
  // A word for the record of the function that runs now.
  void note(std::string detail) { detail_ = std::move(detail); }
  void violate(std::string contract, std::string kind, std::string kernel, std::string message, bool advice = false);

  // A kernel failed in a way that loses the context.
  void fail_later(Status status) { if (fatal_ == cudaSuccess) fatal_ = status; }
  bool lost() const { return fatal_ != cudaSuccess; }
  // Writes what kernels printed to stdout.
  void flush_output();

  // Around each exported function: begin() says whether it may run; end() keeps the error and the record.
  Status begin(const Function& function);
  Status end(const Function& function, Status status);
  static int& last_error();                    // of this thread

 private:
  Context() = default;
  bool make_device();
  Stream& per_thread_stream();

  std::unique_ptr<emulator::Device> device_;
  bool device_failed_ = false;
  Stream legacy_;
  std::map<std::thread::id, Stream> per_thread_;
  std::unordered_map<void*, std::unique_ptr<Stream>> streams_;
  std::unordered_map<void*, std::unique_ptr<Event>> events_;
  std::uint64_t next_stream_id_ = 3;
  Status fatal_ = cudaSuccess;
  bool fatal_seen_ = false;
  bool on_given_stream_ = true;
  std::string detail_;
  std::string printed_;
};

// Runs one exported function.
template <class Body>
int run(const Function& function, Body&& body) noexcept {
  Context& context = Context::get();
  const std::lock_guard lock(context.mutex);
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
