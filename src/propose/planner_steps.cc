// The order of trying: templates that fit the task first, for they start from a good kernel; then the changes of a kernel that the
// pattern calls for, each with the rule that it follows; then the changes that help anywhere.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "propose/planner.h"
#include "propose/template_proposer.h"

namespace kforge::propose {
namespace {

// `id`: a transformation of a given kernel ("transform:..."), or advice to who writes kernels ("strategy:...").
struct StrategyRow {
  std::string_view id, rule;
  std::string_view patterns;   // words between blanks; empty: all
  double gain;                 // over a naive kernel, the middle of what the rule states
  int min_sm;
  std::string_view title, why;
};

// Best first within a pattern: first what moves fewer bytes, then what moves them better, then arithmetic, then the launch.
constexpr std::array kStrategies{
    StrategyRow{"transform:warp-per-row", "coalesce-lanes", "reduction arg_reduction softmax layer_norm rms_norm", 4, 70, "A warp in place of a thread walks along each row",
                "a thread a row makes neighbouring lanes read addresses a whole row apart"},
    StrategyRow{"transform:swap-axes", "swapped-axes", "elementwise stencil gemm transpose gather scatter", 4, 70, "Lanes lie along the axis that is contiguous in memory",
                "neighbouring lanes must touch neighbouring addresses"},
    StrategyRow{"transform:flat-order", "coalesce-lanes", "elementwise stencil transpose", 2, 70, "The fastest part of a flat index is the contiguous axis", "neighbouring lanes must touch neighbouring addresses"},
    StrategyRow{"transform:interleave-chunks", "coalesce-lanes", "elementwise reduction histogram scan", 4, 70, "Threads take every n-th element in place of a chunk",
                "a chunk a thread makes lanes read far from each other"},
    StrategyRow{"transform:stage-through-shared", "stage-through-shared", "transpose", 4, 70, "A tile in shared memory turns the axes",
                "one side of a transpose is strided whatever the order of the threads; shared memory is not"},
    StrategyRow{"transform:shared-product", "tile-in-shared", "gemm", 4, 70, "Tiles of both operands in shared memory, several outputs a thread",
                "each input element is used once for every row or column of the output: read it once a block"},
    StrategyRow{"strategy:tile-in-shared", "tile-in-shared", "stencil convolution attention", 3, 70, "What neighbours read again is kept in shared memory",
                "each element is read by several outputs of the same block"},
    StrategyRow{"strategy:tile-in-registers", "tile-in-registers", "gemm convolution attention", 2, 70, "A small tile of outputs a thread",
                "shared memory feeds the arithmetic only if each value that is read is used several times"},
    StrategyRow{"strategy:one-pass", "one-pass", "softmax layer_norm rms_norm", 2, 70, "Rows are read once and kept in registers or shared memory",
                "a pass for each of maximum, sum and result reads the row three times"},
    StrategyRow{"transform:private-histogram", "privatise-atomics", "histogram", 5, 70, "A block counts in shared memory and adds its counts at the end",
                "atomics on few global addresses wait for each other"},
    StrategyRow{"transform:reduce-before-atomic", "privatise-atomics", "reduction scatter", 5, 70, "A warp adds up before one lane does the atomic", "one atomic a warp in place of 32"},
    StrategyRow{"strategy:look-back-scan", "look-back-scan", "scan", 2, 70, "One pass: each block looks back at the sums of those before it", "a scan in several launches reads the data again each time"},
    StrategyRow{"transform:shuffle-tree", "shuffle-reduction", "reduction arg_reduction softmax layer_norm rms_norm", 1.3, 70, "The last 32 partial results meet by shuffles",
                "shuffles need neither shared memory nor barriers"},
    StrategyRow{"transform:vector-access", "vector-access", "elementwise softmax layer_norm rms_norm reduction transpose histogram gather", 1.3, 70, "Four elements a lane by 16-byte accesses",
                "fewer instructions and more bytes in flight for the same traffic"},
    StrategyRow{"strategy:bytes-in-flight", "bytes-in-flight", "elementwise softmax layer_norm rms_norm reduction transpose scan histogram gather scatter", 1.3, 70,
                "Several independent loads before the first use", "bandwidth times latency must be in flight"},
    StrategyRow{"strategy:tensor-cores", "tensor-cores", "gemm convolution attention", 6, 75, "Tensor cores, where the types allow them", "they do a whole tile product an instruction"},
    StrategyRow{"strategy:async-copies", "async-copies", "gemm stencil convolution attention", 1.2, 80, "The next tile is copied while this one is used", "copies in the background hide their latency without registers"},
    StrategyRow{"transform:pad-shared", "pad-shared-rows", "gemm transpose stencil convolution attention reduction softmax scan", 1.5, 70, "Rows of shared arrays are padded as the observed addresses demand",
                "lanes that meet in one bank wait for each other"},
    StrategyRow{"transform:float-literals", "fast-math", "elementwise softmax layer_norm rms_norm stencil attention", 1.5, 70, "Literals of kernels in single precision are single", "a double literal drags the arithmetic to the fp64 pipe"},
    StrategyRow{"transform:multiply-powers", "fast-math", "elementwise layer_norm rms_norm stencil", 1.2, 70, "Small powers are products", "powf is some twenty instructions"},
    StrategyRow{"transform:hoist-division", "fast-math", "elementwise softmax layer_norm rms_norm stencil", 1.1, 70, "Divisions by what does not change become one reciprocal", "a division is some eight instructions"},
    StrategyRow{"transform:grid-stride", "fill-waves", "elementwise reduction histogram", 1.1, 70, "Threads stride over a grid of whole waves", "the last wave runs half empty, and each block has a start to pay"},
    StrategyRow{"transform:unroll", "unroll-constant-bounds", "", 1.1, 70, "Inner loops are unrolled", "independent instructions stand side by side"},
    StrategyRow{"transform:drop-barriers", "superfluous-barriers", "", 1.05, 70, "Barriers go that order nothing", "each one waits for the slowest warp"},
    StrategyRow{"transform:restrict", "restrict-const", "", 1.1, 70, "Pointers say that they do not alias", "the compiler may keep values and reorder loads"},
    StrategyRow{"transform:cache-hints", "stream-stores", "elementwise softmax transpose", 1.05, 70, "What is not read again streams past the caches", "it leaves room for what is"},
    StrategyRow{"transform:block-shape", "occupancy-limiter", "", 1.1, 70, "Other block extents", "residency and tails depend on them"},
    StrategyRow{"transform:launch-bounds", "launch-bounds", "", 1.05, 70, "The compiler knows the block size", "it may use the registers that the block leaves"},
    StrategyRow{"transform:register-cap", "occupancy-limiter", "", 1.05, 70, "Fewer registers where they limit the resident warps", "one more block a multiprocessor hides more latency"},
};

bool concerns(std::string_view patterns, std::string_view pattern) {
  if (patterns.empty()) return true;
  const std::string padded = fmt::format(" {} ", patterns);
  return padded.find(fmt::format(" {} ", pattern)) != std::string::npos;
}

PlanStep step_of(const StrategyRow& row) {
  PlanStep step;
  step.id = row.id;
  step.title = row.title;
  step.why = row.why;
  step.rule = row.rule;
  step.expected_gain = row.gain;
  return step;
}

}  // namespace

Expected<std::vector<PlanStep>> plan_steps(const task::Task& task, const hardware::DataSheet& sheet, const std::string& pattern) {
  std::vector<PlanStep> out;
  for (const TemplateOffer& offer : template_offers(task, sheet, pattern)) {
    PlanStep step;
    step.id = "template:" + offer.name;
    step.title = offer.title;
    step.why = pattern == "unknown" ? "the template fits the task's shapes and arithmetic" : fmt::format("a kernel for `{}` whose parameters are searched on {}", pattern, sheet.name);
    step.rule = offer.rule;
    step.expected_gain = offer.expected_gain;
    out.push_back(std::move(step));
  }
  for (const StrategyRow& row : kStrategies)
    if (!row.patterns.empty() && concerns(row.patterns, pattern) && sheet.sm() >= row.min_sm) out.push_back(step_of(row));
  for (const StrategyRow& row : kStrategies)
    if (row.patterns.empty() && sheet.sm() >= row.min_sm) out.push_back(step_of(row));
  return out;
}

}  // namespace kforge::propose
