// What a GPU is found to be like: the driver's log, a device that is not well, and what it reaches.
#include <gmock/gmock.h>

#include "fake_gpu.h"

namespace kforge {
namespace {

using ::testing::HasSubstr;

// What the driver logs while a candidate has the GPU is told with its fault; what says that the GPU itself is broken is nobody's fault.
class Logged : public FakeGpu {
 protected:
  Answer with_xids(const std::string& xids, std::vector<std::string> call) {
    auto made = TemporaryDirectory::create("device_test");
    EXPECT_TRUE(made);
    const fs::path file = made->path() / "xids";
    std::ofstream(file) << xids;
    return kforge(std::move(call), "small", {{"KFORGE_FAKE_XIDS", file.string()}, {"KFORGE_KERNEL_LOG", "/nowhere"}});
  }
  std::vector<std::string> bench_of(const char* candidate) { return {"bench", (kHere / "task.toml").string(), (kHere / candidate).string(), "--time-seconds", "0.2", "--json"}; }
};

TEST_F(Logged, AFaultHasTheDriversWordBesideIt) {
  const Answer answer = with_xids("31 45", bench_of("faulty/illegal.cu"));
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_THAT(answer.out, HasSubstr("in a timed call; the driver logs Xid 31 (memory page fault), Xid 45 (work was removed after an earlier error)"));
  EXPECT_EQ(with_xids("", bench_of("honest/plain.cu")).exit_code, 0);
}

TEST_F(Logged, AGpuThatIsNotWellEndsTheWork) {
  const std::vector<std::string> check = {"check", (kHere / "task.toml").string(), (kHere / "honest/plain.cu").string(), "--device", "gpu:0", "--time-seconds", "0.2"};
  for (const auto& call : {check, bench_of("honest/plain.cu")}) {
    const Answer answer = with_xids("79", call);
    EXPECT_EQ(answer.exit_code, 3) << answer.out;
    EXPECT_THAT(answer.err, HasSubstr("GPU 0 (NVIDIA H200) is not well: Xid 79 (the GPU has fallen off the bus)"));
    EXPECT_THAT(answer.err, HasSubstr("says nothing about the candidate"));
    EXPECT_EQ(answer.out, "");
  }
  auto folder = TemporaryDirectory::create("device_test");
  ASSERT_TRUE(folder);
  for (const char* name : {"a.cu", "b.cu", "c.cu"}) fs::copy_file(kHere / "honest/plain.cu", folder->path() / name);
  const Answer many = with_xids("79", {"check", (kHere / "task.toml").string(), folder->path().string(), "--out", (folder->path() / "out").string(), "--device", "gpu:0", "--jobs", "1"});
  EXPECT_EQ(many.exit_code, 3) << many.out;
  EXPECT_THAT(many.err, HasSubstr("is not well"));
  EXPECT_FALSE(fs::exists(folder->path() / "out" / "b.cu.json")) << "the others wait for a sound device";
  EXPECT_THAT(with_xids("48", bench_of("honest/plain.cu")).err, HasSubstr("double-bit memory error"));
  EXPECT_THAT(kforge(check, "worn").err, HasSubstr("could not be replaced"));
}

// Measured once a day and GPU: the second check takes what the first one found.
TEST_F(FakeGpu, MeasuredCeilingsStandBesideTheSheets) {
  auto folder = TemporaryDirectory::create("device_test");
  ASSERT_TRUE(folder);
  const std::map<std::string, std::string> cache = {{"KFORGE_CACHE", folder->path().string()}};
  const std::vector<std::string> call = {"check", (kHere / "task.toml").string(), (kHere / "honest/plain.cu").string(), "--device", "gpu:0", "--time-seconds", "0.2", "--json"};
  const auto told = [&] {
    const json verdict = kforge(call, "small", cache).parsed();
    const json* rung = find(verdict["rungs"], "name", "ceilings");
    return rung ? rung->at("why").get<std::string>() : verdict.dump();
  };
  const std::string first = told();
  EXPECT_THAT(first, testing::ContainsRegex("a copy moves [0-9.]+ TB/s .data sheet 4.80., seen 20[0-9-]+: they need .* reached; by the data sheet"));
  std::string kept;
  for (const auto& entry : fs::directory_iterator(folder->path() / "ceilings")) kept = entry.path();
  const json known = json::parse(read_file(kept).value_or(""), nullptr, false);
  EXPECT_GT(known["copy_bytes_per_s"], 0);
  std::ofstream(kept) << json{{"day", known["day"]}, {"copy_bytes_per_s", 1.25e12}, {"matrix_flops", 0}};
  EXPECT_THAT(told(), HasSubstr("a copy moves 1.25 TB/s")) << "of the same day: it is not measured again";
  std::ofstream(kept) << json{{"day", "1999-12-31"}, {"copy_bytes_per_s", 1.25e12}, {"matrix_flops", 0}};
  EXPECT_THAT(told(), testing::Not(HasSubstr("1.25 TB/s"))) << "of another day";
}

}  // namespace
}  // namespace kforge
