// The task file of design.md, whole: the sample that tests start from.
#pragma once

#include <string_view>

namespace kforge::task {

inline constexpr std::string_view kSampleTask = R"toml(# A comment.
[task]
name = "row_softmax"
summary = "softmax over the last axis, numerically stable"

[semantics]
pattern = "softmax"
reference = "reference.cpp"

[[semantics.tensor]]
name = "x"
dtype = "f32"
shape = ["rows", "cols"]
role = "in"
values = "normal(0, 1)"

[[semantics.tensor]]
name = "y"
dtype = "f32"
shape = ["rows", "cols"]
role = "out"


[[semantics.scalar]]
name = "scale"
dtype = "f32"
value = 1.0



[sizes]
measure = [{rows = 8192, cols = 8192}]
verify = [{rows = 1, cols = 1}, {rows = 17, cols = 1000}]
where = ["cols >= 1"]

[numerics]
accumulate = "f32"
reduction = "cols"
abs = 0.0
rel = 0.0

[hardware]
gpu = "h200"

[goal]
versus = ["pytorch", "cublas", "roofline", "mine.cu"]
ratio = 1.0

[interface]
function = "softmax"
allow = ["workspace"]

[build]
flags = ["--use_fast_math"]


[program]
total_us = 100000
share = 0.41

[contracts]
"compute.issue" = "advice"
"occupancy" = { level = "required", min_warps = 16 }
)toml";

}  // namespace kforge::task
