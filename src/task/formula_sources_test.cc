// The sources that formulas give, compiled and run: the float64 reference against the oracle, and the plain CUDA kernels, their threads
// as loops of the host. What nvcc and the emulated GPU say of them is tested with the whole (tests/plan).
#include <dlfcn.h>

#include <cmath>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "task/cases.h"
#include "task/dtype_convert.h"
#include "task/formula.h"

namespace kforge::task::formula {
namespace {

struct Sample { std::string name, tensors, formula; int first_extent = 5; };

// One line a tensor: name dtype role shape.
const std::vector<Sample> kSamples = {
    {"fused", "x f32 in rows,cols|w f32 in cols|b f32 in rows|y f32 out rows,cols", "y = gelu(x * w + expand(b, axis=1))"},
    {"logsum", "x f32 in rows,cols|s f32 out rows", "s = sum(exp(x - max(x, axis=1)), axis=1)"},
    {"softmax", "x f32 in rows,cols|y f32 out rows,cols", "y = softmax(x, axis=1)"},
    {"columns", "x f32 in rows,cols|y f32 out rows,cols", "y = softmax(x, axis=0)"},
    {"norm", "x f32 in rows,cols|w f32 in cols|y f32 out rows,cols|m f32 out rows",
     "mu = mean(x, axis=1, keepdims=true)\nd = x - mu\nv = mean(d * d, axis=1, keepdims=true)\ny = d * rsqrt(v + 1e-5) * w\nm = mean(x, axis=1)"},
    {"total", "x f64 in rows,cols|t f64 out 1", "t = sum(x * x)"},
    {"scaled", "x f32 in n|y f32 out n", "y = x / sum(x ** 2)"},
    {"product", "a f32 in m,k|b f32 in k,n|c f32 out m,n", "c = relu(a @ b + 1)"},
    {"batched", "a f64 in batch,m,k|b f64 in k,n|c f64 out batch,m,n", "c = a @ b"},
    {"vectors", "a f32 in k|b f32 in k,n|c f32 out n", "c = a @ b"},
    {"prefix", "x f32 in rows,cols|y f32 out rows,cols", "y = cumsum(x / sum(x, axis=1), axis=1) * 2"},
    {"prefix_down", "x i32 in rows,cols|y i64 out rows,cols", "y = cumsum(x, axis=0)"},
    {"turned", "x i32 in rows,cols|y i32 out cols,rows", "y = transpose(x) + 1"},
    {"best", "x f32 in rows,cols|i i32 out rows|v f32 out rows", "i = argmax(x, axis=1); v = max(x, axis=1)"},
    {"worst", "x f32 in rows,cols|i i64 out 1", "i = argmin(x)"},
    {"truths", "x f32 in rows,cols|y bool out rows,cols|c i32 out rows", "y = x > 0 or x < -1\nc = sum(x > 0, axis=1)"},
    {"in_place", "x f32 inout rows,cols", "x = x * sigmoid(x) + log1p(abs(x)) - tanh(x)"},
    {"in_place_rows", "x f32 inout rows,cols", "x = x - max(x, axis=1)"},
    {"both", "x f32 inout n|y f32 inout n", "x = x + y; y = x * y"},
    {"integers", "x u8 in n|k u32 in n|y i64 out n", "y = x * k + min(x, 7) - abs(x - 100)"},
    {"deep", "x f64 in a,b,c|y f64 out b", "y = max(sum(x, axis=[0, 2]), 0) + min(x) * prod(x * 0 + 1, axis=[0, 2])"},
    {"mask", "x f32 in n,n|y f32 out n,n", "y = where(expand(arange(n), axis=1) >= arange(n), softplus(x), -1)"},
    // Enough for several cores and blocks.
    {"many_rows", "x f32 in rows,cols|y f32 out rows,cols|m f32 out cols", "y = softmax(cumsum(x, axis=1), axis=1); m = max(x, axis=0)", 470},
    {"blocks", "a f32 in m,k + 250|b f32 in k + 250,n|c f32 out m,n", "c = tanh((a * 2) @ b + 1)", 70},
    {"many_blocks", "a f64 in batch,m,k|b f64 in k,n|c f64 out batch,m,n", "c = a @ b", 60},
    {"odd_shape", "x f32 in n + 1, 3|y f32 out n + 1", "y = std(x, axis=1) + cols_of * 0\n"},
};

Task task_of(const Sample& sample) {
  std::string text = fmt::format("[task]\nname = \"{0}\"\n[semantics]\nformula = \"\"\"\n{1}\"\"\"\n", sample.name, replace_all(sample.formula, " + cols_of * 0", ""));
  std::set<std::string> sizes;
  for (const std::string_view line : split(sample.tensors, '|')) {
    const std::size_t at = line.find(' '), then = line.find(' ', at + 1), last = line.find(' ', then + 1);
    std::string shape;
    for (const std::string_view extent : split(line.substr(last + 1), ',')) shape += fmt::format("\"{}\", ", trim(extent));
    text += fmt::format("[[semantics.tensor]]\nname = \"{}\"\ndtype = \"{}\"\nrole = \"{}\"\nshape = [{}]\n", line.substr(0, at), line.substr(at + 1, then - at - 1),
                        line.substr(then + 1, last - then - 1), shape);
  }
  // Every size once, by what the task says it needs.
  for (const std::string_view name : {"rows", "cols", "n", "m", "k", "batch", "a", "b", "c"})
    if (text.find(fmt::format("\"{}\"", name)) != std::string::npos || text.find(fmt::format("\"{} +", name)) != std::string::npos) {
      const bool tensor = text.find(fmt::format("name = \"{}\"", name)) != std::string::npos;
      if (!tensor) sizes.emplace(name);
    }
  std::string row;
  int extent = sample.first_extent;
  for (const std::string& size : sizes) row += fmt::format("{} = {}, ", size, extent += 2);
  text += fmt::format("[sizes]\nmeasure = [{{{}}}]\n[interface]\nfunction = \"f_{}\"\n", row.substr(0, row.size() - 2), sample.name);
  auto task = parse_task(text, "sample.toml");
  EXPECT_TRUE(task) << (task ? "" : to_string(task.error())) << "\n" << text;
  return task ? *task : Task{};
}

constexpr std::string_view kHostCuda = R"cpp(
#include <cmath>
#include <cstdint>
struct Dim { unsigned x = 1, y = 1, z = 1; };
static Dim blockIdx, blockDim, threadIdx;
typedef int cudaError_t;
typedef void* cudaStream_t;
static int cudaGetLastError() { return 0; }
static float rsqrtf(float x) { return 1 / std::sqrt(x); }
static double rsqrt(double x) { return 1 / std::sqrt(x); }
#define __global__ static
#define __host__
#define __device__
)cpp";

// A kernel's launch as loops over its blocks and threads.
std::string on_the_host(const std::string& cuda) {
  std::string out;
  for (const std::string_view line : split_lines(cuda)) {
    const std::size_t open = line.find("<<<"), close = line.find(">>>");
    if (line.starts_with("#include")) continue;
    if (open == std::string_view::npos) {
      out += std::string(line) + "\n";
      continue;
    }
    const std::size_t name = line.rfind(' ', open);
    const std::string_view blocks = line.substr(open + 3, line.find(", 256", open) - open - 3);
    out += fmt::format("{} {{ blockDim.x = 256; for (blockIdx.x = 0; blockIdx.x < {}; ++blockIdx.x) for (threadIdx.x = 0; threadIdx.x < 256; ++threadIdx.x) {}{} }}\n",
                       line.substr(0, name), blocks, line.substr(name + 1, open - name - 1), line.substr(close + 3));
  }
  return out;
}

class Sources : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryDirectory(*TemporaryDirectory::create("formula"));
    std::string source(kHostCuda);
    for (const Sample& sample : kSamples) {
      const Task task = task_of(sample);
      const auto reference = to_reference_source(task);
      const auto naive = to_naive_source(task);
      ASSERT_TRUE(reference) << to_string(reference.error());
      ASSERT_TRUE(naive) << to_string(naive.error());
      Expected<void> written = write_file_atomic(folder_->path() / (sample.name + ".txt"), *reference + *naive);
      ASSERT_TRUE(written);
      source += fmt::format("namespace reference_{} {{\n{}}}\n", sample.name, replace_all(strip_includes(*reference), "f_" + sample.name + "(", "r_" + sample.name + "("));
      source += fmt::format("namespace naive_{} {{\n{}}}\n", sample.name, on_the_host(*naive));
    }
    ASSERT_TRUE(write_file_atomic(folder_->path() / "all.cc", "#include <vector>\n#include <algorithm>\n#include <pthread.h>\n#include <sched.h>\n" + source));
    const auto built = run_process({.arguments = {"c++", "-std=c++17", "-O0", "-w", "-shared", "-fPIC", "all.cc", "-o", "all.so"}, .environment = {},
                                    .working_directory = folder_->path(), .stdin_text = {}, .merge_output = true, .limits = {}});
    ASSERT_TRUE(built && built->succeeded()) << (built ? built->out.substr(0, 3000) : to_string(built.error()));
    library_ = dlopen((folder_->path() / "all.so").c_str(), RTLD_NOW);
    ASSERT_NE(library_, nullptr) << dlerror();
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string strip_includes(const std::string& text) {
    std::string out;
    for (const std::string_view line : split_lines(text))
      if (!line.starts_with("#include")) out += std::string(line) + "\n";
    return out;
  }

