// Every row of the instruction table, written out: for each type once with the row's plainest words, and for the first type once with
// each of its words. Both ptxas and our checker are asked which of them a target and a PTX version have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kforge::ptxas {

struct Variant {
  std::uint16_t form = 0;
  std::string text;   // one line of PTX; registers of prologue()
};

// Rows that nothing is written of: those that are read only (any operands), and calls and branch tables, which are more than one line.
std::vector<Variant> all_variants();

// A module with one variant a line, a .loc before each. line_of[i]: the line of variants[i] in the text, from 1.
struct Batch {
  std::string text;
  std::vector<std::uint32_t> line_of;
};
// Without wide_registers there is no .b128 register, which ptxas refuses before PTX 8.3.
Batch write_batch(const std::vector<Variant>& variants, std::uint32_t version, std::uint32_t sm, bool wide_registers);

}  // namespace kforge::ptxas
