// Order that relaxed flags give a read before a write, without fences.
//
// A block reads its part of an array, meets at a barrier, and sets a flag by a relaxed store; another block that saw the flag, by a
// relaxed load, writes where the first one read (CUB's selections and scans in place: decoupled look-back). No causality order of the
// PTX memory model relates the two, so that they are a data race in its words; of one size, so that its axioms hold. What the flag
// says depends on what was read, and the write depends on what the flag said: the read cannot return what was written because of it
// (axiom No-Thin-Air), and a read whose thread has passed a barrier is over. A read *after* a write needs its fences as ever.
//
// Kept are the moments at which flags were set, and which of them a block saw; who comes before whom is asked only when a race
// would be reported.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "emulator/race_knowledge.h"

namespace kforge::emulator {

class RelaxedFlags {
 public:
  // A place in a warp's program: what its block did up to `barrier` is over, because all its threads met since.
  struct Moment {
    std::uint32_t block = 0;
    std::uint32_t warp = 0;
    RaceTime barrier = 0;
    RaceTime now = 0;
  };
  // A strong store to `address`, which no other moment shares its `now` with.
  void set(std::uint64_t address, const Moment& moment) { flags_[address] = moment; }
  // A strong load of `address`. What it saw is what was set last.
  void see(std::uint64_t address, const Moment& moment);
  // Whether an access that block `block` made at `time` was over when it set a flag that `moment` depends on.
  bool is_over(std::uint32_t block, RaceTime time, const Moment& moment);

 private:
  struct Seen {
    Moment flag;
    std::uint32_t warp;
    RaceTime now;
  };
  void follow(const Moment& moment);

  std::unordered_map<std::uint64_t, Moment> flags_;
  std::unordered_map<std::uint32_t, std::vector<Seen>> seen_;   // by block
  // Of the last question: for each block, the time up to which its accesses were over.
  Moment asked_;
  std::size_t asked_seen_ = ~std::size_t{0};
  std::unordered_map<std::uint32_t, RaceTime> over_;
};

}  // namespace kforge::emulator
