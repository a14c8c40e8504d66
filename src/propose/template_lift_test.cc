// What references compute, read out of their loops; what is not understood is refused with its reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "propose/template_lift.h"

namespace kforge::propose {
namespace {

task::Task task_of(std::initializer_list<task::Tensor> tensors, std::string function = "f") {
  task::Task task;
  task.function = std::move(function);
  task.tensors = tensors;
  return task;
}
task::Tensor tensor(std::string name, std::vector<std::string> shape, task::Role role) {
  task::Tensor out;
  out.name = std::move(name);
  out.shape = std::move(shape);
  out.role = role;
  return out;
}

// "y[i.1] = ..." a line each; or why not.
std::string lifted(const task::Task& task, std::string_view text) {
  std::string why;
  const auto result = lift_reference(task, text, why);
  if (!result) return "not: " + why;
  std::string out;
  for (const LiftedStore& store : result->stores) {
    std::string index;
    for (const TermPtr& i : store.index) index += (index.empty() ? "" : ", ") + readable(i);
    out += (out.empty() ? "" : "\n") + store.tensor + "[" + index + "]" + (store.adds ? " += " : " = ") + readable(store.value);
  }
  return out;
}

const task::Task kVector = task_of({tensor("x", {"n"}, task::Role::in), tensor("y", {"n"}, task::Role::out)});
const task::Task kRows = task_of({tensor("x", {"rows", "cols"}, task::Role::in), tensor("y", {"rows"}, task::Role::out)});
const task::Task kMatrix = task_of({tensor("x", {"rows", "cols"}, task::Role::in), tensor("y", {"rows", "cols"}, task::Role::out)});

TEST(Lift, ReadsElementWiseLoopsAndTheirParametersByPosition) {
  EXPECT_EQ(lifted(kVector, "void f(const float* in, float* out, int count) { for (int i = 0; i < count; ++i) out[i] = in[i] > 0 ? in[i] : 0; }"),
            "y[i.1] = ?((x[i.1] > 0), x[i.1], 0)");
}

TEST(Lift, TakesFlatIndicesApartThroughPointersAndCasts) {
  EXPECT_EQ(lifted(kMatrix, R"(void f(const float* x, float* y, int rows, int cols) {
    for (int r = 0; r < rows; ++r) { const float* in = x + static_cast<long long>(r) * cols;
      for (int c = 0; c < cols; ++c) y[(long long)r * cols + c] = 2 * in[c]; } })"),
            "y[r.1, c.3] = (2 * x[r.1, c.3])");
}

TEST(Lift, FollowsMembersOfStructs) {
  EXPECT_EQ(lifted(kRows, R"(struct Sums { double first = 0, second = 0; };
    void f(const float* x, float* y, int rows, int cols) {
      for (int r = 0; r < rows; ++r) { Sums s;
        for (int c = 0; c < cols; ++c) { s.first += x[r * cols + c]; s.second += x[r * cols + c] * x[r * cols + c]; }
        y[r] = s.second - s.first; } })"),
            "y[r.1] = (sum_c.3{(x[r.1, c.3] * x[r.1, c.3]), cols} - sum_c.3{x[r.1, c.3], cols})");
}

TEST(Lift, FindsReductionsInSumsMaximaAndBranches) {
  const auto rows = [](const std::string& body) { return lifted(kRows, "void f(const float* x, float* y, int rows, int cols) { for (int r = 0; r < rows; ++r) {" + body + "} }"); };
  EXPECT_EQ(rows("double s = 0; for (int c = 0; c < cols; ++c) s += x[r * cols + c]; y[r] = float(s / cols);"), "y[r.1] = real((sum_c.3{x[r.1, c.3], cols} / cols))");
  EXPECT_EQ(rows("double m = -INFINITY; for (int c = 0; c < cols; ++c) m = std::max(m, double(x[r * cols + c])); y[r] = m;"), "y[r.1] = max_c.3{real(x[r.1, c.3]), cols}");
  EXPECT_EQ(rows("y[r] = x[r * cols]; for (int c = 1; c < cols; ++c) if (x[r * cols + c] < y[r]) y[r] = x[r * cols + c];"), "y[r.1] = min_c.3{x[r.1, c.3], cols}");
  EXPECT_EQ(rows("int b = 0; for (int c = 1; c < cols; ++c) if (x[r * cols + c] > x[r * cols + b]) b = c; y[r] = b;"), "y[r.1] = arg_max_c.3{x[r.1, c.3], cols}");
}

TEST(Lift, TellsInclusiveFromExclusiveScans) {
  EXPECT_EQ(lifted(kVector, "void f(const float* x, float* y, int n) { float s = 0; for (int i = 0; i < n; ++i) y[i] = s += x[i]; }"), "y[i.1] = inclusive_i.1{x[i.1]}");
  EXPECT_EQ(lifted(kVector, "void f(const float* x, float* y, int n) { float s = 0; for (int i = 0; i < n; ++i) { y[i] = s; s += x[i]; } }"), "y[i.1] = exclusive_i.1{x[i.1]}");
}

TEST(Lift, UnrollsConstantLoopsAndInlinesLambdas) {
  EXPECT_EQ(lifted(kVector, R"(void f(const float* x, float* y, int n) {
    const auto at = [&](int i) { i = std::clamp(i, 0, n - 1); return double(x[i]); };
    for (int i = 0; i < n; ++i) { double s = 0; for (int u = -1; u <= 1; ++u) s += at(i + u); y[i] = s; } })"),
            "y[i.1] = ((real(x[clamp((i.1 + -1), 0, (n - 1))]) + real(x[clamp(i.1, 0, (n - 1))])) + real(x[clamp((i.1 + 1), 0, (n - 1))]))");
}

