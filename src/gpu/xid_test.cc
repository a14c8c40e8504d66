// The driver's log, and what its numbers say of a device.
#include "gpu/xid.h"

#include <stdlib.h>

#include <fstream>

#include <gtest/gtest.h>

#include "base/files.h"

namespace kforge::gpu {
namespace {

constexpr const char* kLine = "NVRM: Xid (PCI:0000:19:00): 31, pid=4242, name=kforge-worker, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC0 faulted @ 0x7f00_00000000.";

TEST(Xid, IsReadFromALineOfTheLog) {
  const auto read = read_xid(std::string("6,1234,987654321,-;") + kLine, "00000000:19:00.0");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->number, 31u);
  EXPECT_EQ(describe(*read).substr(0, 62), "Xid 31 (memory page fault): pid=4242, name=kforge-worker, Ch 0");
  EXPECT_TRUE(read_xid(kLine, ""));
  EXPECT_FALSE(read_xid(kLine, "00000000:1A:00.0")) << "another device's";
  EXPECT_EQ(read_xid("NVRM: Xid (PCI:0000:C1:00): 79, GPU has fallen off the bus.", "00000000:c1:00.0")->number, 79u);
  EXPECT_EQ(read_xid("NVRM: Xid (PCI:0000:19:00): 45", "")->detail, "");
  for (const char* other : {"", "NVRM: Xid", "NVRM: Xid (PCI:0000:19:00", "NVRM: Xid (PCI:0000:19:00): many", "usb 1-1: new device", "NVRM: Xid (PCI:0000:19:00): 99999999999999999999, x"}) EXPECT_FALSE(read_xid(other, "")) << other;
}

TEST(Xid, TellsAProgramsFaultFromADevicesOwn) {
  for (const unsigned number : {13u, 31u, 43u, 45u}) EXPECT_TRUE(find_xid(number) && !is_not_well({number, ""})) << number;
  for (const unsigned number : {48u, 64u, 79u, 95u, 119u}) EXPECT_TRUE(is_not_well({number, ""})) << number;
  EXPECT_FALSE(is_not_well({4711, ""}));
  EXPECT_EQ(describe({4711, "x"}), "Xid 4711: x");
}

TEST(Xid, OfTheLogAreThoseThatComeAfterwards) {
  auto folder = TemporaryDirectory::create("xid_test");
  ASSERT_TRUE(folder);
  const std::string path = folder->path() / "kmsg";
  std::ofstream(path) << kLine << "\n";
  ::setenv("KFORGE_KERNEL_LOG", path.c_str(), 1);
  KernelLog log;
  ASSERT_TRUE(log.readable());
  EXPECT_TRUE(log.take("").empty()) << "what was there before is nobody's";
  std::ofstream(path, std::ios::app) << "eth0: up\nNVRM: Xid (PCI:0000:19:00): 13, pid=1\n";
  EXPECT_EQ(log.take(""), (std::vector<Xid>{{13, "pid=1"}}));
  EXPECT_TRUE(log.take("").empty());
  ::setenv("KFORGE_KERNEL_LOG", "/nowhere/kmsg", 1);
  KernelLog none;
  EXPECT_FALSE(none.readable());
  EXPECT_TRUE(none.take("").empty());
  ::unsetenv("KFORGE_KERNEL_LOG");
}

}  // namespace
}  // namespace kforge::gpu