  static inline TemporaryDirectory* folder_ = nullptr;
  static inline void* library_ = nullptr;
};

using Arguments = std::vector<void*>;

// Calls a function of pointers and ints, in the order of a task's interface.
void call(void* function, const Arguments& pointers, const std::vector<int>& sizes, bool stream) {
  std::vector<void*> a = pointers;
  for (const int size : sizes) a.push_back(reinterpret_cast<void*>(static_cast<std::intptr_t>(size)));
  if (stream) a.push_back(nullptr);
  a.resize(10, nullptr);   // System V: more integer arguments than a function takes do no harm
  reinterpret_cast<void (*)(void*, void*, void*, void*, void*, void*, void*, void*, void*, void*)>(function)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]);
}

TEST_F(Sources, ReferenceAndPlainKernelAgreeWithTheOracle) {
  ASSERT_NE(library_, nullptr);
  for (const Sample& sample : kSamples) {
    const Task task = task_of(sample);
    const Sizes sizes = task.measure[0];
    const auto parsed = of(task);
    ASSERT_TRUE(parsed);
    std::map<std::string, std::vector<double>> inputs;
    std::vector<std::vector<std::byte>> reference_buffers, naive_buffers;
    for (const Tensor& tensor : task.tensors) {
      const auto placed = layout(tensor, sizes);
      std::vector<std::byte> bytes(placed->bytes);
      if (tensor.role != Role::out) bytes = *make_input(task, tensor, sizes, "declared", 7);
      auto& values = inputs[tensor.name];
      for (std::int64_t i = 0; i < placed->elements; ++i) values.push_back(load_element(tensor.dtype, bytes.data() + static_cast<std::size_t>(i) * size_bytes(tensor.dtype)));
      reference_buffers.push_back(bytes);
      naive_buffers.push_back(bytes);
    }
    const auto oracle = evaluate(*parsed, task, sizes, inputs);
    ASSERT_TRUE(oracle) << to_string(oracle.error());
    std::vector<int> extents;
    for (const std::string& name : task.size_names()) extents.push_back(static_cast<int>(sizes.at(name)));
    for (const bool naive : {false, true}) {
      auto& buffers = naive ? naive_buffers : reference_buffers;
      Arguments pointers;
      for (auto& buffer : buffers) pointers.push_back(buffer.data());
      void* function = dlsym(library_, fmt::format("{}_{}", naive ? "f" : "r", sample.name).c_str());
      ASSERT_NE(function, nullptr) << sample.name;
      call(function, pointers, extents, naive);
      for (std::size_t t = 0; t < task.tensors.size(); ++t) {
        const Tensor& tensor = task.tensors[t];
        if (tensor.role == Role::in) continue;
        const auto& expected = oracle->at(tensor.name);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          const double found = load_element(tensor.dtype, buffers[t].data() + i * size_bytes(tensor.dtype));
          const double tolerance = !is_float(tensor.dtype) ? 0 : (naive && tensor.dtype == Dtype::f32 ? 3e-5 : tensor.dtype == Dtype::f32 ? 1e-6 : 1e-12) * (1 + std::fabs(expected[i]));
          ASSERT_NEAR(found, expected[i], tolerance) << sample.name << (naive ? " (kernel) " : " (reference) ") << tensor.name << "[" << i << "]";
        }
      }
    }
  }
}

TEST(FormulaNaive, WorkInPlaceThatNeedsAWorkspaceIsRefused) {
  const Task task = task_of({"swap", "x f32 inout n,n", "x = transpose(x)"});
  const auto source = to_naive_source(task);
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, ErrorCode::unsupported);
  EXPECT_TRUE(to_reference_source(task));   // the reference has memory of its own
}

}  // namespace
}  // namespace kforge::task::formula
