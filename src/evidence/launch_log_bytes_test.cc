// A log survives the way through bytes whole, and bytes that are no log are refused, whatever they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "evidence/full_log_test.h"
#include "evidence/launch_log_bytes.h"

namespace kforge::evidence {
namespace {

using ::testing::HasSubstr;

TEST(LaunchLogBytes, AFullLogComesBackTheSame) {
  const std::string bytes = to_bytes(full_log());
  LaunchLog back;
  std::string error;
  ASSERT_TRUE(from_bytes(bytes, back, error)) << error;
  EXPECT_EQ(to_json(back), to_json(full_log()));
  EXPECT_EQ(to_bytes(back), bytes);
  EXPECT_LT(bytes.size(), to_json(full_log()).size() / 2);
}

TEST(LaunchLogBytes, EndsOfEveryTypeComeBack) {
  for (const int returned : {0, -1, 1, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
    LaunchLog log, back;
    log.returned = returned;
    log.thread_instructions = ~std::uint64_t{0};
    log.output = std::string("a\0b", 3) + "\xc3\xa9";
    std::string error;
    ASSERT_TRUE(from_bytes(to_bytes(log), back, error)) << error;
    EXPECT_EQ(back.returned, returned);
    EXPECT_EQ(back.thread_instructions, log.thread_instructions);
    EXPECT_EQ(back.output, log.output);
  }
}

TEST(LaunchLogBytes, BytesThatAreNoTextAreReplaced) {
  LaunchLog log, back;
  log.output = "a\xff";
  std::string error;
  ASSERT_TRUE(from_bytes(to_bytes(log), back, error)) << error;
  EXPECT_EQ(back.output, "a\xEF\xBF\xBD");
}

TEST(LaunchLogBytes, EveryTruncationAndAnythingAfterTheEndIsRefused) {
  const std::string bytes = to_bytes(full_log());
  std::string error;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    LaunchLog back = full_log();
    ASSERT_FALSE(from_bytes(std::string_view(bytes).substr(0, size), back, error)) << size;
    ASSERT_THAT(error, HasSubstr("log"));
    ASSERT_EQ(back.returned, -700) << "the target stays as it was";
  }
  LaunchLog back;
  EXPECT_FALSE(from_bytes(bytes + '\0', back, error));
  EXPECT_THAT(error, HasSubstr("nothing after its end"));
}

TEST(LaunchLogBytes, DamageIsRefusedOrReadAndNeverMore) {
  const std::string bytes = to_bytes(full_log());
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (const char put : {'\0', '\x01', '\x7f', '\x80', '\xff'}) {
      std::string damaged = bytes;
      damaged[at] = put;
      LaunchLog back;
      std::string error;
      if (from_bytes(damaged, back, error)) EXPECT_FALSE(to_json(back).empty());
      else EXPECT_NE(error, "");
    }
  std::mt19937 random(7);
  for (int turn = 0; turn < 2000; ++turn) {
    std::string noise(random() % 200, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    LaunchLog back;
    std::string error;
    const bool read = from_bytes(noise, back, error);
    EXPECT_EQ(read, error.empty());
  }
}

TEST(LaunchLogBytes, AFewBytesCannotStandForMuchMemory) {
  std::string bytes = {'\0', '\0', '\0'};                 // finished, no detail, returned 0
  for (const char c : {'\x80', '\x80', '\x80', '\x18'}) bytes.push_back(c);   // 48 Mi kernels
  bytes.resize(60u << 20);
  LaunchLog back;
  std::string error;
  EXPECT_FALSE(from_bytes(bytes, back, error));
  EXPECT_EQ(error, "log.kernels: expected a smaller log");
}

}  // namespace
}  // namespace kforge::evidence
