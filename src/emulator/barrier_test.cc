// Barriers that not all threads reach, on kernels as nvcc writes them (testdata/barriers.cu).
#include <algorithm>
#include <numeric>

#include "emulator/testing.h"

namespace kforge::emulator {
namespace {

std::string source() {
  static const std::string text = read_text(std::string(KFORGE_SOURCE_DIR) + "/src/emulator/testdata/barriers.cu");
  return text;
}

std::uint32_t line_of(std::string_view text) {
  const std::size_t at = source().find(text);
  return at == std::string::npos ? 0 : 1 + static_cast<std::uint32_t>(std::ranges::count(source().substr(0, at), '\n'));
}

struct Launched {
  LaunchResult result;
  evidence::LaunchLog log;
  std::vector<int> y;

  std::vector<std::uint32_t> divergent_lines() const {
    std::vector<std::uint32_t> lines;
    for (const auto& v : log.violations)
      if (v.contract == "safety.barriers" && !v.advice) lines.push_back(v.where.line_in("barriers.cu").line);
    return lines;
  }
  std::string all() const {
    std::string text = result.detail;
    for (const auto& v : log.violations) text += "\n  " + v.contract + "/" + v.kind + (v.advice ? " (advice) " : " ") + std::to_string(v.where.line_in("barriers.cu").line) + ": " + v.message;
    return text;
  }
};

Launched run(const std::string& kernel, int n, std::uint64_t seed = 0, std::uint32_t threads = 128) {
  static const auto module = [] {
    auto parsed = ptx::parse(read_text(std::string(KFORGE_SOURCE_DIR) + "/src/emulator/testdata/barriers.ptx"));
    if (!parsed) throw std::runtime_error(to_string(parsed.error()));
    return std::make_shared<const ptx::Module>(std::move(*parsed));
  }();
  Launched launched;
  TestDevice t;
  auto loaded = t.device.load(module);
  if (!loaded) throw std::runtime_error(to_string(loaded.error()));
  t.device.set_seed(seed);
  std::vector<int> x(threads);
  std::iota(x.begin(), x.end(), 0);
  Allocation* in = t.buffer(x, "x");
  Allocation* out = t.buffer(std::vector<int>(threads, 0), "y");
  std::vector<std::byte> parameters(20);
  std::memcpy(parameters.data(), &in->base, 8);
  std::memcpy(parameters.data() + 8, &out->base, 8);
  std::memcpy(parameters.data() + 16, &n, 4);
  LaunchRequest request;
  request.kernel = t.device.find_kernel(*loaded, kernel);
  EXPECT_NE(request.kernel, nullptr) << kernel;
  request.grid = {2, 1, 1};
  request.block = {threads, 1, 1};
  request.parameters = parameters;
  launched.result = t.device.launch(request);
  launched.y = TestDevice::values<int>(out);
  launched.log = t.device.take_log();
  return launched;
}

constexpr std::uint64_t kSeeds[] = {0, 1, 2, 3};

TEST(BarrierDivergence, ConditionsThatAreTheSameForAllNeverAlarm) {
  const std::pair<std::string, std::vector<int>> table[] = {
      {"early_return", {1, 31, 32, 33, 100, 128}}, {"uniform_if", {0, 4}}, {"uniform_loop", {0, 1, 2, 7, 33}},
      {"nested_uniform", {0, 1, 2, 5, 9, 14}}, {"warp_work", {0, 1, 5}}, {"return_in_loop", {0, 3}}, {"called", {0, 1, 2, 5}}, {"counted", {0, 60}}};
  for (const auto& [kernel, sizes] : table)
    for (const int n : sizes)
      for (const std::uint64_t seed : kSeeds) {
        const Launched r = run(kernel, n, seed);
        EXPECT_EQ(r.result.status, LaunchStatus::ok) << kernel << " " << n << r.all();
        EXPECT_TRUE(r.divergent_lines().empty()) << kernel << " n=" << n << " seed=" << seed << r.all();
      }
}

TEST(BarrierDivergence, ABarrierThatSomeThreadsPassIsFoundAtItsLine) {
  const std::tuple<std::string, std::vector<int>, std::uint32_t> table[] = {
      {"half_warp", {1, 16, 31, 32, 33, 64, 127}, line_of("// wrong: half_warp")}, {"tree", {0}, line_of("// wrong: tree")},
      {"trip_count", {1, 5, 20, 32, 64}, line_of("// wrong: trip_count")}, {"one_side", {2, 3, 100}, line_of("// wrong: one_side")},
      {"called_by_some", {1, 16, 32, 100}, line_of("// wrong: called_by_some")},
      {"divergent_work", {1, 3}, line_of("// wrong when")}};
  for (const auto& [kernel, sizes, line] : table)
    for (const int n : sizes)
      for (const std::uint64_t seed : kSeeds) {
        const Launched r = run(kernel, n, seed);
        const auto lines = r.divergent_lines();
        EXPECT_NE(std::ranges::find(lines, line), lines.end()) << kernel << " n=" << n << " seed=" << seed << " line " << line << r.all();
      }
  for (const std::string kernel : {"half_warp", "called_by_some", "one_side", "trip_count"})   // nobody is left behind
    for (const int n : {kernel == "one_side" ? 1 : 128}) EXPECT_TRUE(run(kernel, n).divergent_lines().empty()) << kernel;
}

TEST(BarrierDivergence, TheMessageCountsThreadsAndNamesTheCondition) {
  const Launched r = run("half_warp", 40);
  ASSERT_FALSE(r.log.violations.empty());
  const auto v = std::ranges::find_if(r.log.violations, [](const auto& x) { return x.kind == "barrier-divergence"; });
  ASSERT_NE(v, r.log.violations.end()) << r.all();
  EXPECT_EQ(v->message, "40 threads wait at this barrier while 88 threads went past it: the condition at barriers.cu:" + std::to_string(line_of("// wrong: half_warp") - 2) + " is not the same for all");
  EXPECT_EQ(v->other.line_in("barriers.cu").line, line_of("// wrong: half_warp") - 2);
}

TEST(BarrierDivergence, TwoBarriersOfOneConditionAreAFaultWithinAWarpAndAdviceBetweenWarps) {
  EXPECT_FALSE(run("both_sides", 16).divergent_lines().empty());
  EXPECT_TRUE(run("both_sides", 32).divergent_lines().empty());
  const Launched r = run("whole_warps_both_sides", 0);
  EXPECT_TRUE(r.divergent_lines().empty()) << r.all();
  EXPECT_TRUE(std::ranges::any_of(r.log.violations, [](const auto& v) { return v.kind == "barrier-differs" && v.advice; })) << r.all();
}

TEST(BarrierDivergence, APredicatedBarrierIsOne) {
  TestDevice t;
  t.load_body("mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; setp.lt.u32 %p1, %r1, %r2; @%p1 bar.sync 0; bar.sync 0; ret;");
  Allocation* x = t.buffer(std::vector<int>(1, 0));
  EXPECT_EQ(t.launch(x->base, x->base, 64, {1, 1, 1}, {64, 1, 1}).status, LaunchStatus::ok);
  EXPECT_TRUE(t.device.take_log().violations.empty());
  t.launch(x->base, x->base, 5, {1, 1, 1}, {32, 1, 1});
  const auto log = t.device.take_log();
  ASSERT_FALSE(log.violations.empty());
  EXPECT_EQ(log.violations[0].kind, "barrier-divergence");
}

}  // namespace
}  // namespace kforge::emulator
