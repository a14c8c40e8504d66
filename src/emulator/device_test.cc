// Whole kernels as nvcc writes them (bench/data), against plain C++.
#include "emulator/device.h"

#include <cmath>

#include "emulator/testing.h"

namespace kforge::emulator {
namespace {

std::string data_path(const std::string& name) { return std::string(KFORGE_SOURCE_DIR) + "/bench/data/" + name; }

template <class T>
void append(std::vector<std::byte>& bytes, T value) {
  while (bytes.size() % sizeof(T) != 0) bytes.push_back(std::byte{0});
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof value);
}

std::vector<float> wave(std::size_t count, float step) {
  std::vector<float> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = std::sin(static_cast<float>(i) * step);
  return result;
}

class Kernels : public ::testing::TestWithParam<bool> {};

TEST_P(Kernels, TiledAndNaiveProductsEqualTheHost) {
  constexpr int n = 64;
  for (const std::string name : {"sgemm_tiled", "sgemm_naive"}) {
    TestDevice t;
    t.load(read_text(data_path(name + ".ptx")));
    t.device.set_checks({GetParam(), GetParam()});
    const std::vector<float> a = wave(n * n, 0.37f), b = wave(n * n, 0.71f);
    Allocation* c = t.buffer(std::vector<float>(n * n, -1.0f));
    std::vector<std::byte> parameters;
    append(parameters, t.buffer(a)->base);
    append(parameters, t.buffer(b)->base);
    append(parameters, c->base);
    append(parameters, n);
    LaunchRequest request;
    request.kernel = t.device.find_kernel(t.module, name);
    ASSERT_NE(request.kernel, nullptr);
    const std::uint32_t tile = name == "sgemm_tiled" ? 64 : 16;
    request.grid = {n / tile, n / tile, 1};
    request.block = {16, 16, 1};
    request.parameters = parameters;
    const LaunchResult result = t.device.launch(request);
    ASSERT_EQ(result.status, LaunchStatus::ok) << result.detail;
    const std::vector<float> got = TestDevice::values<float>(c);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        float want = 0;
        for (int k = 0; k < n; ++k) want = std::fma(a[static_cast<std::size_t>(i * n + k)], b[static_cast<std::size_t>(k * n + j)], want);
        ASSERT_EQ(got[static_cast<std::size_t>(i * n + j)], want) << name << " " << i << "," << j;
      }
    }
    const evidence::LaunchLog log = t.device.take_log();
    for (const auto& v : log.violations) EXPECT_TRUE(v.advice) << v.contract << " " << v.kind << ": " << v.message;
  }
}

TEST_P(Kernels, SoftmaxEqualsTheHost) {
  constexpr int rows = 3, cols = 1000;
  TestDevice t;
  t.load(read_text(data_path("softmax.ptx")));
  t.device.set_checks({GetParam(), GetParam()});
  const std::vector<float> x = wave(rows * cols, 0.013f);
  Allocation* y = t.buffer(std::vector<float>(rows * cols, -1.0f));
  std::vector<std::byte> parameters;
  append(parameters, t.buffer(x)->base);
  append(parameters, y->base);
  append(parameters, rows);
  append(parameters, cols);
  LaunchRequest request;
  request.kernel = t.device.find_kernel(t.module, "softmax");
  request.grid = {rows, 1, 1};
  request.block = {256, 1, 1};
  request.parameters = parameters;
  const LaunchResult result = t.device.launch(request);
  ASSERT_EQ(result.status, LaunchStatus::ok) << result.detail;
  const std::vector<float> got = TestDevice::values<float>(y);
  for (std::size_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < cols; ++c) sum += std::exp(static_cast<double>(x[r * cols + c]));
    for (std::size_t c = 0; c < cols; ++c) {
      const double want = std::exp(static_cast<double>(x[r * cols + c])) / sum;
      ASSERT_NEAR(got[r * cols + c], want, 1e-6 * want) << r << "," << c;
    }
  }
  const evidence::LaunchLog log = t.device.take_log();
  for (const auto& v : log.violations) EXPECT_TRUE(v.advice) << v.contract << " " << v.kind << ": " << v.message;
}

INSTANTIATE_TEST_SUITE_P(Checks, Kernels, ::testing::Bool());

}  // namespace
}  // namespace kforge::emulator
