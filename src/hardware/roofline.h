// The floor of physics: no kernel that moves these bytes and does these operations can be faster.
//
// A floor errs only downwards, because faster than the floor is rejected as impossible: all units overlap perfectly, clocks
// stay at the maximum boost, every instruction does two operations where one exists that does (fma, three-input add), and
// work for a unit that the part lacks runs at the rate of its fastest neighbour (an unknown tensor type at the fastest tensor
// rate, else as fp32). Negative or non-finite amounts count as nothing.
#pragma once

#include <string>

#include "hardware/data_sheet.h"

namespace kforge::hardware {

struct Work {
  double dram_bytes = 0;     // compulsory cold reads (writes may stay in L2: contracts.md, "Facts")
  double l2_bytes = 0;       // all bytes read and written
  double fp32_ops = 0, fp64_ops = 0, fp16_ops = 0, int_ops = 0, special_ops = 0;
  double tensor_ops = 0;     // in tensor_type
  std::string tensor_type = "f16";
};

struct Floor {
  double seconds = 0;                 // the largest term
  std::string bound;                  // "dram", "l2", "fp32", "fp64", "fp16", "int", "special", "tensor"; "" without work
  double dram_seconds = 0, l2_seconds = 0, compute_seconds = 0;
};
Floor roofline(const DataSheet& sheet, const Work& work);

// Peaks that the floor divides by, operations per second (a multiply-add is two); for reports.
double fp32_ops_per_s(const DataSheet& sheet);
double tensor_ops_per_s(const DataSheet& sheet, const std::string& type);  // 0: no such unit

}  // namespace kforge::hardware
