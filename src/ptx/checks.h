// What can be said about a module without running it (layer 1 of a trial): instructions that a target lacks, and
// warp operations whose constant mask leaves lanes out. Values only; the judge decides what they mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptx/module.h"

namespace kforge::ptx {

struct TargetIssue {
  std::uint32_t line = 0;        // of the PTX text
  std::uint32_t location = 0;    // index into Module::locations
  std::string function;          // mangled name
  std::string opcode;            // as written: "atom.add.noftz.bf16"
  std::string feature;           // the modifier or special register that asks for more; empty: the form itself
  std::uint32_t needed_sm = 0;   // 80 is sm_80
  std::uint32_t needed_ptx = 0;  // 78 is PTX 7.8
  bool needs_suffix = false;     // only on targets such as sm_90a
};
// Instructions that `sm`, or the module's own .version, does not have: one per spelling and location, in text order.
std::vector<TargetIssue> check_target(const Module& module, std::uint32_t sm);

struct MaskFinding {
  std::uint32_t line = 0;
  std::uint32_t location = 0;
  std::string function;
  std::string opcode;
  std::uint32_t mask = 0;        // lanes that take part; at least one of 32 is missing
};
// shfl, vote, match, redux, elect and bar.warp.sync whose lane mask is a constant (written in the instruction, or
// in a register that is assigned once) other than 0xFFFFFFFF.
std::vector<MaskFinding> find_partial_masks(const Module& module);

}  // namespace kforge::ptx
