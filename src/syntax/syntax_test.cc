// The syntax tree, its index arithmetic and scopes, on sources written by hand.
#include <gmock/gmock.h>

#include "syntax/index.h"
#include "syntax/testing.h"

namespace kforge::syntax {
namespace {

using ::testing::ElementsAre;
using testing::parsed;

constexpr const char* kFile = R"(#define TILE 16
constexpr int kPad = TILE / 8;
template <int N, typename T>
__global__ void __launch_bounds__(128) scale(const T* __restrict__ x, T *y, unsigned int n) {
  __shared__ float s[TILE][kPad + 1], q[32];  // two arrays
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = static_cast<float>(x[i]) * 2.0;
}
namespace inner { __device__ float f(float& a, float b) { return a + b; } }
extern "C" void run(float* a) {
  const dim3 block(16, 16);
  scale<4, float><<<dim3(3, 4), block, 0>>>(a, a, 3);
  scale<2, float><<<1, 2>>>(a, a, 4);
}
)";

TEST(Program, KnowsFunctionsParametersAndLaunches) {
  const Program program = parsed(kFile);
  EXPECT_EQ(program.tree().errors(), 0u);
  ASSERT_EQ(program.functions().size(), 3u);
  const Function& kernel = *program.find("scale");
  EXPECT_TRUE(kernel.global && kernel.is_template && !kernel.device);
  ASSERT_EQ(kernel.parameters.size(), 3u);
  EXPECT_EQ(kernel.parameters[0].element, "T");
  EXPECT_TRUE(kernel.parameters[0].pointer && kernel.parameters[0].is_const && kernel.parameters[0].restricted);
  EXPECT_TRUE(kernel.parameters[1].pointer && !kernel.parameters[1].is_const && !kernel.parameters[1].restricted);
  EXPECT_EQ(kernel.parameters[2].element, "unsigned int");
  EXPECT_TRUE(program.find("f")->device && program.find("f")->parameters[0].reference);
  const auto launches = program.launches_of("scale");
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0]->block.text(), "block");
  EXPECT_EQ(launches[0]->shared.text(), "0");
  EXPECT_FALSE(launches[1]->shared);
  EXPECT_EQ(launches[1]->arguments.size(), 3u);
}

TEST(Program, ConstantsAreThoseOfDefinesAndConstexpr) {
  const Program program = parsed(kFile);
  const auto arrays = find_all(program.find("scale")->body, "array_declarator");
  ASSERT_FALSE(arrays.empty());
  EXPECT_EQ(program.constant(arrays[0].field("size")), 3);                       // kPad + 1
  EXPECT_EQ(program.constant(arrays[0].field("declarator").field("size")), 16);  // TILE
  EXPECT_FALSE(program.constant(program.launches_of("scale")[0]->block));
}

TEST(Program, NamesAreFresh) {
  const Program program = parsed("int lane, lane_2, planes;");
  EXPECT_EQ(program.fresh_name("lane"), "lane_3");
  EXPECT_EQ(program.fresh_name("plane"), "plane");
}

TEST(Program, DeclarationsFollowScopes) {
  const Program program = parsed("__global__ void k(int n) { int a = 1; { int a = 2; n = a; } for (int a = 3; a < n; ++a) n += a; n = a; }");
  const auto value_at = [&](std::size_t which) {
    return std::string(initial_value(declarator_of(uses(program.find("k")->body, "a")[which])).text());
  };
  const auto all = uses(program.find("k")->body, "a");
  std::vector<std::string> values;
  for (std::size_t i = 0; i < all.size(); ++i) values.push_back(value_at(i));
  EXPECT_THAT(values, ElementsAre("1", "2", "2", "3", "3", "3", "3", "1"));
}

TEST(Tree, AWrongPartIsNamedAndTheRestStands) {
  EXPECT_GT(parsed("__global__ void a() { int x = ; }").tree().errors(), 0u);
  EXPECT_EQ(parsed("").tree().errors(), 0u);
}

TEST(Edits, AreMadeAtOnceAndMayNotOverlap) {
  Edits edits;
  edits.replace(4, 5, "Z");
  edits.insert(0, "<");
  edits.insert(0, ">");
  EXPECT_EQ(*edits.apply("abcdef"), "<>abcdZf");
  edits.replace(3, 5, "");
  EXPECT_FALSE(edits.apply("abcdef"));
  Edits beyond;
  beyond.replace(5, 9, "");
  EXPECT_FALSE(beyond.apply("abcdef"));
}

