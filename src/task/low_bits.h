// Pairs of inputs that differ in the lowest bits of one tensor alone: what shows that a kernel cuts that operand, whatever the tolerance (judge/operand_use.h).
//
// Seeds 2p and 2p + 1 give one pair. Of each f32 value the lowest 13 of the 23 bits of the significand lie between 1 and 4095, so that cutting or rounding
// to the 10 bits of tf32 and f16, or to fewer, gives one value for both of the pair, upwards, downwards and to the nearest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "task/random.h"
#include "task/task.h"
#include "task/values.h"

namespace kforge::task {

inline constexpr std::string_view kLowBits = "low_bits:";   // and the tensor's name: a kind of values

// The kinds that say something about a task: it has bounds of its own, states no `accumulate`, computes f32 or f64, and draws f32 inputs. One an input.
std::vector<std::string> low_bits_kinds(const Task& task);

// Elements of one f32 tensor, the bytes between them included. Zeros, what is not finite, and what would leave the range stay as they are.
void set_low_bits(std::span<std::byte> floats, const CounterRandom& random, const ValueRange& range);

}  // namespace kforge::task
