// The numerics rule: what it computes, and the proof that it tells the honest f32 kernel from one that multiplies in lower precision.
#include "judge/numerics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "task/dtype_convert.h"
#include "task/random.h"

// Sums of millions of products: unoptimised they would take the suite's time.
#pragma GCC optimize("O2")

namespace kforge::judge {
namespace {

using task::Dtype;
using testing::HasSubstr;

task::TensorLayout row_major(std::vector<std::int64_t> shape, Dtype dtype) {
  task::TensorLayout out;
  out.shape = shape;
  out.strides.assign(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) out.strides[i - 1] = out.strides[i] * shape[i];
  out.elements = 1;
  for (const auto extent : shape) out.elements *= extent;
  out.bytes = static_cast<std::uint64_t>(out.elements) * task::size_bytes(dtype);
  return out;
}

std::vector<std::byte> bytes_of(const std::vector<double>& values, Dtype dtype) {
  std::vector<std::byte> out(values.size() * task::size_bytes(dtype));
  for (std::size_t i = 0; i < values.size(); ++i) task::store_element(dtype, out.data() + i * task::size_bytes(dtype), values[i]);
  return out;
}

// One tensor's draws with their storage.
struct Trial {
  std::vector<std::vector<double>> references, outputs;
  TensorErrors judge(std::vector<std::int64_t> shape, NumericsOptions options) const {
    const auto layout = row_major(std::move(shape), options.dtype);
    std::vector<std::vector<std::byte>> bytes;
    std::vector<Draw> draws;
    for (const auto& output : outputs) bytes.push_back(bytes_of(output, options.dtype));
    for (std::size_t d = 0; d < references.size(); ++d) draws.push_back({d < bytes.size() ? bytes[d] : std::span<const std::byte>{}, references[d], {}, {}});
    return compare(draws, layout, options);
  }
};

TensorErrors judge_one(const std::vector<double>& out, const std::vector<double>& reference, NumericsOptions options = {}) {
  return Trial{{reference}, {out}}.judge({static_cast<std::int64_t>(reference.size())}, options);
}

std::vector<double> ramp(std::size_t n, double start, double step) {
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = start + step * static_cast<double>(i);
  return values;
}

TEST(Numerics, FiguresAreTheirDefinitions) {
  auto out = ramp(64, 1, 1), ref = out;
  out[3] += 2;   // 4 -> 6
  out[9] -= 1;   // 10 -> 9
  const auto e = judge_one(out, ref);
  EXPECT_FALSE(e.passed);
  EXPECT_EQ(e.mismatched, 2u);
  EXPECT_EQ(e.worst_index, 3);
  EXPECT_DOUBLE_EQ(e.max_abs, 2);
  EXPECT_DOUBLE_EQ(e.max_rel, 0.5);
  EXPECT_DOUBLE_EQ(e.mae, 3.0 / 64);
  EXPECT_DOUBLE_EQ(e.rmse, std::sqrt(5.0 / 64));
  double squares = 0, dot = 0, outs = 0;
  for (std::size_t i = 0; i < 64; ++i) squares += ref[i] * ref[i], dot += ref[i] * out[i], outs += out[i] * out[i];
  EXPECT_DOUBLE_EQ(e.rel_l2, std::sqrt(5 / squares));
  EXPECT_DOUBLE_EQ(e.psnr_db, 20 * std::log10(63 / e.rmse));
  EXPECT_DOUBLE_EQ(e.cosine, dot / std::sqrt(squares * outs));
  EXPECT_THAT(e.why, HasSubstr("2 of 64 elements"));
  const auto equal = judge_one(ref, ref);
  EXPECT_TRUE(equal.passed);
  EXPECT_EQ(equal.worst_index, -1);
  EXPECT_TRUE(std::isinf(equal.psnr_db));
}

// The bound to the letter: just inside passes, just outside fails, per element and for the norm.
TEST(Numerics, TheElementBoundIsTheContracts) {
  const std::size_t n = 1 << 16;
  std::vector<double> ref(n, 1.0);
  for (std::size_t i = 0; i < n; i += 2) ref[i] = -1.0;   // s = 1
  NumericsOptions options{.dtype = Dtype::f64, .reduction_length = 16};
  const double u = 0x1p-24, bound = 4 * (0x1p-53 + 4 * u * 4 * 1.0);
  auto out = ref;
  out[5] += bound * 0.999;
  EXPECT_TRUE(judge_one(out, ref, options).passed) << judge_one(out, ref, options).why;
  out[5] = ref[5] + bound * 1.001;
  EXPECT_EQ(judge_one(out, ref, options).mismatched, 1u);
  const double norm = 4 * (u * 4 + 0x1p-53);
  for (std::size_t i = 0; i < n; ++i) out[i] = ref[i] + norm * 0.999;
  EXPECT_TRUE(judge_one(out, ref, options).passed);
  for (std::size_t i = 0; i < n; ++i) out[i] = ref[i] + norm * 1.001;
  const auto failed = judge_one(out, ref, options);
  EXPECT_TRUE(failed.norm_failed && failed.mismatched == 0 && !failed.passed);
}

TEST(Numerics, RowsOf32HaveTheirOwnScaleAndShorterOnesShareOne) {
  // A row of ones and a row of thousands: an error that is fine beside thousands is not beside ones.
  const auto check = [](std::int64_t cols) {
    std::vector<double> ref(static_cast<std::size_t>(2 * cols), 1.0);
    for (std::size_t i = static_cast<std::size_t>(cols); i < ref.size(); ++i) ref[i] = 1000 + static_cast<double>(i);
    auto out = ref;
    out[0] += 1e-4;
    return Trial{{ref}, {out}}.judge({2, cols}, {}).mismatched;
  };
  EXPECT_EQ(check(32), 1u);
  EXPECT_EQ(check(31), 0u);
}

TEST(Numerics, SmallTensorsArePooledOverDraws) {
  // One element, by chance near zero in the first draw: 32 draws give the scale.
  Trial trial;
  for (int d = 0; d < 32; ++d) {
    trial.references.push_back({d == 0 ? 1e-6 : (d % 2 == 0 ? 1.0 : -1.0) + 0.01 * d});
    trial.outputs.push_back({trial.references.back()[0] + 2e-7});
  }
  const auto pooled = trial.judge({1}, {});
  EXPECT_TRUE(pooled.passed) << pooled.why;
  EXPECT_TRUE(pooled.pooled_enough);
  trial.outputs.resize(1);   // the reference alone widens the pool
  EXPECT_TRUE(trial.judge({1}, {}).passed);
  trial.references.resize(1);
  const auto alone = trial.judge({1}, {});
  EXPECT_FALSE(alone.passed);
  EXPECT_FALSE(alone.pooled_enough);
}

TEST(Numerics, NanAndInfinityStandWhereTheReferenceHasThem) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  auto ref = ramp(64, 1, 1), out = ref;
  for (const double bad : {nan, inf, -inf}) {
    out = ref;
    out[7] = bad;
    const auto e = judge_one(out, ref, {.abs = 1e30});
    EXPECT_EQ(e.nonfinite_disagreements, 1u);
    EXPECT_FALSE(e.passed) << "a wide tolerance does not excuse " << bad;
    EXPECT_EQ(e.worst_index, 7);
    std::swap(out, ref);
    EXPECT_FALSE(judge_one(out, ref).passed) << "reference " << bad;
    std::swap(out, ref);
    auto same = out;
    EXPECT_TRUE(judge_one(out, same).passed);
  }
  out = ref;
  ref[7] = nan;
  EXPECT_TRUE(judge_one(out, ref).reference_has_nan);
  EXPECT_FALSE(judge_one(out, ref, {.allow_nan = true}).reference_has_nan);
  ref = ramp(64, 1, 1);
  ref[0] = 1e6;
  out = ref;
  out[0] = inf;
  EXPECT_TRUE(judge_one(out, ref, {.dtype = Dtype::f16}).passed);
  EXPECT_TRUE(judge_one(out, ref, {.dtype = Dtype::f16}).reference_overflows);
  EXPECT_TRUE(reference_overflows(ref, Dtype::f16));
  EXPECT_FALSE(reference_overflows(ref, Dtype::f32));
}

// What moves with the last bits of the inputs is decided by no arithmetic that the task agrees to; that it is a number, and all the others, still are.
TEST(Numerics, ElementsThatTheReferenceDoesNotDecideAreNotCompared) {
  const std::vector<double> reference = ramp(64, 1, 1);
  const auto judged = [&](Dtype dtype, const std::vector<double>& out, const std::vector<double>& moves) {
    const auto bytes = bytes_of(out, dtype);
    const Draw draw{bytes, reference, {}, {}, moves};
    return compare({&draw, 1}, row_major({64}, dtype), {.dtype = dtype});
  };
  std::vector<double> out = reference, moves(64, 0.0);
  out[5] = 6.5;
  EXPECT_EQ(judged(Dtype::f32, out, moves).mismatched, 1u);
  const double bound = judged(Dtype::f32, out, moves).worst_bound;
  moves[5] = bound / 9;
  EXPECT_EQ(judged(Dtype::f32, out, moves).mismatched, 1u);
  moves[5] = bound / 7 + 24 * 0x1p-24;
  const TensorErrors e = judged(Dtype::f32, out, moves);
  EXPECT_TRUE(e.passed) << e.why;
  EXPECT_EQ(e.undecided, 1u);
  EXPECT_EQ(e.max_abs, 0);
  out[6] = 7.5;
  EXPECT_EQ(judged(Dtype::f32, out, moves).mismatched, 1u);
  out[6] = reference[6], out[5] = std::nan("");
  EXPECT_FALSE(judged(Dtype::f32, out, moves).passed);
  out[5] = 7;
  EXPECT_TRUE(judged(Dtype::i32, out, moves).passed);
  EXPECT_FALSE(judged(Dtype::i32, out, std::vector<double>(64, 0.0)).passed);
}

TEST(Numerics, IntegersMatchExactlyUnlessTheTaskAllowsADifference) {
  const auto ref = ramp(40, 0, 1);
  auto out = ref;
  out[39] += 1;
  EXPECT_EQ(judge_one(out, ref, {.dtype = Dtype::i32}).mismatched, 1u);
  EXPECT_TRUE(judge_one(out, ref, {.dtype = Dtype::i32, .integer_difference = 1}).passed);
  std::vector<std::int64_t> exact{(1ll << 53) + 1, 5};
  std::vector<std::byte> bytes(16);
  const std::int64_t wrong[] = {1ll << 53, 5};   // equal as doubles
  std::memcpy(bytes.data(), wrong, 16);
  const Draw draw{bytes, {}, exact, {}};
  EXPECT_EQ(compare({&draw, 1}, row_major({2}, Dtype::i64), {.dtype = Dtype::i64}).mismatched, 1u);
}

TEST(Numerics, DegenerateOutputsFailWhateverTheTolerance) {
  const auto tiny = ramp(64, 1e-6, 1e-7);   // a wide softmax: an absolute tolerance of 1e-4 would pass zeros
  const std::vector<double> zeros(64, 0.0), constant(64, 4e-6);
  const NumericsOptions wide{.abs = 1e-4};
  EXPECT_EQ(judge_one(zeros, tiny, wide).output.kind, Degenerate::zero);
  EXPECT_FALSE(judge_one(zeros, tiny, wide).passed);
  EXPECT_EQ(judge_one(constant, tiny, wide).output.kind, Degenerate::constant);
  EXPECT_TRUE(judge_one(tiny, tiny, wide).passed);
  // Where the reference is degenerate itself, it is compared and proves nothing.
  EXPECT_EQ(judge_one(zeros, zeros).reference.kind, Degenerate::zero);
  EXPECT_TRUE(judge_one(zeros, zeros).passed);
  EXPECT_EQ(judge_one(constant, constant).reference.kind, Degenerate::constant);
}

TEST(Numerics, ACopyOfAnInputFails) {
  const auto layout = row_major({64}, Dtype::f32);
  auto input = ramp(64, -1, 0.03), reference = input;
  for (auto& value : reference) value *= 1.001;
  const auto input_bytes = bytes_of(input, Dtype::f32), reference_bytes = bytes_of(reference, Dtype::f32);
  const InputView view{Dtype::f32, input_bytes, &layout};
  const NumericsOptions wide{.abs = 0.1};
  const Draw copied{input_bytes, reference, {}, {&view, 1}}, right{reference_bytes, reference, {}, {&view, 1}}, identity{input_bytes, input, {}, {&view, 1}};
  EXPECT_EQ(compare({&copied, 1}, layout, wide).output.kind, Degenerate::copy);
  EXPECT_THAT(compare({&copied, 1}, layout, wide).why, HasSubstr("copy of input 0"));
  EXPECT_TRUE(compare({&right, 1}, layout, wide).passed);
  EXPECT_EQ(compare({&identity, 1}, layout, wide).reference.kind, Degenerate::copy);
  EXPECT_TRUE(compare({&identity, 1}, layout, wide).passed);
  EXPECT_EQ(degeneracy(identity, layout, wide).kind, Degenerate::copy);
}

TEST(Numerics, AOneElementOutputThatVariesOverDrawsIsProof) {
  Trial trial;
  for (int d = 0; d < 32; ++d) trial.references.push_back({std::sin(d + 1.0)});
  trial.outputs = trial.references;
  for (auto& output : trial.outputs) output[0] = static_cast<float>(output[0]);
  EXPECT_EQ(trial.judge({1}, {}).reference.kind, Degenerate::no);
  EXPECT_TRUE(trial.judge({1}, {}).passed);
  for (auto& output : trial.outputs) output[0] = 0.5;
  EXPECT_EQ(trial.judge({1}, {.abs = 10}).output.kind, Degenerate::constant);
}

TEST(Numerics, StridesAreFollowed) {
  task::TensorLayout layout{{2, 40}, {64, 1}, 80, (64 + 40) * 4};
  const auto ref = ramp(80, 1, 0.5);
  std::vector<std::byte> out(layout.bytes, std::byte{0xff});
  for (std::size_t i = 0; i < 80; ++i) task::store_element(Dtype::f32, out.data() + (i / 40 * 64 + i % 40) * 4, ref[i]);
  const Draw draw{out, ref, {}, {}};
  EXPECT_TRUE(compare({&draw, 1}, layout, {}).passed);
}

TEST(Numerics, ReductionLengthIsWhatTheOutputLacks) {
  const auto tensor = [](std::vector<std::string> shape, task::Role role) {
    task::Tensor out;
    out.shape = std::move(shape);
    out.role = role;
    return out;
  };
  task::Task gemm;
  gemm.tensors = {tensor({"m", "k"}, task::Role::in), tensor({"k", "n"}, task::Role::in), tensor({"m", "n"}, task::Role::out)};
  const task::Sizes sizes{{"m", 3}, {"n", 5}, {"k", 7}};
  EXPECT_EQ(reduction_length(gemm, gemm.tensors[2], sizes), 7);
  gemm.numerics.reduction = "k * 2";
  EXPECT_EQ(reduction_length(gemm, gemm.tensors[2], sizes), 14);
  task::Task sum;
  sum.tensors = {tensor({"m", "n", "k"}, task::Role::in), tensor({"m"}, task::Role::out)};
  EXPECT_EQ(reduction_length(sum, sum.tensors[1], sizes), 35);
  task::Task map;
  map.tensors = {tensor({"m + 2", "n"}, task::Role::in), tensor({"m", "n"}, task::Role::out)};
  EXPECT_EQ(reduction_length(map, map.tensors[1], sizes), 1);
  task::Task fixed;
  fixed.tensors = {tensor({"m", "128"}, task::Role::in), tensor({"m"}, task::Role::out)};
  EXPECT_EQ(reduction_length(fixed, fixed.tensors[1], sizes), 128);
}

}  // namespace
}  // namespace kforge::judge
