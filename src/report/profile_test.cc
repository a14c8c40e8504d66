// A profile in each of its forms, with what the hardware said.
#include "kforge/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kforge {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Profile sample(bool on_gpu) {
  Profile out;
  out.task = "t";
  out.candidate = out.verdict.candidate = "mine.cu";
  out.candidate_text = "one\ntwo < 2\nthree\n";
  KernelFigures kernel;
  kernel.kernel = "k";
  kernel.source = "emulator(ptx)";
  kernel.lines = {{"mine.cu", 2, {{"smsp__inst_executed.sum", 30}, {"smsp__thread_inst_executed.sum", 960}}}, {"mine.cu", 3, {{"smsp__inst_executed.sum", 10}, {"smsp__thread_inst_executed.sum", 320}}}};
  if (on_gpu) {
    kernel.lines[0].metrics["smsp__pcsamp_warps_issue_stalled_long_scoreboard"] = 60;
    kernel.lines[0].metrics["smsp__pcsamp_warps_issue_stalled_selected"] = 400;
    kernel.lines[0].metrics["smsp__pcsamp_warps_issue_stalled_barrier"] = 15;
    kernel.lines[1].metrics["smsp__pcsamp_warps_issue_stalled_brand_new"] = 25;
    out.counters = {{"k(float *)", "n=4096", "memory", {{"dram__throughput.avg.pct_of_peak_sustained_elapsed", 91.25}}}};
  }
  for (const LineFigures& line : kernel.lines)
    for (const auto& [name, count] : line.metrics) kernel.metrics[name] += count;
  out.kernels = {kernel};
  return out;
}

TEST(Profile, SaysBesideEachLineWhereWarpsWait) {
  const std::string text = to_text(sample(true), {});
  EXPECT_THAT(text, AllOf(HasSubstr("    waits      for  line"), HasSubstr("    75.0%   memory     2 | two < 2"), HasSubstr("    25.0% brand_new     3 | three")));
  EXPECT_THAT(to_text(sample(false), {}), AllOf(Not(HasSubstr("waits")), HasSubstr("75.0%     32.0     2 | two < 2"))) << "a column that has nothing to say is left out";
  TextOptions all;
  all.all_cases = true;
  EXPECT_THAT(to_text(sample(true), all), HasSubstr("warps wait for global, local or texture memory"));
}

TEST(Profile, NamesEachMetricOfTheHardware) {
  EXPECT_THAT(to_text(sample(true), {}), AllOf(HasSubstr("k(float *) [n=4096], suspected: memory"), HasSubstr("dram__throughput.avg.pct_of_peak_sustained_elapsed"), HasSubstr("91.25 %         of the DRAM's peak rate")));
  const auto json = nlohmann::json::parse(to_json(sample(true)));
  EXPECT_EQ(json["counters"][0]["suspect"], "memory");
  EXPECT_EQ(json["counters"][0]["metrics"]["dram__throughput.avg.pct_of_peak_sustained_elapsed"], 91.25);
  EXPECT_EQ(json["kernels"][0]["lines"][0]["metrics"]["smsp__pcsamp_warps_issue_stalled_long_scoreboard"], 60);
  EXPECT_EQ(nlohmann::json::parse(to_json(sample(false)))["counters"], nlohmann::json::array());
}

TEST(Profile, IsAPageAndMarkdownToo) {
  EXPECT_THAT(to_html(sample(true)), AllOf(HasSubstr("<span class=\"f f6\">75.0%</span><span class=\"f f7\">memory</span>"), HasSubstr("waits: share of the samples in which warps waited"), HasSubstr("two &lt; 2")));
  EXPECT_THAT(to_html(sample(false)), Not(HasSubstr("waits:")));
  EXPECT_THAT(to_markdown(sample(true)), AllOf(HasSubstr("| line | inst | lanes | waits | for | source |"), HasSubstr("| 2 | 75.0% | 32.0 | 75.0% | memory |")));
}

}  // namespace
}  // namespace kforge
