#include "emulator/memory.h"

#include <gtest/gtest.h>

namespace kforge::emulator {
namespace {

TEST(Memory, DeviceAddressesAreNotHostAddresses) {
  Memory memory;
  const Allocation* device = memory.allocate(100, MemoryKind::device, "x");
  EXPECT_EQ(device->base, reinterpret_cast<Address>(device->data) + kDeviceOffset);
  EXPECT_EQ(device->base % 256, 0u);
  const Allocation* pinned = memory.allocate(100, MemoryKind::pinned);
  EXPECT_EQ(pinned->base, reinterpret_cast<Address>(pinned->data));
}

TEST(Memory, BoundsAreExactToTheByte) {
  Memory memory;
  Allocation* a = memory.allocate(101, MemoryKind::device);
  EXPECT_EQ(memory.find(a->base), a);
  EXPECT_EQ(memory.find(a->base + 100), a);
  EXPECT_EQ(memory.find(a->base + 101), nullptr);
  EXPECT_EQ(memory.find(a->base - 1), nullptr);
  EXPECT_EQ(memory.nearest(a->base + 101), a);
  EXPECT_EQ(memory.nearest(0), a);
}

TEST(Memory, FreedAddressesNeverReturn) {
  Memory memory;
  Allocation* a = memory.allocate(4096, MemoryKind::device, "old");
  const Address base = a->base;
  EXPECT_FALSE(memory.free(base + 1));
  EXPECT_TRUE(memory.free(base));
  EXPECT_FALSE(memory.free(base));
  for (int i = 0; i < 64; ++i) EXPECT_NE(memory.allocate(4096, MemoryKind::device)->base, base);
  EXPECT_EQ(memory.find(base), nullptr);
  EXPECT_EQ(memory.nearest(base)->label, "old");
  EXPECT_FALSE(memory.nearest(base)->live);
}

TEST(Memory, CapacityIsKept) {
  Memory memory;
  memory.set_capacity(1000);
  Allocation* a = memory.allocate(600, MemoryKind::device);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(memory.allocate(401, MemoryKind::device), nullptr);
  EXPECT_EQ(memory.allocate(~0ull, MemoryKind::device), nullptr);
  EXPECT_NE(memory.allocate(400, MemoryKind::device), nullptr);
  memory.free(a->base);
  EXPECT_EQ(memory.bytes_in_use(), 400u);
  EXPECT_EQ(memory.live().size(), 1u);
}

}  // namespace
}  // namespace kforge::emulator
