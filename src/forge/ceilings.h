// What a GPU reaches when it has nothing else to do, beside what its data sheet says: the bytes of a copy, and the operations of a matrix product by cuBLASLt.
#pragma once

#include <string>

#include "base/error.h"
#include "hardware/data_sheet.h"
#include "kforge/verdict.h"
#include "task/task.h"
#include "trial/trial.h"

namespace kforge::forge {

struct Ceilings {
  double copy_bytes_per_s = 0;   // device to device, read and written counted; 0: not measured
  double matrix_flops = 0;       // operations per second, f16 with f32 sums; 0: not measured
  std::string day;               // "2026-03-01", UTC
};

// Measured once a GPU, driver and day, and kept in the cache folder; what is missing of the kept ones is measured now. `product`: the matrix rate too. What cannot be
// measured is 0. REQUIRES: request.gpu, request.task, of whose candidates nothing runs.
Ceilings ceilings_of(const trial::TrialRequest& request, bool product);

// The matrix rate alone, measured now. 0: there is no cuBLASLt, or it cannot run here.
double measure_matrix_flops(trial::TrialRequest request);

// Whether the matrix rate bounds the task: products of f16 and bf16.
bool bound_by_matrix_rate(const task::Task& task, const std::string& pattern);

// Microseconds that the ceilings need at these sizes: every byte of the tensors once and, with `product`, two operations for each combination of the sizes. 0: not known.
double ceiling_us(const task::Task& task, const task::Sizes& sizes, const Ceilings& ceilings, bool product);

// "a copy moves 4.21 TB/s (data sheet 4.80), cuBLASLt does 760 TFLOP/s (989), seen 2026-03-01: they need 8.1 us, 62% reached; by the data sheet 7.0 us, 54%". Rates of 0 are left out.
std::string describe(const Ceilings& ceilings, const hardware::DataSheet& sheet, double ceiling_us, const TimeReport& time);

}  // namespace kforge::forge
