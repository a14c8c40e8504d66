// The test of an export: a program of the host that fills inputs as the task declares, calls launcher and reference, and compares by
// the bound under which the kernel was accepted (contracts.md, "Numerics").
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "export/parcel.h"
#include "task/dtype_convert.h"

namespace kforge::exporting {
namespace {

std::string reference_type(task::Dtype dtype) {
  if (!task::is_float(dtype)) return std::string(task::cuda_type(dtype));
  return dtype == task::Dtype::f64 ? "double" : "float";
}

std::string reference_parameters(const task::Task& task) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  for (const task::Tensor& tensor : task.tensors) add(fmt::format("{}{}* {}", tensor.role == task::Role::in ? "const " : "", reference_type(tensor.dtype), tensor.name));
  for (const std::string& size : task.size_names()) add(size_type(task) + " " + size);
  for (const task::Scalar& scalar : task.scalars) add(reference_type(scalar.dtype) + " " + scalar.name);
  return out;
}

std::string list(const std::vector<std::string>& expressions) { return "{" + join(expressions, ", ") + "}"; }

std::string argument(const task::Values& values, std::size_t index) {
  if (index < values.expressions.size() && !values.expressions[index].empty()) return fmt::format("static_cast<double>({})", values.expressions[index]);
  return fmt::format("{:.17g}", index < values.arguments.size() ? values.arguments[index] : 0.0);
}

std::string fill(const task::Tensor& tensor, std::size_t index) {
  std::string out = fmt::format("    {}.fill(\"{}\", seed + {}u + 7919u * draw", tensor.name, tensor.values.kind, index);
  for (std::size_t i = 0; i < 2; ++i) out += ", " + argument(tensor.values, i);
  return out + ");\n";
}

// K, and the rest of the bound. Own bounds of the task are taken as they are.
std::string tolerance(const task::Task& task, const task::Tensor& tensor) {
  const task::Dtype accumulate = task.numerics.accumulate.value_or(tensor.dtype == task::Dtype::f64 ? task::Dtype::f64 : task::Dtype::f32);
  std::string k = task.numerics.reduction.value_or("");
  if (k.empty()) {
    std::vector<std::string> absent;
    for (const std::string& size : task.size_names())
      if (std::none_of(tensor.shape.begin(), tensor.shape.end(), [&](const std::string& extent) { return extent.find(size) != std::string::npos; })) absent.push_back(size);
    k = absent.empty() ? "1" : join(absent, " * ");
  }
  return fmt::format("{{{}, {:.17g}, {:.17g}, {:.17g}, static_cast<double>({}), {:.17g}, {:.17g}, {:.17g}}}", task::is_float(tensor.dtype) ? "true" : "false", task::unit_roundoff(tensor.dtype),
                     task::unit_roundoff(accumulate), task::is_float(tensor.dtype) ? task::smallest_subnormal(tensor.dtype) : 0.0, k, task.numerics.abs.value_or(-1), task.numerics.rel.value_or(-1), task.numerics.integer_difference.value_or(0));
}

std::string call(const task::Task& task, std::string_view member, bool device) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  for (const task::Tensor& tensor : task.tensors) add(fmt::format("{}.{}()", tensor.name, member));
  for (const std::string& size : task.size_names()) add(fmt::format("static_cast<{}>({})", size_type(task), size));
  for (const task::Scalar& scalar : task.scalars) add(fmt::format("static_cast<{}>({:.17g})", device ? std::string(task::cuda_type(scalar.dtype)) : reference_type(scalar.dtype), scalar.value));
  return out;
}

