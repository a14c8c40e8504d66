// Machine code for straight stretches of a kernel, for warps whose 32 lanes are all active.
//
// A segment is a run of ops between two places where control may come in or go elsewhere. Its code executes lane-wise
// arithmetic in place (AVX-512 or AVX2, operands at fixed distances from the bank pointers) and calls the handlers of everything else, so that what
// the interpreter's loop does for each op (fetch, guard, count, dispatch, look at the flow) is done once for all. Wherever
// arithmetic leaves the plain case (a NaN result) the op's handler is called as well: there is one set of semantics.
//
// Where the machine has no AVX2, or grants no executable memory, there are no segments and the loop interprets everything.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/code.h"

namespace kforge::emulator {

struct OpProfile;

// What the code of a segment is given beside the warp.
struct SegmentRun {
  std::uint64_t guarded_lanes = 0;   // added up over ops with a guard
  OpProfile* ops = nullptr;          // profile: by pc
};

// Runs from the segment's first op on. Returns (ops executed, the last one included) << 8 | that op's Flow. The warp's pc is
// then that of the last op, unless its handler moved it.
using SegmentFunction = std::uint64_t (*)(Warp* warp, SegmentRun* run);

struct Segment {
  SegmentFunction run = nullptr;
  std::uint32_t first = 0, end = 0;   // pcs
  std::uint32_t index = 0;
  std::uint32_t unguarded = 0;        // ops without a guard
};

class SegmentCode {
 public:
  SegmentCode() = default;
  ~SegmentCode();
  SegmentCode(const SegmentCode&) = delete;
  SegmentCode& operator=(const SegmentCode&) = delete;

  // Null: none starts there.
  const Segment* at(std::uint32_t pc) const { return by_pc_.empty() ? nullptr : by_pc_[pc]; }
  const std::vector<Segment>& segments() const { return segments_; }

 private:
  friend std::unique_ptr<SegmentCode> compile_segments(const Kernel& kernel, Variant variant, bool wide);
  std::vector<Segment> segments_;
  std::vector<const Segment*> by_pc_;
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

// `wide`: with 512-bit registers where the machine has them; tests compare with and without.
std::unique_ptr<SegmentCode> compile_segments(const Kernel& kernel, Variant variant, bool wide = true);

}  // namespace kforge::emulator
