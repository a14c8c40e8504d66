// The tensors of one case as bytes: where each lies in the arena, how the reference sees them, and the text of a request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "task/cases.h"
#include "task/task.h"
#include "trial/shared_list.h"

namespace kforge::trial {

using Bytes = std::vector<std::byte>;

struct TensorPlace {
  const task::Tensor* tensor = nullptr;
  task::TensorLayout layout;
  std::uint32_t element_bytes = 1;   // on this side: the dtype's, or the reference's
  std::uint64_t bytes = 0;           // of the buffer on this side
  std::uint64_t in = 0, out = 0;     // offsets in the arena
  bool has_input() const { return tensor->role != task::Role::out; }
  bool has_output() const { return tensor->role != task::Role::in; }
};

struct CaseLayout {
  std::vector<TensorPlace> places;   // one a tensor, in the task's order
  std::uint64_t arena_bytes = 0;
  bool for_reference = false;
};
Expected<CaseLayout> lay_out(const task::Task& task, const task::Sizes& sizes, bool for_reference);

// Inputs of one call, in the order of the task's in and inout tensors. `quick`: large float inputs repeat a random tile
// of 1 Mi elements (for runs whose numbers nobody judges).
Expected<std::vector<Bytes>> make_inputs(const task::Task& task, const task::Case& run, bool quick);
// Inputs that no call has had, in no more time: large float ones are the known ones of the same sizes, turned by a drawn number of elements, which no candidate can tell from
// new ones. `known` in the order of make_inputs.
Expected<std::vector<Bytes>> turned_inputs(const task::Task& task, const task::Case& run, std::span<const SharedBytes> known);

// An input as the reference takes it, written to `to` (place.bytes bytes).
void store_for_reference(const TensorPlace& place, std::span<const std::byte> input, std::byte* to);
// Multiplies each element of a normal input in the reference's memory by 1 + 2 unit or 1 - 2 unit, as `seed` says; other inputs stay, for their range is the task's.
void nudge_for_reference(const TensorPlace& place, double unit, std::uint64_t seed, std::byte* at);
// A result of the reference: every element, row-major.
std::vector<double> gather_reference(const TensorPlace& place, const std::byte* from);

struct CallOptions {
  bool new_case = true, reset = false, outputs = true;
  std::uint64_t serial = 0;          // differs from call to call: the poison of outputs
  std::uint64_t thread_instructions = 0, sampled_blocks = 0;
  double seconds = 0;
  std::uint64_t sealed_bytes = 0;    // of the file that holds the inputs (sealed_inputs.h), nothing being in the arena; 0: they are in the arena
  std::uint64_t schedule_seed = 0;   // of the order in which the emulated device runs its warps
};
std::string request_text(const task::Task& task, const CaseLayout& layout, const task::Sizes& sizes, const CallOptions& options);

}  // namespace kforge::trial
