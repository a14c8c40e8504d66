// One PTX operation over every combination of edge values: what a real GPU answers decides what the manual leaves open.
// The list is operations.txt; a GPU's answers are goldens/operations.txt (see docs/h200-goldens.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kforge::h200 {

struct Operation {
  std::string result;                  // kind of value: "f32", "s64", "f16x2", "pred" (then 0 or 1 in 32 bits)
  std::vector<std::string> operands;   // kinds of %a, %b, %c
  std::string text;                    // "add.rn.f32 %d, %a, %b;"
  bool approximate = false;            // bits may differ within the manual's bound
};

std::uint32_t bits_of(const std::string& kind);   // of the register: 16, 32 or 64
// Throws std::runtime_error with the line that cannot be read.
std::vector<Operation> read_operations(const std::string& path);

std::string ptx_of(const Operation& operation);   // kernel `k(out, values, n)`; thread i < n handles combination i
// The operands of every combination: 3 words of 64 bits each.
std::vector<std::uint64_t> combinations(const Operation& operation);

// The emulator's answers, one word a combination. Throws std::runtime_error when it does not run.
std::vector<std::uint64_t> emulate(const Operation& operation);
// The reference engine's, of the combinations of these indices; whole warps where lanes answer together.
std::vector<std::uint64_t> emulate_slowly(const Operation& operation, const std::vector<std::size_t>& chosen);

}  // namespace kforge::h200