std::string case_function(const Parcel& parcel) {
  const task::Task& task = parcel.task;
  std::string out = "bool run_case(";
  for (const std::string& size : task.size_names()) out += "long long " + size + ", ";
  out += "unsigned seed) {\n  using namespace kforge_test;\n";
  for (const std::string& size : task.size_names()) out += fmt::format("  static_cast<void>({});\n", size);
  for (const task::Tensor& tensor : task.tensors) out += fmt::format("  Tensor<{}, {}> {}({}, {});\n", task::cuda_type(tensor.dtype), reference_type(tensor.dtype), tensor.name, list(tensor.shape), list(tensor.strides));
  out += "  unsigned draws = 1;  // a small output is judged by the scale of several\n";
  for (const task::Tensor& tensor : task.tensors)
    if (tensor.role != task::Role::in) out += fmt::format("  if ({0}.draws() > draws) draws = {0}.draws();\n", tensor.name);
  out += "  for (unsigned draw = draws; draw-- > 0;) {\n";
  std::size_t index = 0;
  for (const task::Tensor& tensor : task.tensors)
    if (tensor.role != task::Role::out) out += fill(tensor, index++);
  out += fmt::format("    {}_reference({});\n", task.function, call(task, "reference", false));
  for (const task::Tensor& tensor : task.tensors)
    if (tensor.role != task::Role::in) out += fmt::format("    {}.pool();\n", tensor.name);
  out += "  }\n";
  for (const task::Tensor& tensor : task.tensors) out += fmt::format("  {}.{}();\n", tensor.name, tensor.role == task::Role::out ? "poison" : "upload");
  out += fmt::format("  if (!succeeded({}({}, nullptr))) return false;\n  if (!succeeded(cudaDeviceSynchronize())) return false;\n  bool right = true;\n", task.function, call(task, "device", true));
  for (const task::Tensor& tensor : task.tensors)
    if (tensor.role != task::Role::in) out += fmt::format("  right &= {0}.agrees(\"{0}\", {1});\n", tensor.name, tolerance(task, tensor));
  return out + "  return right;\n}\n";
}

}  // namespace

std::string test_text(const Parcel& parcel) {
  const task::Task& task = parcel.task;
  std::string out = fmt::format("// Calls the launcher and the reference at sizes around boundaries and compares every element.\n#include \"{}.h\"\n\n#include \"kforge_test.h\"\n\nextern \"C\" void {}_reference({});\n\nnamespace {{\n\n", parcel.name,
                                task.function, reference_parameters(task));
  out += case_function(parcel) + "\n}  // namespace\n\nint main() {\n  int failed = 0;\n  unsigned seed = 1;\n";
  for (const task::Sizes& sizes : test_sizes(parcel)) {
    std::string values, label;
    for (const std::string& name : task.size_names()) {
      values += fmt::format("{}, ", sizes.at(name));
      label += fmt::format("{}{}={}", label.empty() ? "" : " ", name, sizes.at(name));
    }
    out += fmt::format("  failed += !kforge_test::report(\"{}\", run_case({}seed));\n  seed += 100;\n", label, values);
  }
  return out + "  return failed == 0 ? 0 : 1;\n}\n";
}

