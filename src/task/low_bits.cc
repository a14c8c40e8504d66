#include "task/low_bits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace kforge::task {
namespace {

constexpr std::uint32_t kCut = 0x1fff, kHalf = 0x1000;

bool is_drawn_f32(const Tensor& tensor) {
  return tensor.role != Role::out && tensor.dtype == Dtype::f32 && (tensor.values.kind == "normal" || tensor.values.kind == "uniform");
}

}  // namespace

std::vector<std::string> low_bits_kinds(const Task& task) {
  std::vector<std::string> out;
  const bool own_bounds = task.numerics.abs || task.numerics.rel;
  const bool computes = std::any_of(task.tensors.begin(), task.tensors.end(), [](const Tensor& t) { return t.role != Role::in && (t.dtype == Dtype::f32 || t.dtype == Dtype::f64); });
  if (!own_bounds || task.numerics.accumulate || !computes) return out;
  for (const Tensor& tensor : task.tensors)
    if (is_drawn_f32(tensor)) out.push_back(std::string(kLowBits) + tensor.name);
  return out;
}

void set_low_bits(std::span<std::byte> floats, const CounterRandom& random, const ValueRange& range) {
  for (std::size_t i = 0; i + 1 <= floats.size() / sizeof(float); ++i) {
    std::byte* at = floats.data() + i * sizeof(float);
    float value;
    std::memcpy(&value, at, sizeof value);
    if (value == 0 || !std::isnormal(value)) continue;
    const std::uint32_t bits = (std::bit_cast<std::uint32_t>(value) & ~kCut) | (1 + static_cast<std::uint32_t>(random.below(i, kHalf - 1)));
    const float moved = std::bit_cast<float>(bits);
    if (range.contains(moved)) std::memcpy(at, &moved, sizeof moved);
  }
}

}  // namespace kforge::task