TEST(Lift, SeesScatteredAdditions) {
  const task::Task task = task_of({tensor("x", {"n"}, task::Role::in), tensor("bins", {"16"}, task::Role::out)});
  EXPECT_EQ(lifted(task, "void f(const float* x, float* bins, int n) { for (int i = 0; i < n; ++i) ++bins[x[i]]; }"), "bins[x[i.1]] += 1");
  // A cast of a real value to an integer is no decoration; one of an integer to a wider integer is.
  const auto counted = [&](const std::string& index) { return lifted(task, "void f(const float* x, float* bins, int n) { for (int i = 0; i < n; ++i) ++bins[" + index + "]; }"); };
  EXPECT_EQ(counted("int(x[i])"), "bins[integer(x[i.1])] += 1");
  EXPECT_EQ(lifted(task, "void f(const float* x, float* bins, int n) { for (int i = 0; i < n; ++i) { int b = 0; b = x[i]; ++bins[b]; } }"), "bins[integer(x[i.1])] += 1");
  EXPECT_EQ(counted("2 * static_cast<int>(x[i] * 4.0f) + 1"), "bins[((2 * integer((x[i.1] * 4.0))) + 1)] += 1");
}

TEST(Lift, RefusesWhatDoesNotParse) {
  EXPECT_THAT(lifted(kVector, "void f(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = x[i] +; }"), testing::HasSubstr("parse"));
  EXPECT_THAT(lifted(kVector, "void f(const float* x, float* y, int n) { std::vector<float> v(n); for (int i = 0; i < n; ++i) y[i] = x[i]; }"), testing::HasSubstr("declaration"));
}

TEST(Lift, RefusesWhatItDoesNotUnderstand) {
  const auto refuses = [](const std::string& body) { return lifted(kVector, "void f(const float* x, float* y, int n) {" + body + "}"); };
  EXPECT_THAT(refuses("for (int i = 0; i < n; ++i) y[i] = unknown(x[i]);"), testing::HasSubstr("unknown"));
  EXPECT_THAT(refuses("float s = 0; for (int i = 0; i < n; ++i) { s = 0.5f * s + x[i]; y[i] = s; }"), testing::HasSubstr("carried"));
  EXPECT_THAT(refuses("std::sort(y, y + n);"), testing::StartsWith("not:"));
  EXPECT_THAT(refuses("for (int i = 0; i < n; ++i) if (x[i] > 0) y[i] = 1;"), testing::HasSubstr("one branch"));
  EXPECT_THAT(refuses("while (n > 0) y[0] = 1;"), testing::StartsWith("not:"));
  EXPECT_THAT(lifted(kVector, "void g() {}"), testing::HasSubstr("no function"));
  EXPECT_THAT(lifted(kVector, "void f(const float* x, float* y, int n, int extra) {}"), testing::HasSubstr("parameters"));
}

// A value that is carried must not be taken for a reduction when the start or the body is another one's.
TEST(Lift, KeepsTheStartOfAReduction) {
  EXPECT_EQ(lifted(kRows, "void f(const float* x, float* y, int rows, int cols) { for (int r = 0; r < rows; ++r) { double s = 1; for (int c = 0; c < cols; ++c) s += x[r * cols + c]; y[r] = s; } }"),
            "y[r.1] = (1 + sum_c.3{x[r.1, c.3], cols})");
  EXPECT_THAT(lifted(kRows, "void f(const float* x, float* y, int rows, int cols) { for (int r = 0; r < rows; ++r) { double s = 0; for (int c = 1; c < cols; ++c) s += x[r * cols + c]; y[r] = s; } }"),
              testing::StartsWith("not:"));
}

}  // namespace
}  // namespace kforge::propose
