// Range marks against one bool a byte, over every range of a small allocation.
#include "cudart/bits.h"

#include <gtest/gtest.h>

#include <string>

namespace kforge::cudart {
namespace {

emulator::Allocation allocation(std::uint64_t size) {
  emulator::Allocation result;
  result.size = size;
  return result;
}

TEST(Bits, EveryRangeOfATwoWordShadowIsSetExactly) {
  constexpr std::uint64_t kSize = 130;
  for (std::uint64_t offset = 0; offset <= kSize; ++offset) {
    for (std::uint64_t bytes = 0; offset + bytes <= kSize; ++bytes) {
      Bits bits;
      set_range(bits, kSize, offset, bytes, true);
      for (std::uint64_t i = 0; i < kSize; ++i)
        ASSERT_EQ(get_bits(bits, i, 1), (i >= offset && i < offset + bytes) ? 1u : 0u) << offset << '+' << bytes << " at " << i;
      ASSERT_TRUE(all_set(bits, offset, bytes));
      ASSERT_EQ(any_set(bits), bytes != 0);
      ASSERT_EQ(first_clear(bits, offset, kSize - offset), offset + bytes);
      ASSERT_EQ(first_clear(bits, 0, kSize), offset > 0 ? 0u : bytes);
    }
  }
}

TEST(Bits, CopiesCarryMarksFromAnyToAnyAlignment) {
  constexpr std::uint64_t kSize = 200, kBytes = 70;
  for (std::uint64_t from_offset = 0; from_offset < 66; ++from_offset) {
    for (std::uint64_t to_offset = 0; to_offset < 66; ++to_offset) {
      auto from = allocation(kSize), to = allocation(kSize);
      for (std::uint64_t i = 0; i < kSize; ++i) {
        if (i % 3 == 0) mark_from_host(from, i, 1);
        if (i % 3 == 1) mark_from_device(from, i, 1);
      }
      copy_marks(to, to_offset, from, from_offset, kBytes);
      for (std::uint64_t i = 0; i < kSize; ++i) {
        const bool inside = i >= to_offset && i < to_offset + kBytes;
        const std::uint64_t kind = (i - to_offset + from_offset) % 3;
        ASSERT_EQ(is_initialised(to, i, 1), inside && kind != 2) << i;
        ASSERT_EQ(get_bits(to.host_written, i, 1), inside && kind == 0 ? 1u : 0u) << i;
        ASSERT_EQ(get_bits(to.written, i, 1), inside && kind != 0 ? 1u : 0u) << i;
      }
    }
  }
}

TEST(Bits, DataOfTheHostReplacesTheWorkOfKernels) {
  auto buffer = allocation(16);
  mark_from_device(buffer, 0, 16);
  mark_from_host(buffer, 4, 4);
  EXPECT_EQ(first_clear(buffer.written, 0, 16), 4u);
  mark_from_device(buffer, 0, 16);
  EXPECT_TRUE(all_set(buffer.written, 0, 16));
  EXPECT_FALSE(any_set(buffer.host_written));
}

TEST(Bits, MarkingAPartUninitialisedKeepsTheRest) {
  auto buffer = allocation(100);
  buffer.all_initialised = true;
  mark_initialised(buffer, 10, 5, false);
  EXPECT_TRUE(is_initialised(buffer, 0, 10));
  EXPECT_FALSE(is_initialised(buffer, 14, 1));
  EXPECT_TRUE(is_initialised(buffer, 15, 85));
  mark_initialised(buffer, 0, 100, true);
  EXPECT_TRUE(buffer.all_initialised);
}

}  // namespace
}  // namespace kforge::cudart
