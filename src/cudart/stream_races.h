// Races between operations that nothing orders: kernels, copies and fills of different streams, and a kernel that was launched early
// (programmatic dependent launch) with the one before it. Here each runs to its end before the next begins, so the results never show
// them; the timeline knows what was promised, and the footprints say which bytes each touched.
//
// Nothing is said in doubt: after an allocation or a release by the host, which may wait for the device, all before it counts as over; so does a
// kernel that tells the host something by strong writes, and operations that talk to each other by strong accesses are let be.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cudart/timeline.h"
#include "emulator/footprint.h"

namespace kforge::cudart {

class Context;
struct Stream;

struct StreamOperation {
  StreamIndex stream = 0;              // add() fills in these two
  std::uint64_t tick = 0;              // the timeline's, of the stream
  std::string what;                    // "kernel f", "a copy of 4 bytes"
  std::string kernel;                  // mangled; empty: none
  std::string deed = "writes";         // in a message, where it writes: "frees"
  emulator::Footprint footprint;
  bool starts_next = false;            // lets a dependent launch begin before it ends
  bool waits = true;                   // for the operation before it in its stream, at some place
};

class StreamRaces {
 public:
  // Whether footprints are needed: a program with one stream has no unordered operations.
  static bool wanted(const Context& context);
  using Kept = std::shared_ptr<const StreamOperation>;
  // What the next operation of the stream may overlap if it is a dependent launch. To be asked before that is issued.
  std::vector<Kept> take_primaries(StreamIndex stream);
  // The operation was issued, as the last of its stream. `primaries`: it may begin before these have ended.
  void add(Context& context, StreamOperation operation, const Stream& stream, std::vector<Kept> primaries = {});
  // Work of the host functions that has one place: a copy, a fill, an allocation in the stream's order. It was issued.
  void add_work(Context& context, const Stream& stream, std::string what, emulator::Footprint footprint, std::string deed = "writes");
  // An operation was issued: what comes after it in the stream waits for it.
  void passed(StreamIndex stream) { primaries_.erase(stream); }
  void forget() { kept_.clear(), primaries_.clear(); }

 private:
  static constexpr std::size_t kMostKept = 256, kMostRuns = std::size_t{1} << 22;

  std::deque<Kept> kept_;
  std::map<StreamIndex, std::vector<Kept>> primaries_;    // that the stream's next dependent launch may overlap
};

}  // namespace kforge::cudart
