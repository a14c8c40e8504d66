// Everything an emulated (or real) device saw while the launcher of one case ran: what the judge reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/profile.h"
#include "evidence/violation.h"

namespace kforge::evidence {

// One use of the runtime by the candidate's host code that the interface contract cares about.
struct RuntimeCall {
  std::string function;      // "cudaMalloc", "cudaStreamCreate", "cudaDeviceSynchronize", "cudaLaunchKernel", ...
  std::string kind;          // what `[interface] allow` calls it: workspace, streams, sync, host_alloc, libraries, graph; "" = always allowed
  bool on_given_stream = true;
  int error = 0;             // cudaError_t it returned
  std::string detail;
  std::uint64_t count = 1;
};

// How much of an output the kernels wrote during the call.
struct Coverage {
  std::string tensor;
  std::uint64_t elements = 0;
  std::uint64_t unwritten = 0;         // elements with at least one byte that no kernel wrote
  std::uint64_t first_unwritten = 0;   // element index; meaningful when unwritten > 0
  std::uint64_t host_written = 0;      // elements whose bytes came from the host during the call
};

enum class Ending : std::uint8_t {
  finished,   // the launcher returned and the stream was drained
  hang,       // deadlock proven
  limit,      // instruction or time budget of the call exceeded, nothing wrong seen
  trap,       // device-side trap, assert or fatal access
};

// A contract that this run could not judge in full, and why, in plain words: it is `unknown` unless it failed.
struct Unproven {
  std::string contract;      // "safety.races"
  std::string why;           // "the race shadow's 2048 MiB were used up: 12 accesses of `k` went unchecked"
};

struct LaunchLog {
  Ending ending = Ending::finished;
  std::string ending_detail;
  int returned = 0;                    // the launcher's cudaError_t
  std::vector<KernelProfile> kernels;
  std::vector<Violation> violations;
  std::vector<Unproven> unproven;
  std::vector<RuntimeCall> calls;
  std::vector<Coverage> coverage;
  std::vector<std::string> changed_inputs;  // names of `in` tensors that were written
  std::uint64_t thread_instructions = 0;
  std::uint64_t warpgroup_tiles = 0;   // of wgmma: m16n8 by 32 bytes along the depth
  std::uint64_t sampled_blocks = 0;    // 0: all blocks ran
  std::string output;                  // device printf, cut at 64 KiB
};

// JSON text, schema internal to one build of Kernel Forge (journals, programs of `kforge run`). Unknown keys are errors.
std::string to_json(const LaunchLog& log);
// Errors: failed, with what did not parse (the text may come from a hostile process).
bool from_json(std::string_view text, LaunchLog& log, std::string& error);

}  // namespace kforge::evidence