std::string_view test_support_text() {
  return R"cpp(// Tensors of the test: filled as the task declares, on host and device, compared by the bound of Kernel Forge's contract `numerics`.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

namespace kforge_test {

inline long long min(long long a, long long b) { return a < b ? a : b; }
inline long long max(long long a, long long b) { return a > b ? a : b; }
inline long long ceil_div(long long a, long long b) { return (a + b - 1) / b; }

inline bool succeeded(cudaError_t error) {
  if (error == cudaSuccess) return true;
  std::printf("  CUDA: %s\n", cudaGetErrorString(error));
  return false;
}

inline bool report(const char* sizes, bool right) {
  std::printf("%s %s\n", right ? "ok    " : "FAILED", sizes);
  return right;
}

// |out - ref| <= 4 (u_out |ref| + 4 u sqrt(K) s) + 4 sqrt(K) (smallest subnormal), s the root mean square of the reference along its
// last axis (at least 32 long), else over the whole tensor; or abs + rel |ref| where the task states its own (not negative).
struct Bound {
  bool floating;
  double u_out, u, smallest, k, abs, rel, integer_difference;
};

// D: the type on the device; R: the reference's.
template <class D, class R>
class Tensor {
 public:
  Tensor(std::vector<long long> shape, std::vector<long long> strides) : shape_(shape), strides_(strides) {
    elements_ = 1;
    for (long long extent : shape_) elements_ *= extent;
    if (strides_.empty()) {
      strides_.assign(shape_.size(), 1);
      for (std::size_t d = shape_.size(); d-- > 1;) strides_[d - 1] = strides_[d] * max(shape_[d], 1);
    }
    long long span = elements_ > 0 ? 1 : 0;
    for (std::size_t d = 0; d < shape_.size() && elements_ > 0; ++d) span += (shape_[d] - 1) * strides_[d];
    host_.resize(static_cast<std::size_t>(span));
    reference_.resize(static_cast<std::size_t>(span));
    succeeded(cudaMalloc(&device_, host_.size() * sizeof(D) + 1));
  }
  ~Tensor() { cudaFree(device_); }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  D* device() { return static_cast<D*>(device_); }
  R* reference() { return reference_.data(); }

  void fill(const char* kind, unsigned seed, double a, double b) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(a, b > 0 ? b : 1);
    std::uniform_real_distribution<double> uniform(a, b > a ? b : a + 1);
    const long long row = shape_.empty() ? 1 : shape_.back();
    std::vector<long long> order;
    for (long long i = 0; i < elements_; ++i) {
      double value = a;
      if (!std::strcmp(kind, "normal")) value = normal(random);
      else if (!std::strcmp(kind, "uniform")) value = uniform(random);
      else if (!std::strcmp(kind, "integers")) value = a + static_cast<double>(random() % static_cast<unsigned long long>(b - a + 1));
      else if (!std::strcmp(kind, "ramp")) value = a + b * static_cast<double>(i);
      else if (!std::strcmp(kind, "one_hot") || !std::strcmp(kind, "permutation")) {
        if (i % row == 0) {
          order.clear();
          for (long long j = 0; j < row; ++j) order.push_back(j);
          for (long long j = row; j > 1; --j) std::swap(order[j - 1], order[random() % static_cast<unsigned long long>(j)]);
        }
        value = static_cast<double>(order[i % row]);
        if (!std::strcmp(kind, "one_hot")) value = value == 0 ? 1 : 0;
      }
      const long long at = offset(i);
      host_[at] = static_cast<D>(static_cast<R>(value));
      reference_[at] = static_cast<R>(host_[at]);   // what the device sees, after rounding
    }
  }
  // Draws that cover 32 elements; pool() takes the present reference values in.
  unsigned draws() const { return elements_ <= 0 || elements_ >= 32 ? 1u : static_cast<unsigned>((32 + elements_ - 1) / elements_); }
  void pool() {
    const double s = root_mean_square(0, elements_);
    pool_sum_ += s * s;
    ++pooled_;
  }
  void upload() { succeeded(cudaMemcpy(device_, host_.data(), host_.size() * sizeof(D), cudaMemcpyHostToDevice)); }
  void poison() { succeeded(cudaMemset(device_, 0xff, host_.size() * sizeof(D))); }

  bool agrees(const char* name, const Bound& bound) {
    if (!succeeded(cudaMemcpy(host_.data(), device_, host_.size() * sizeof(D), cudaMemcpyDeviceToHost))) return false;
    long long wrong = 0, first = -1;
    const long long row = shape_.empty() || shape_.back() < 32 ? max(elements_, 1) : shape_.back();
    double s = 0;
    for (long long i = 0; i < elements_; ++i) {
      if (i % row == 0) s = elements_ < 32 && pooled_ > 0 ? std::sqrt(pool_sum_ / pooled_) : root_mean_square(i, min(row, elements_ - i));
      const double out = static_cast<double>(static_cast<R>(host_[offset(i)])), ref = static_cast<double>(reference_[offset(i)]);
      if (same(out, ref, s, bound)) continue;
      if (first < 0) first = i;
      ++wrong;
    }
    if (wrong > 0) std::printf("  %s: %lld of %lld elements wrong, first %lld\n", name, wrong, elements_, first);
    return wrong == 0;
  }

 private:
  long long offset(long long element) const {
    long long at = 0;
    for (std::size_t d = shape_.size(); d-- > 0;) {
      at += element % shape_[d] * strides_[d];
      element /= shape_[d];
    }
    return at;
  }
  double root_mean_square(long long first, long long count) const {
    double sum = 0;
    for (long long i = first; i < first + count; ++i) {
      const double value = static_cast<double>(reference_[offset(i)]);
      sum += value * value;
    }
    return std::sqrt(sum / static_cast<double>(max(count, 1)));
  }
  static bool same(double out, double ref, double s, const Bound& b) {
    if (std::isnan(ref) || std::isinf(ref)) return std::isnan(ref) ? std::isnan(out) : out == ref;
    if (!b.floating) return std::fabs(out - ref) <= b.integer_difference;
    const double root = std::sqrt(b.k < 1 ? 1 : b.k);
    const bool own = b.abs >= 0 || b.rel >= 0;
    const double allowed = own ? (b.abs > 0 ? b.abs : 0) + (b.rel > 0 ? b.rel : 0) * std::fabs(ref) : 4 * (b.u_out * std::fabs(ref) + 4 * b.u * root * s) + 4 * root * b.smallest;
    return std::fabs(out - ref) <= allowed;
  }

  std::vector<long long> shape_, strides_;
  long long elements_ = 0;
  double pool_sum_ = 0;
  unsigned pooled_ = 0;
  std::vector<D> host_;
  std::vector<R> reference_;
  void* device_ = nullptr;
};

}  // namespace kforge_test
)cpp";
}

}  // namespace kforge::exporting
