// Timed calls inside the worker: device buffers in several sets, calls between events, bursts for the parent's clock.
//
// What this says is the word of a process that the candidate shares: the parent checks it against its own clock, and the outputs
// against references that are never here (trial/time.h says which lie is caught where).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trial/device_api.h"
#include "trial/worker_request.h"

namespace kforge::trial {

// The verb "activity" ends each call by this fill on the given stream: what is recorded as ending after it was not ordered before the stream.
inline constexpr std::uint64_t kMarkerBytes = 4099, kMarkerValue = 0x5a;

// cudaDeviceSynchronize, marked for the parent's watchdog. Returns the device's error.
int wait_for_device();

class TimedCalls {
 public:
  explicit TimedCalls(Launcher launcher) : launcher_(launcher) {}
  ~TimedCalls() { close(); }
  TimedCalls(const TimedCalls&) = delete;
  TimedCalls& operator=(const TimedCalls&) = delete;

  // request["time"] is the verb: open, load, block, prepare, go, fetch, graph, copy, settings, adopt, activity, close. Buffers of another
  // process (keeper.h) are adopted by their handle; go then takes them with "shared".
  Json run(const Json& request, Arena& arena);

 private:
  struct Pair { std::size_t set = 0, draw = 0; int poison = 0xff; };   // buffers, inputs, and the byte that outputs are filled with (less than 0: they are left)
  struct Sample { double us = 0, launch_us = 0, after_us = 0, host_us = 0; };

  Json open(const Json& request);
  Json load(const Json& request, Arena& arena);
  Json block(const Json& request, Arena& arena);
  Json prepare(const Json& request);
  Json go(const Json& request);
  Json fetch(const Json& request, Arena& arena);
  Json graph(const Json& request);
  Json copy(const Json& request);                 // device to device: what its memory can do
  Json adopt(const Json& request);
  Json activity(const Json& request);             // what CUPTI records of calls; after all that is timed
  Json settings();                                // what a call may have left behind for the next: parts of L2 that are set aside
  void close();

  std::string allocate(std::uint64_t bytes, void*& pointer);
  std::vector<Pair> read_pairs(const Json& request) const;
  int fill(const Pair& pair);                     // inputs copied, outputs poisoned, on the stream
  int before(const Pair& pair, bool warm, bool flush);
  bool ready();                                   // stream and events are there
  // With `keep` outputs are copied as they are when the interval ends, not when the device is quiet.
  int sample(const Pair& pair, bool empty, bool keep, Sample& out);
  int launch(const std::vector<void*>& set);
  std::vector<std::vector<void*>> spread(void* block, std::size_t sets) const;   // tensors of all sets in one block
  std::uint64_t set_bytes() const;                // of a set in a block
  Json failed(int error) const;                   // of the device, or of the launcher
  int copy_back(const std::vector<void*>& from, const std::vector<void*>& inputs, Arena& arena);

  Launcher launcher_;
  std::vector<TensorRequest> tensors_;
  std::vector<std::uint64_t> values_;
  std::vector<std::vector<void*>> sets_, draws_;  // by set or draw, then tensor; draws hold inputs only
  std::vector<std::vector<void*>> adopted_sets_;
  void* block_ = nullptr;                         // of all sets, where they are shared
  void* adopted_ = nullptr;                       // a block of another process
  std::vector<void*> snapshot_;                   // outputs as they were when the timed interval ended
  void* flush_ = nullptr;
  std::uint64_t flush_bytes_ = 0;
  void* stream_ = nullptr;
  void* begin_ = nullptr;
  void* end_ = nullptr;
  int returned_ = 0;                              // by the launcher, where it was not 0
};

}  // namespace kforge::trial
