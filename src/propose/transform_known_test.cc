// The transformations that answer what was observed.
#include <gtest/gtest.h>

#include <functional>

#include "propose/transform.h"
#include "syntax/testing.h"

namespace kforge::propose {
namespace {

std::string tile(const std::string& rows, const std::string& columns, const std::string& use) {
  return "__global__ void k(float* y) {\n  __shared__ float s[" + rows + "][" + columns + "];  // a tile\n" + use + "\n}\nvoid run(float* y) { k<<<1, dim3(32, 8)>>>(y); }\n";
}

evidence::KernelProfile profile_of(std::uint32_t line, std::uint32_t bytes, std::uint32_t measured, const std::function<std::uint64_t(std::uint64_t)>& address) {
  evidence::LineProfile found;
  found.position.frames = {{"k.cu", line, 1, ""}};
  found.worst_shared.active_mask = 0xffffffffu;
  found.worst_shared.bytes_per_lane = bytes;
  found.worst_shared.measured = measured;
  found.worst_shared.ideal = 1;
  for (std::uint64_t lane = 0; lane < 32; ++lane) found.worst_shared.lane_addresses[lane] = address(lane);
  evidence::KernelProfile profile;
  profile.lines = {found};
  return profile;
}

std::vector<Rewrite> padded(const std::string& source, const evidence::KernelProfile& profile) {
  Known known;
  known.profiles = {&profile, 1};
  return pad_shared(syntax::testing::parsed(source), known);
}

TEST(PadShared, AColumnOfWordsNeedsOneWord) {
  const auto found = padded(tile("32", "32", "  y[0] = s[threadIdx.x][threadIdx.y];"), profile_of(3, 4, 32, [](std::uint64_t lane) { return 1024 * 0 + lane * 128; }));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].source.find("float s[32][32 + 1];  // a tile"), std::string::npos) << found[0].source;
  EXPECT_NE(found[0].title.find("32 wavefronts become 1"), std::string::npos) << found[0].title;
}

TEST(PadShared, TwoRowsOf16NeedSixteenNotOne) {
  // A warp of two rows of 16 that reads a column: with one word of padding the two rows would meet again.
  const auto found = padded(tile("16", "16", "  y[0] = s[threadIdx.x][threadIdx.y];"), profile_of(3, 4, 16, [](std::uint64_t lane) { return (lane % 16) * 64 + lane / 16 * 4; }));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].source.find("16 + 1]"), std::string::npos) << found[0].source;
  EXPECT_NE(found[0].title.find("become 1"), std::string::npos) << found[0].title;
}

TEST(PadShared, NamedExtentsAreKept) {
  const std::string source = "constexpr int kT = 32;\n" + tile("kT", "kT", "  y[0] = s[threadIdx.x][threadIdx.y];");
  const auto found = padded(source, profile_of(4, 4, 32, [](std::uint64_t lane) { return lane * 128; }));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].source.find("s[kT][kT + 1]"), std::string::npos);
}

TEST(PadShared, RefusesWhatIsWalkedFlatOrUnseen) {
  const auto column = [](std::uint64_t lane) { return lane * 128; };
  EXPECT_TRUE(padded(tile("32", "32", "  y[0] = (&s[0][0])[threadIdx.x * 32];"), profile_of(3, 4, 32, column)).empty());
  EXPECT_TRUE(padded(tile("32", "32", "  float* p = s[0];\n  y[0] = s[threadIdx.x][0];"), profile_of(4, 4, 32, column)).empty());
  EXPECT_TRUE(padded(tile("32", "32", "  y[0] = s[threadIdx.x][threadIdx.y];"), profile_of(9, 4, 32, column)).empty());
  EXPECT_TRUE(pad_shared(syntax::testing::parsed(tile("32", "32", "  y[0] = s[threadIdx.x][0];")), {}).empty());
  // Random places: no padding helps, none is proposed.
  EXPECT_TRUE(padded(tile("32", "32", "  y[0] = s[threadIdx.x][threadIdx.y];"), profile_of(3, 4, 2, [](std::uint64_t lane) { return lane < 31 ? lane * 4 : 128 - 4 + 0 * lane; })).empty());
}

TEST(CapRegisters, GoesToTheNextStepsBelow) {
  ResourceReport resource{"k", 70, 0, 0, 24, "registers"};
  Known known;
  known.resources = {&resource, 1};
  const auto program = syntax::testing::parsed("__global__ void k() {}");
  const auto found = cap_registers(program, known);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].flags, std::vector<std::string>{"-maxrregcount=64"});
  resource.limiter = "blocks";
  EXPECT_TRUE(cap_registers(program, known).empty());
  resource = {"k", 70, 0, 8, 24, "registers"};
  EXPECT_TRUE(cap_registers(program, known).empty());
  EXPECT_TRUE(cap_registers(program, {}).empty());
}

TEST(PrivateHistogram, AsksForTheSizeOfTheLaunchersArray) {
  const auto program = syntax::testing::parsed(
      "__global__ void k(const int* x, int* b, int n) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) atomicAdd(&b[x[i]], 1);\n}\n"
      "void run(const int* x, int* bins, int n) { k<<<(n + 255) / 256, 256>>>(x, bins, n); }\n");
  Known known;
  EXPECT_TRUE(privatise_histogram(program, known).empty());
  known.fixed_elements = {{"bins", 100}};
  const auto found = privatise_histogram(program, known);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].source.find("__shared__ int b_of_block[100];"), std::string::npos) << found[0].source;
  known.fixed_elements = {{"bins", 1000000}};
  EXPECT_TRUE(privatise_histogram(program, known).empty());
}

}  // namespace
}  // namespace kforge::propose
