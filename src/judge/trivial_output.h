// Outputs that say no more than nothing does, where a task's own tolerance is so wide that it would admit them.
//
// A tolerance that admits zeros, the mean or an input as it is admits them with a little noise as well, so that comparing bits is not enough. Here the error
// of the output is held against the error of the best trivial answer: zeros, the mean of the reference, or an input of the same shape.
#pragma once

#include <span>
#include <string>

#include "judge/numerics.h"

namespace kforge::judge {

// Empty, or why the outputs of all draws together are no better than a trivial answer: their error is more than half of its error. `reached` is what the agreed
// arithmetic stays below (TensorErrors::norm_bound without the task's own bounds): a trivial answer that is within four times as much is near enough to be right.
std::string no_better_than_nothing(std::span<const Draw> draws, const task::TensorLayout& layout, task::Dtype dtype, double reached);

}  // namespace kforge::judge
