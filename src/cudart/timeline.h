// The order that a program's streams, events and waits promise, whatever order things really ran in.
//
// Launches run here as soon as they are issued, so a missing wait would never show in the results. Each stream therefore
// carries a vector clock: how many operations of every stream are known to be complete before its next one. Legacy default
// stream and blocking streams wait for each other (CUDA programming guide, "Implicit Synchronization"); non-blocking ones do not.
// At the end of a call, an operation that the given stream's clock does not cover is work that the caller never waits for.
//
// Times are simulated, in microseconds, and only grow along the promised order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kforge::cudart {

enum class StreamSort : std::uint8_t { legacy, blocking, non_blocking };
using StreamIndex = std::uint32_t;

// Operations known to be complete: ticks[s] of stream s.
struct Clock {
  std::vector<std::uint64_t> ticks;
  double us = 0;
  void join(const Clock& other);
  std::uint64_t of(StreamIndex stream) const { return stream < ticks.size() ? ticks[stream] : 0; }
};

class Timeline {
 public:
  static constexpr StreamIndex kLegacy = 0;

  Timeline();
  StreamIndex create(StreamSort sort);
  StreamSort sort(StreamIndex stream) const { return streams_[stream].sort; }

  std::size_t stream_count() const { return streams_.size(); }
  // What the stream's last operation came after, itself included; what the host knows to be complete.
  const Clock& clock(StreamIndex stream) const { return streams_[stream].clock; }
  const Clock& host() const { return host_; }

  // An operation of `us` microseconds in the stream.
  void issue(StreamIndex stream, std::string what, double us);
  // What an event recorded now would stand for.
  Clock record(StreamIndex stream);
  void wait(StreamIndex stream, const Clock& event);
  void host_waits(const Clock& event) { host_.join(event); }
  void host_waits_for(StreamIndex stream);
  void host_waits_for_all();

  // A call that is given `given`. What was issued to it before counts as unfinished until somebody waits for it.
  void begin_call(StreamIndex given);
  struct Fault {
    enum class Kind : std::uint8_t { not_joined, not_forked } kind;   // the caller does not wait for it; it does not wait for the caller
    std::string what;           // the first such operation of its stream
    StreamIndex stream;
    std::uint64_t count;        // such operations of that stream
  };
  std::vector<Fault> end_call();

 private:
  struct Operation { std::uint64_t tick; std::string what; bool forked; };
  struct Stream { StreamSort sort; Clock clock; std::vector<Operation> operations; };   // of the call that runs
  void settle(StreamIndex stream);   // takes in what it implicitly waits for

  std::vector<Stream> streams_;
  Clock host_;
  StreamIndex given_ = kLegacy;
  std::uint64_t given_tick_ = 0;
  bool in_call_ = false;
};

}  // namespace kforge::cudart
