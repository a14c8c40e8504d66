// A fragment's register in wide registers against one lane after the other: rows of neighbours, and places far apart.
#include "emulator/fragment_wide.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "emulator/alu.h"
#include "emulator/matrix_wide.h"

namespace kforge::emulator {
namespace {

struct Case { FragmentPlaces places; std::uint32_t bytes; };
constexpr Case kCases[] = {{{64, 4}, 4}, {{16, 4}, 4}, {{4, 128}, 4}, {{96, 8}, 4}, {{8, 200}, 4}, {{64, 8}, 8}, {{32, 8}, 8}, {{8, 256}, 8}, {{128, 16}, 8}};

std::size_t place(const Case& one, std::size_t lane) { return lane / 4 * static_cast<std::size_t>(one.places.group) + lane % 4 * static_cast<std::size_t>(one.places.lane); }

struct Way {
  const char* name;
  bool (*is_there)();
  decltype(&avx512::load_fragment) load;
  decltype(&avx512::store_fragment) store;
  decltype(&avx512::is_uniform) is_uniform;
};

class FragmentWide : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override { if (!GetParam().is_there()) GTEST_SKIP() << "this machine has no " << GetParam().name; }
};
INSTANTIATE_TEST_SUITE_P(Registers, FragmentWide,
                         testing::Values(Way{"Avx512", &has_avx512, &avx512::load_fragment, &avx512::store_fragment, &avx512::is_uniform},
                                         Way{"Avx2", &has_avx2, &avx2::load_fragment, &avx2::store_fragment, &avx2::is_uniform}),
                         [](const auto& one) { return one.param.name; });

TEST_P(FragmentWide, LoadsAndStoresEachLanesElement) {
  for (const Case& one : kCases) {
    std::vector<std::byte> memory(place(one, 31) + one.bytes);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(7 * i + i / 256);
    const std::vector<std::byte> before = memory;
    std::array<std::byte, 256> slot{};
    GetParam().load(slot.data(), memory.data(), one.places, one.bytes);
    for (std::size_t lane = 0; lane < 32; ++lane)
      EXPECT_EQ(std::memcmp(slot.data() + lane * one.bytes, memory.data() + place(one, lane), one.bytes), 0) << "lane " << lane << " of " << one.places.group << ", " << one.places.lane;
    for (std::byte& byte : slot) byte = ~byte;
    GetParam().store(slot.data(), memory.data(), one.places, one.bytes);
    std::vector<std::byte> wanted = before;
    for (std::size_t lane = 0; lane < 32; ++lane) std::memcpy(wanted.data() + place(one, lane), slot.data() + lane * one.bytes, one.bytes);
    EXPECT_EQ(memory, wanted) << one.places.group << ", " << one.places.lane;
  }
}

TEST_P(FragmentWide, KnowsWhenAllLanesAreEqual) {
  for (std::uint32_t bytes : {4u, 8u}) {
    std::array<std::byte, 256> slot{};
    for (std::size_t i = 0; i < slot.size(); ++i) slot[i] = static_cast<std::byte>(i % bytes + 1);
    EXPECT_TRUE(GetParam().is_uniform(slot.data(), bytes));
    for (std::size_t lane = 0; lane < 32; ++lane) {
      slot[lane * bytes + bytes - 1] ^= std::byte{1};
      EXPECT_FALSE(GetParam().is_uniform(slot.data(), bytes)) << "lane " << lane << " of " << bytes << " bytes";
      slot[lane * bytes + bytes - 1] ^= std::byte{1};
    }
  }
}

}  // namespace
}  // namespace kforge::emulator