// --- indices ---

struct Line { std::string base; Polynomial index; bool read, write, atomic; Space space; };

std::vector<Access> accesses_in(const Program& program) { return Indices(program, *program.find("k")).accesses(program.find("k")->body); }

TEST(Indices, LanesDistanceIsTheFactorOfThreadIdx) {
  const Program program = parsed(R"(__global__ void k(const float* a, float* c, int m, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  const int col = blockIdx.y * blockDim.y + threadIdx.y;
  const float* in = a + (long long)row * n;
  for (int p = 0; p < m; ++p) c[row * m + p] += in[col] * a[p * n + col];
})");
  const auto all = accesses_in(program);
  ASSERT_EQ(all.size(), 3u);
  const Polynomial m = Polynomial::atom("m"), n = Polynomial::atom("n");
  EXPECT_EQ(all[0].base, "c");
  EXPECT_EQ(all[0].index.coefficient("threadIdx.x"), m);
  EXPECT_EQ(all[0].index.coefficient("p"), Polynomial::constant(1));
  EXPECT_TRUE(all[0].read && all[0].write);
  EXPECT_EQ(all[1].base, "a");
  EXPECT_EQ(all[1].index.coefficient("threadIdx.x"), n);
  EXPECT_EQ(all[1].index.coefficient("threadIdx.y"), Polynomial::constant(1));
  EXPECT_EQ(all[2].index.coefficient("threadIdx.x"), Polynomial());
  EXPECT_EQ(all[2].index.coefficient("p"), n);
}

TEST(Indices, WhatIsNoSumOfProductsRemembersWhatItCameFrom) {
  const Program program = parsed("__global__ void k(float* y, int n) { const int w = threadIdx.x / 32; int v = 0; if (threadIdx.y > 1) v = 2; y[w * n] = 1; y[v] = 2; y[n % 3] = 3; }");
  const auto all = accesses_in(program);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_FALSE(all[0].index.coefficient("threadIdx.x"));
  EXPECT_TRUE(all[1].index.depends_on("threadIdx.y"));
  EXPECT_FALSE(differs_between_threads(all[2].index));
}

TEST(Indices, LoopsThatStartAtTheThreadKeepIt) {
  const Program program = parsed("__global__ void k(float* y, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = y[2 * i]; }");
  const auto all = accesses_in(program);
  EXPECT_EQ(all[0].index.coefficient("threadIdx.x"), Polynomial::constant(1));
  EXPECT_EQ(all[1].index.coefficient("threadIdx.x"), Polynomial::constant(2));
  EXPECT_EQ(all[1].index.coefficient("i"), Polynomial::constant(2));
}

TEST(Indices, AtomicsSharedArraysAndMovedPointersAreTold) {
  const Program program = parsed(R"(__global__ void k(int* bins, float* y, int n) {
  __shared__ float s[4][8];
  y += blockIdx.x * n;
  atomicAdd(&bins[threadIdx.x], 1);
  atomicAdd(bins, 1);
  s[threadIdx.y][threadIdx.x] = *(y + threadIdx.x);
})");
  const auto all = accesses_in(program);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_TRUE(all[0].atomic);
  EXPECT_EQ(all[1].base, "s");
  EXPECT_EQ(all[1].space, Space::shared);
  ASSERT_EQ(all[1].outer.size(), 1u);
  EXPECT_TRUE(all[1].outer[0].depends_on("threadIdx.y"));
  EXPECT_EQ(all[2].base, "y");
  EXPECT_TRUE(all[2].index.depends_on("blockIdx.x"));
  EXPECT_EQ(all[2].index.coefficient("threadIdx.x"), Polynomial::constant(1));
  EXPECT_TRUE(all[3].atomic);
  EXPECT_EQ(all[3].base, "bins");
}

// An error that holds more children than the parser counts in 16 bits made it free what it did not own.
TEST(Tree, TextsThatTheParserDoesNotBearAreRefused) {
  (void)parsed("int x;");
  for (const char* token : {"(", "* ", "if (x) ", "{ "}) {
    std::string text = "void f(float* x) {";
    for (int i = 0; i < 80000; ++i) text += token;
    const auto tree = Tree::parse(text);
    ASSERT_FALSE(tree) << token;
    EXPECT_EQ(tree.error().code, ErrorCode::unsupported);
  }
  EXPECT_TRUE(Tree::parse("int x[] = {" + std::string(100'000, ' ') + "1};"));
}

}  // namespace
}  // namespace kforge::syntax
