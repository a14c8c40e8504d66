// What two launches may not touch both, and what is let be.
#include "emulator/footprint.h"

#include "emulator/code.h"
#include "emulator/testing.h"

namespace kforge::emulator {
namespace {

using Touch = Footprint::Touch;

Footprint of(Touch touch, Address first, std::uint64_t bytes) {
  Footprint footprint;
  footprint.add(touch, first, bytes, 0);
  footprint.settle();
  return footprint;
}

TEST(Footprints, AWriteMeetsAReadOfOneByte) {
  const auto meeting = of(Touch::write, 100, 8).conflict(of(Touch::read, 107, 4));
  ASSERT_TRUE(meeting.has_value());
  EXPECT_EQ(meeting->address, 107u);
  EXPECT_TRUE(meeting->i_write);
  EXPECT_FALSE(meeting->they_write);
}

TEST(Footprints, NeighboursDoNotMeet) { EXPECT_FALSE(of(Touch::write, 100, 8).conflict(of(Touch::write, 108, 4)).has_value()); }
TEST(Footprints, ReadsDoNotConflict) { EXPECT_FALSE(of(Touch::read, 100, 8).conflict(of(Touch::read, 100, 8)).has_value()); }
TEST(Footprints, AtomicsDoNotConflict) { EXPECT_FALSE(of(Touch::strong_write, 100, 4).conflict(of(Touch::strong_write, 100, 4)).has_value()); }
TEST(Footprints, AnAtomicAndAPlainReadConflict) { EXPECT_TRUE(of(Touch::strong_write, 100, 4).conflict(of(Touch::read, 100, 4)).has_value()); }

TEST(Footprints, WhoTalksByAFlagIsLetBe) {
  Footprint writer, reader;
  writer.add(Touch::write, 100, 4, 0), writer.add(Touch::strong_write, 200, 4, 0), writer.settle();
  reader.add(Touch::read, 100, 4, 0), reader.add(Touch::strong_read, 200, 4, 0), reader.settle();
  EXPECT_FALSE(writer.conflict(reader).has_value());
}

TEST(Footprints, RunsOfSeveralWorkersAreJoined) {
  Footprint footprint;
  for (const Address first : {300u, 100u, 200u, 150u}) footprint.add(Touch::read, first, 100, 7);
  footprint.settle();
  EXPECT_EQ(footprint.run_count(), 1u);
  EXPECT_TRUE(of(Touch::write, 399, 1).conflict(footprint).has_value());
  EXPECT_FALSE(of(Touch::write, 400, 1).conflict(footprint).has_value());
}

// What launches ask of a kernel is found when it is loaded.
TEST(Footprints, AKernelKnowsWhetherItWaitsForThePrimary) {
  TestDevice device;
  device.load_body("ld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1];\ngriddepcontrol.wait;\nst.global.u32 [%rd1], %r1;\nret;");
  const Kernel* kernel = device.device.find_kernel(device.module, "kernel");
  EXPECT_TRUE(waits_for_primary(*kernel));
  EXPECT_FALSE(launches_dependents(*kernel));
  EXPECT_EQ(kernel->before_wait.size(), kernel->module->locations.size());
  TestDevice other;
  other.load_body("griddepcontrol.launch_dependents;\nret;");
  const Kernel* starts = other.device.find_kernel(other.module, "kernel");
  EXPECT_TRUE(launches_dependents(*starts));
  EXPECT_FALSE(waits_for_primary(*starts));
  EXPECT_TRUE(starts->before_wait.empty());
}

}  // namespace
}  // namespace kforge::emulator
