// A rule of the machine that an execution broke, as an observer saw it: raw material for a finding.
// One Violation stands for all occurrences at one place (`count`); the first one is described.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "evidence/profile.h"
#include "evidence/source.h"

namespace kforge::evidence {

struct Violation {
  std::string contract;       // id of contracts.md: "safety.bounds", "safety.races", "run.hang", ...
  std::string kind;           // finer, stable word: "out-of-bounds", "misaligned", "race-write-write", "barrier-divergence", ...
  bool advice = false;        // true: worth saying, no reason to reject (a race of equal values, say)
  std::string kernel;         // mangled name; empty for the host side
  SourcePosition where;
  SourcePosition other;       // the second party of a race, the allocation's first use, ...; may be empty
  std::string message;        // what happened, with figures, in plain words, one line
  std::string measured;       // e.g. "4 bytes at offset 4096 of a 4096-byte allocation"
  std::string required;       // e.g. "inside a live allocation"
  Dim3 block, thread;         // of the first occurrence
  std::uint64_t count = 1;
};

}  // namespace kforge::evidence
