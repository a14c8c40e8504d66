// Control flow, ends of launches, faults and library calls, on kernels as nvcc writes them (testdata/control.cu).
#include <numeric>

#include "emulator/testing.h"

namespace kforge::emulator {
namespace {

struct Outcome {
  LaunchResult result;
  std::vector<int> y;
  evidence::LaunchLog log;

  const evidence::Violation* find(std::string_view contract, std::string_view kind) const {
    for (const auto& v : log.violations)
      if (v.contract == contract && v.kind == kind) return &v;
    return nullptr;
  }
  std::string all() const {
    std::string text = result.detail;
    for (const auto& v : log.violations) text += "\n  " + v.contract + "/" + v.kind + (v.advice ? " (advice): " : ": ") + v.message;
    return text;
  }
  std::uint32_t line(const evidence::Violation* v) const { return v == nullptr ? 0 : v->where.line_in("control.cu").line; }
};

// The line of control.cu that holds `text`.
std::uint32_t line_of(std::string_view text) {
  const std::string source = read_text(std::string(KFORGE_SOURCE_DIR) + "/src/emulator/testdata/control.cu");
  const std::size_t at = source.find(text);
  return at == std::string::npos ? 0 : 1 + static_cast<std::uint32_t>(std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

struct Options {
  evidence::Dim3 grid{1, 1, 1}, block{32, 1, 1};
  Checks checks{};
  std::uint64_t seed = 0;
  bool cooperative = false;
  Limits limits{};
  bool x_is_written = true;
};

std::shared_ptr<const ptx::Module> control_module() {
  static const std::shared_ptr<const ptx::Module> module = [] {
    auto parsed = ptx::parse(read_text(std::string(KFORGE_SOURCE_DIR) + "/src/emulator/testdata/control.ptx"));
    if (!parsed) throw std::runtime_error(to_string(parsed.error()));
    return std::make_shared<const ptx::Module>(std::move(*parsed));
  }();
  return module;
}

Outcome run(const std::string& kernel, const std::vector<int>& x, std::size_t results, int n, const Options& options = {}) {
  Outcome outcome;
  TestDevice t;
  auto loaded = t.device.load(control_module());
  if (!loaded) throw std::runtime_error(to_string(loaded.error()));
  t.device.set_checks(options.checks);
  t.device.set_seed(options.seed);
  t.device.set_limits(options.limits);
  Allocation* in = t.buffer(x, "x");
  in->all_initialised = options.x_is_written;
  Allocation* out = t.buffer(std::vector<int>(results, 0), "y");
  std::vector<std::byte> parameters(20);
  std::memcpy(parameters.data(), &in->base, 8);
  std::memcpy(parameters.data() + 8, &out->base, 8);
  std::memcpy(parameters.data() + 16, &n, 4);
  LaunchRequest request;
  request.kernel = t.device.find_kernel(*loaded, kernel);
  EXPECT_NE(request.kernel, nullptr) << kernel;
  request.grid = options.grid;
  request.block = options.block;
  request.cooperative = options.cooperative;
  request.parameters = parameters;
  outcome.result = t.device.launch(request);
  outcome.y = TestDevice::values<int>(out);
  t.device.check_read(*out, 0, out->size, "output `y`");
  outcome.log = t.device.take_log();
  return outcome;
}

std::vector<int> iota(std::size_t count, int first = 0) {
  std::vector<int> result(count);
  std::iota(result.begin(), result.end(), first);
  return result;
}

int steps_of(int v) {
  int steps = 0;
  while (v > 1) {
    v = v % 2 == 0 ? v / 2 : v % 3 == 0 ? v / 3 : 3 * v + 1;
    if (++steps > 1000) break;
  }
  return steps;
}

TEST(Control, NestedDivergenceAndEarlyExit) {
  for (const std::uint64_t seed : {0, 1, 2}) {
    const Outcome o = run("nested", iota(200), 200, 200, {.grid = {4, 1, 1}, .block = {64, 1, 1}, .seed = seed});
    ASSERT_EQ(o.result.status, LaunchStatus::ok) << o.all();
    EXPECT_TRUE(o.log.violations.empty()) << o.all();
    for (int i = 0; i < 200; ++i) ASSERT_EQ(o.y[static_cast<std::size_t>(i)], steps_of(i)) << i;
  }
}

TEST(Control, RecursionAndIndirectCalls) {
  const Outcome o = run("recursion", iota(32), 32, 16);
  ASSERT_EQ(o.result.status, LaunchStatus::ok) << o.all();
  EXPECT_EQ(o.y[15], 610);
  EXPECT_EQ(o.y[7], 13);
  const Outcome i = run("indirect", iota(32), 32, 32);
  ASSERT_EQ(i.result.status, LaunchStatus::ok) << i.all();
  for (int k = 0; k < 32; ++k) EXPECT_EQ(i.y[static_cast<std::size_t>(k)], k % 3 == 0 ? 2 * k : k % 3 == 1 ? k * k : -k);
  EXPECT_TRUE(o.log.violations.empty()) << o.all();   // 14 calls deep
  const Outcome endless = run("overflow", {0}, 4, 0);
  EXPECT_EQ(endless.result.status, LaunchStatus::stack_overflow);
  ASSERT_FALSE(endless.log.violations.empty());
  EXPECT_TRUE(endless.log.violations[0].kind == "deep-recursion" && endless.log.violations[0].advice) << endless.all();
}

TEST(Control, LocksInsideAWarpMakeProgress) {
  for (const std::uint64_t seed : {0, 7}) {
    const Outcome o = run("lock", {0}, 1, 0, {.grid = {3, 1, 1}, .block = {64, 1, 1}, .seed = seed});
    ASSERT_EQ(o.result.status, LaunchStatus::ok) << o.all();
    EXPECT_EQ(o.y[0], 192);
  }
}

TEST(Control, BlocksWaitForEachOther) {
  const Outcome o = run("chain", iota(100, 1), 100, 100, {.grid = {100, 1, 1}});
  ASSERT_EQ(o.result.status, LaunchStatus::ok) << o.all();
  EXPECT_EQ(o.y[99], 5050);
  for (const bool cooperative : {false, true}) {
    const Outcome m = run("meet", iota(40, 5), 80, 40, {.grid = {40, 1, 1}, .cooperative = cooperative});
    ASSERT_EQ(m.result.status, LaunchStatus::ok) << m.all();
    for (int i = 0; i < 40; ++i) EXPECT_EQ(m.y[static_cast<std::size_t>(40 + i)], 5 + (i + 1) % 40);
  }
}

TEST(Ends, EndlessLoopsAreHangsAndLongOnesLimits) {
  const Outcome o = run("forever", {0}, 1, 0, {.grid = {1000, 1, 1}, .block = {256, 1, 1}});
  EXPECT_EQ(o.result.status, LaunchStatus::hang) << o.all();
  EXPECT_LT(o.result.seconds, 5);
  EXPECT_NE(o.find("run.hang", "endless-loop"), nullptr) << o.all();
  EXPECT_EQ(o.line(o.find("run.hang", "endless-loop")), line_of("void forever"));
  EXPECT_EQ(run("wait_flag", {0}, 1, 0).result.status, LaunchStatus::hang);
  const Outcome c = run("counts", {0}, 1, 0, {.limits = {20'000'000, 0.05}});
  EXPECT_EQ(c.result.status, LaunchStatus::limit) << c.all();
}

TEST(Ends, AssertAndTrap) {
  const Outcome a = run("asserts", iota(32), 32, 0);
  EXPECT_EQ(a.result.status, LaunchStatus::assert_failed) << a.all();
  EXPECT_NE(a.log.output.find("block: [0,0,0], thread: [5,0,0] Assertion `x[threadIdx.x] < 5` failed."), std::string::npos) << a.log.output;
  ASSERT_NE(a.find("run.crash", "assert"), nullptr) << a.all();
  EXPECT_EQ(a.find("run.crash", "assert")->message, "assertion `x[threadIdx.x] < 5` failed");
  EXPECT_EQ(a.line(a.find("run.crash", "assert")), line_of("void asserts"));
  const Outcome t = run("traps", {0}, 1, 0);
  EXPECT_EQ(t.result.status, LaunchStatus::trap);
  EXPECT_EQ(t.line(t.find("run.crash", "trap")), line_of("void traps"));
}

TEST(Faults, OutOfBoundsNamesAllocationOffsetAndLine) {
  const Outcome o = run("past_end", iota(64), 32, 40);
  EXPECT_EQ(o.result.status, LaunchStatus::illegal_address);
  const evidence::Violation* v = o.find("safety.bounds", "out-of-bounds");
  ASSERT_NE(v, nullptr) << o.all();
  EXPECT_EQ(v->where.line_in("control.cu").line, line_of("void past_end"));
  EXPECT_EQ(v->thread.x, 24u);
  EXPECT_NE(v->message.find("offset 256 of the 256-byte allocation `x`"), std::string::npos) << v->message;
  EXPECT_NE(run("shared_past_end", iota(32), 32, 1).find("safety.bounds", "shared-out-of-bounds"), nullptr);
  EXPECT_NE(run("misaligned", iota(64), 32, 2).find("safety.bounds", "misaligned"), nullptr);
}

TEST(Faults, UninitialisedBytesThatDecide) {
  const Outcome s = run("unwritten_shared", iota(32), 32, 16);
  const evidence::Violation* v = s.find("safety.uninitialised", "uninitialised-output");
  ASSERT_NE(v, nullptr) << s.all();
  EXPECT_EQ(v->where.line_in("control.cu").line, line_of("void unwritten_shared"));
  EXPECT_EQ(run("unwritten_shared", iota(32), 32, 0).find("safety.uninitialised", "uninitialised-output"), nullptr);
  const Outcome b = run("unwritten_branch", iota(32), 32, 0, {.x_is_written = false});
  EXPECT_FALSE(b.log.violations.empty());
  EXPECT_TRUE(run("unwritten_branch", iota(32), 32, 0).log.violations.empty());
}

TEST(Faults, MissingBarrierIsARace) {
  const Outcome bad = run("missing_barrier", iota(64), 64, 0, {.block = {64, 1, 1}});
  bool raced = false;
  for (const auto& v : bad.log.violations) raced |= v.contract == "safety.races" && !v.advice;
  EXPECT_TRUE(raced) << bad.all();
  const Outcome good = run("missing_barrier", iota(64), 64, 1, {.block = {64, 1, 1}});
  EXPECT_TRUE(good.log.violations.empty()) << good.all();
}

TEST(Faults, BarriersAndShuffles) {
  const Outcome o = run("split_barrier", iota(32), 32, 0);
  EXPECT_NE(o.find("safety.barriers", "barrier-divergence"), nullptr) << o.all();
  const Outcome p = run("partial_shuffle", iota(32), 32, 16);
  EXPECT_NE(p.find("safety.barriers", "shuffle-absent-lane"), nullptr) << p.all();
  const Outcome e = run("shuffle_exited", iota(32), 32, 16);
  EXPECT_NE(e.find("safety.barriers", "shuffle-absent-lane"), nullptr) << e.all();
  EXPECT_TRUE(run("shuffle_exited", iota(32), 32, 32).log.violations.empty());
}

TEST(Library, PrintfInFull) {
  const Outcome o = run("prints", {0}, 1, 0);
  ASSERT_EQ(o.result.status, LaunchStatus::ok) << o.all();
  EXPECT_EQ(o.log.output, "-3     7|ff  |1099511627776 text z 1.500 2.000000e+00 % 0x10\n");
  EXPECT_EQ(o.y[0], 9);
}

TEST(Library, VariablesHeapAndLocalArrays) {
  const Outcome o = run("variables", {0}, 32, 0);
  ASSERT_EQ(o.result.status, LaunchStatus::ok) << o.all();
  EXPECT_EQ(o.y[2], 90);
  const Outcome h = run("heap", iota(32), 32, 5);
  ASSERT_EQ(h.result.status, LaunchStatus::ok) << h.all();
  EXPECT_EQ(h.y[3], 25);
  EXPECT_TRUE(h.log.violations.empty()) << h.all();
  const Outcome l = run("local_array", iota(32), 32, 3);
  ASSERT_EQ(l.result.status, LaunchStatus::ok) << l.all();
  EXPECT_EQ(l.y[2], 2 + 3 + 2 + 6);
  EXPECT_TRUE(l.log.violations.empty()) << l.all();
}

TEST(Library, VotesReductionsAndAtomics) {
  const Outcome v = run("votes", iota(32), 32, 20);
  EXPECT_EQ(v.y[0], 11 + 100 + 1000 + 10000 * 11) << v.all();
  const Outcome r = run("reduces", iota(32), 32, 20);
  EXPECT_EQ(r.y[5], 496 + 31000 + 11 * 1000000) << r.all();
  const Outcome h = run("histogram", iota(1000), 8, 1000, {.grid = {3, 1, 1}, .block = {64, 1, 1}});
  for (int i = 0; i < 8; ++i) EXPECT_EQ(h.y[static_cast<std::size_t>(i)], 125) << h.all();
  EXPECT_TRUE(h.log.violations.empty()) << h.all();
}

}  // namespace
}  // namespace kforge::emulator
