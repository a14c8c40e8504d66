// How tensor cores add: what is publicly known of it, as one model with two parameters.
//
// Products are exact. The products of `width` neighbours along K and the accumulator are aligned to the largest exponent among them
// (a product's exponent is the sum of its operands'; subnormal operands have the smallest normal exponent), each is cut off below
// 2^-fraction of that power of two, towards zero; the sum of what is left is exact, and is cut off towards zero to the 24 bits
// of f32, or rounded to nearest for f16. Longer K are chains of such blocks, lowest first. Sources: Fasi, Higham, Mikaitis and Pranesh,
// "Numerical behavior of NVIDIA tensor cores" (2021); Khattak and Mikaitis, "Accurate models of NVIDIA tensor cores" (2025, arXiv
// 2512.07004). Not compared with a GPU yet, so the last bits are a model: against the exact sum a block errs by less
// than (width + 1) 2^-fraction 2^e before its last rounding, e the largest exponent; both that bound and the model are tested.
//
// NaN results are 0x7fffffff (f16: 0x7fff). Infinities behave as in IEEE 754. Integers are exact (wrapping, or .satfinite);
// f64 is a chain of fused multiply-adds in the written rounding mode.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ptx/module.h"

namespace kforge::emulator {

struct TensorModel {
  std::uint32_t width = 8;       // products that are added at once
  std::int32_t fraction = 24;    // bits that are kept below the largest exponent
};
// `sm`: of the device, 90 is sm_90.
TensorModel tensor_model(int sm, ptx::Type multiplicand);

// Smallest normal exponent of a multiplicand: -14 for f16, -126 for bf16 and tf32, -6 for e4m3, -14 for e5m2.
int smallest_exponent(ptx::Type multiplicand);

// Values of a multiplicand's format, `step` apart.
struct Multiplicands {
  const float* values = nullptr;
  std::size_t step = 1;
  ptx::Type type = ptx::Type::f16;
  float operator[](std::size_t i) const { return values[i * step]; }
};
// One block: c + sum of a[i] * b[i], i < count. `half`: the result is one of f16.
float add_block(const TensorModel& model, const Multiplicands& a, const Multiplicands& b, std::uint32_t count, float c, bool half);

}  // namespace kforge::emulator
