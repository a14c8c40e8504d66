// Where warps wait, and what the hardware counted, by an ncu that is a fake.
#include <gmock/gmock.h>

#include "fake_gpu.h"

namespace kforge {
namespace {

using ::testing::HasSubstr;

// An ncu that answers what it is asked for, in the forms of version 2025.3; $1 of its source is a sed command for the metrics that it knows.
class Profiled : public WithPrograms {
 protected:
  Answer profile(const std::string& candidate, std::vector<std::string> more = {}, const std::string& unknown_metric = "no_such_metric") {
    write("source.csv", "\"File Path\",\"/somewhere/plain.cu\"\n\"Function Name\",\"decay_kernel(const float *, float *, int)\"\n"
                        "\"Line No\",\"Source\",\"stall_long_sb\",\"stall_barrier\",\"stall_selected\"\n\"9\",\"z = ...\",\"60\",\"5\",\"900\"\n\"10\",\"y[i] = z;\",\"35\",\"0\",\"4\"\n");
    write("ncu", "#!/bin/bash\ncd '" + folder() + "'\necho \"$*\" >>asked\n"
                 "case \"$*\" in *'--page source'*) cat source.csv; exit;; *" + unknown_metric + "*) echo '==ERROR== Failed to find metric " + unknown_metric + "'; exit 1;; esac\n"
                 "while [ $# -gt 0 ]; do [ \"$1\" = --metrics ] && names=$2; shift; done\n"
                 "echo '==PROF== Profiling \"decay_kernel\" - 0: 0%....50%....100% - 4 passes'\n"
                 "head=; units=; row=; n=7; for name in ${names//,/ }; do head+=\",\\\"$name\\\"\"; units+=',\"x\"'; row+=\",\\\"$((n += 1))\\\"\"; done\n"
                 "echo '\"ID\",\"Kernel Name\"'\"$head\"; echo '\"\",\"\"'\"$units\"; echo '\"0\",\"decay_kernel(const float *, float *, int)\"'\"$row\"\n", true);
    std::vector<std::string> call = {"profile", (kHere / "task.toml").string(), (kHere / candidate).string(), "--device", "gpu:0"};
    call.insert(call.end(), more.begin(), more.end());
    return kforge(call, "small", {{"PATH", path_with_programs()}});
  }
};

TEST_F(Profiled, WhereWarpsWaitStandsBesideTheLines) {
  const Answer text = profile("honest/plain.cu");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, testing::ContainsRegex("65\\.0% +memory +9 \\|"));
  EXPECT_THAT(text.out, HasSubstr("then at plain.cu:10 (35%, for global, local or texture memory)"));
  const json document = profile("honest/plain.cu", {"--json"}).parsed();
  std::uint64_t samples = 0;
  for (const json& line : document["kernels"][0]["lines"])
    if (line["line"] == 9) samples = line["metrics"].value("smsp__pcsamp_warps_issue_stalled_long_scoreboard", 0);
  EXPECT_EQ(samples, 60u);
  EXPECT_EQ(document["kernels"][0]["metrics"]["smsp__pcsamp_warps_issue_stalled_selected"], 904);
}

// 256 dependent steps of each thread, two blocks on the whole GPU: what bounds it is how long they take.
TEST_F(Profiled, TheCountersAreThoseOfWhatIsSuspected) {
  const json document = profile("honest/plain.cu", {"--json"}).parsed();
  const json& counted = document["counters"][0];
  EXPECT_EQ(counted["suspect"], "latency") << document.dump(2).substr(0, 3000);
  EXPECT_TRUE(counted["metrics"].contains("sm__warps_active.avg.pct_of_peak_sustained_active"));
  EXPECT_TRUE(counted["metrics"].contains("dram__bytes_read.sum")) << "contracts' are there always";
  EXPECT_FALSE(counted["metrics"].contains("lts__t_sector_hit_rate.pct"));
  const Answer text = profile("honest/plain.cu");
  EXPECT_THAT(text.out, HasSubstr("in 4 passes): sm__warps_active.avg.pct_of_peak_sustained_active"));
}

TEST_F(Profiled, AMetricThatIsNotKnownCostsTheSetAlone) {
  const Answer answer = profile("honest/plain.cu", {}, "launch__waves_per_multiprocessor");
  EXPECT_THAT(answer.out, HasSubstr("the set 'latency' was left out"));
  EXPECT_THAT(answer.out, HasSubstr("dram__bytes_read.sum"));
  EXPECT_THAT(answer.out, HasSubstr("65.0%"));
}

}  // namespace
}  // namespace kforge
