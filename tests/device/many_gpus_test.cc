// Machines of two and three GPUs.
#include <gmock/gmock.h>

#include "fake_gpu.h"

namespace kforge {
namespace {

using ::testing::HasSubstr;

std::size_t locks_in(const fs::path& cache) {
  std::size_t locks = 0;
  for (const auto& entry : fs::directory_iterator(cache)) locks += entry.path().filename().string().starts_with("GPU-") && entry.path().extension() == ".lock";
  return locks;
}

// Each GPU times one candidate at a time: the lock files in the cache say which were used.
TEST_F(FakeGpu, AFolderOfCandidatesIsSpreadOverAllGpus) {
  auto folder = TemporaryDirectory::create("device_test");
  ASSERT_TRUE(folder);
  const fs::path candidates = folder->path() / "candidates", out = folder->path() / "out", cache = folder->path() / "cache";
  fs::create_directory(candidates);
  for (const char* name : {"a.cu", "b.cu", "c.cu", "d.cu"}) fs::copy_file(kHere / "honest/plain.cu", candidates / name);
  const std::vector<std::string> call = {"check", (kHere / "task.toml").string(), candidates.string(), "--out", out.string(), "--device", "gpu:all", "--time-seconds", "0.2", "--json"};
  const Answer answer = kforge(call, "two", {{"KFORGE_CACHE", cache.string()}});
  EXPECT_EQ(answer.exit_code, 0) << answer.out << answer.err;
  EXPECT_EQ(answer.parsed().size(), 4u);
  EXPECT_EQ(locks_in(cache), 2u);
  EXPECT_THAT(kforge({"check", (kHere / "task.toml").string(), (kHere / "honest/plain.cu").string(), "--device", "gpu:all"}, "two").err, HasSubstr("spreads many candidates"));
}

// Ratios are of one GPU's times: the first candidate is timed on each.
TEST_F(FakeGpu, BenchSpreadsCandidatesOverAllGpus) {
  auto folder = TemporaryDirectory::create("device_test");
  ASSERT_TRUE(folder);
  std::vector<std::string> call = {"bench", (kHere / "task.toml").string()};
  for (const char* name : {"honest/plain.cu", "honest/halves.cu", "honest/workspace.cu", "honest/joined_stream.cu", "dishonest/half_of_it.cu"}) call.push_back((kHere / name).string());
  call.insert(call.end(), {"--time-seconds", "0.2", "--device", "gpu:all", "--json"});
  const Answer answer = kforge(call, "three", {{"KFORGE_CACHE", (folder->path() / "cache").string()}});
  const json report = answer.parsed();
  EXPECT_EQ(answer.exit_code, 1) << answer.err << " a wrong one is among them";
  std::map<std::string, std::vector<std::string>> by_device;
  for (const json& row : report["rows"]) {
    by_device[row["device"]].push_back(fs::path(row["candidate"].get<std::string>()).stem());
    EXPECT_EQ(row["right"], row["candidate"].get<std::string>().find("half_of_it") == std::string::npos ? "right" : "wrong") << row.dump();
  }
  EXPECT_EQ(by_device, (std::map<std::string, std::vector<std::string>>{{"gpu:0", {"plain", "halves", "half_of_it"}}, {"gpu:1", {"plain", "workspace"}}, {"gpu:2", {"plain", "joined_stream"}}}));
  EXPECT_EQ(report["devices"].size(), 3u);
  EXPECT_EQ(locks_in(folder->path() / "cache"), 3u);
  call.pop_back();
  EXPECT_THAT(kforge(call, "two", {{"KFORGE_CACHE", (folder->path() / "cache").string()}}).out, testing::AllOf(HasSubstr("on NVIDIA H200 (gpu:0)"), HasSubstr("on NVIDIA H200 (gpu:1)")));
  call.insert(call.end(), {"--beside", "/bin/true"});
  EXPECT_EQ(kforge(call, "two").exit_code, 2);
}

TEST_F(FakeGpu, OptimizeGlancesAtAllGpusAndProvesOnOne) {
  auto folder = TemporaryDirectory::create("device_test");
  ASSERT_TRUE(folder);
  const fs::path cache = folder->path() / "cache";
  const Answer answer = kforge({"optimize", (kHere / "task.toml").string(), "--from", (kHere / "honest/plain.cu").string(), "--device", "gpu:all", "--candidates", "4", "--budget-seconds", "90", "--json"}, "two",
                               {{"KFORGE_STORE", (folder->path() / "store").string()}, {"KFORGE_CACHE", cache.string()}});
  EXPECT_LE(answer.exit_code, 1) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("\"source\": \"measured\"")) << answer.err;
  EXPECT_EQ(locks_in(cache), 2u) << "both were used";
}

}  // namespace
}  // namespace kforge
