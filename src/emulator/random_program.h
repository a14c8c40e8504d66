// Random well-typed PTX programs, read off the instruction table, for the comparison of the two engines.
//
// A program is one entry `k(in, out, blob)`: each thread loads registers of every type from its slice of `in`, runs random
// instructions, and stores every result in its slice of `out`. What the manual leaves open is not generated, or compared
// within its bounds (RandomOutput).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ptx/module.h"
#include "ptx/table.h"

namespace kforge::emulator {

struct RandomOutput {
  std::uint64_t offset = 0;            // bytes in a thread's slice of `out`
  ptx::Type type = ptx::Type::none;
  bool any_nan = false;                // a NaN matches any NaN: the manual leaves the payload open
  double absolute = 0, relative = 0;   // both 0: bit for bit; else either bound suffices
  std::string line;                    // the PTX that made it
};

struct RandomProgram {
  std::uint64_t seed = 0;
  std::string text;
  std::vector<RandomOutput> outputs;
  std::uint32_t threads = 64, blocks = 2, cluster = 1;   // blocks, of a cluster
  std::uint64_t input_stride = 0, output_stride = 0;   // bytes a thread
  std::vector<std::byte> input;        // all threads
  std::vector<std::byte> blob;         // third parameter, by value
};

// Straight-line code of about `count` instructions of one row of the table; empty text: the generator makes none of them.
RandomProgram random_row(std::uint16_t form, std::uint64_t seed, int count);
// Rows that no program holds: what is not executed, ends the launch, or has nothing to observe.
bool is_never_generated(const ptx::Form& form);
// Straight-line code over all rows.
RandomProgram random_straight(std::uint64_t seed, int count);
// Branches, loops, predication and divergence around arithmetic, with barriers, shared memory, shuffles, votes and atomics.
RandomProgram random_structured(std::uint64_t seed, int count);
// Blocks of a cluster that write, update and copy into each other's shared memory, and read there (random_cluster_program.cc).
RandomProgram random_cluster(std::uint64_t seed, int phases);

}  // namespace kforge::emulator
