// Unwritten bytes on their way through atomics, calls, memory and asynchronous copies: kernels as nvcc writes them
// (testdata/undefined.cu), each right and wrong.
#include <algorithm>
#include <numeric>

#include "emulator/testing.h"

namespace kforge::emulator {
namespace {

const std::string kFolder = std::string(KFORGE_SOURCE_DIR) + "/src/emulator/testdata/";

// The line of undefined.cu that ends with the comment `mark`.
std::uint32_t line_of(const std::string& mark) {
  const std::string source = read_text(kFolder + "undefined.cu");
  const std::size_t at = source.find("// " + mark + "\n");
  return at == std::string::npos ? 0 : 1 + static_cast<std::uint32_t>(std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

struct Setting {
  std::uint32_t threads = 32;
  bool x_is_written = true, y_is_written = false;
};

struct Outcome {
  std::vector<evidence::Violation> violations;
  std::vector<int> y;
  std::string all() const {
    std::string text;
    for (const auto& v : violations) text += "\n  " + v.contract + "/" + v.kind + " line " + std::to_string(line(v)) + ": " + v.message;
    return text;
  }
  static std::uint32_t line(const evidence::Violation& v) { return v.where.line_in("undefined.cu").line; }
  // Exactly the violations of this contract, all at the line with `mark`.
  void expect_only(const std::string& contract, const std::string& mark) const {
    EXPECT_FALSE(violations.empty()) << contract;
    for (const auto& v : violations) {
      EXPECT_EQ(v.contract, contract) << all();
      EXPECT_EQ(line(v), line_of(mark)) << all();
    }
  }
};

Outcome run(const std::string& kernel, int n, const Setting& setting = {}) {
  static const std::shared_ptr<const ptx::Module> module = [] {
    auto parsed = ptx::parse(read_text(kFolder + "undefined.ptx"));
    if (!parsed) throw std::runtime_error(to_string(parsed.error()));
    return std::make_shared<const ptx::Module>(std::move(*parsed));
  }();
  TestDevice t;
  auto loaded = t.device.load(module);
  if (!loaded) throw std::runtime_error(to_string(loaded.error()));
  std::vector<int> values(1024);
  std::iota(values.begin(), values.end(), 0);
  Allocation* x = t.buffer(values, "x");
  Allocation* y = t.buffer(std::vector<int>(setting.threads), "y");
  x->all_initialised = setting.x_is_written;
  y->all_initialised = setting.y_is_written;
  std::vector<std::byte> parameters(20);
  std::memcpy(parameters.data(), &x->base, 8);
  std::memcpy(parameters.data() + 8, &y->base, 8);
  std::memcpy(parameters.data() + 16, &n, 4);
  LaunchRequest request;
  request.kernel = t.device.find_kernel(*loaded, kernel);
  EXPECT_NE(request.kernel, nullptr) << kernel;
  request.grid = {1, 1, 1};
  request.block = {setting.threads, 1, 1};
  request.parameters = parameters;
  const LaunchResult result = t.device.launch(request);
  EXPECT_EQ(result.status, LaunchStatus::ok) << result.detail;
  t.device.check_read(*y, 0, y->size, "output `y`");
  return {t.device.take_log().violations, TestDevice::values<int>(y)};
}

TEST(Undefined, AtomicsReadTheirLocation) {
  run("shared_counter", 31).expect_only("safety.uninitialised", "counts");
  EXPECT_TRUE(run("shared_counter", 32).violations.empty()) << run("shared_counter", 32).all();
  run("global_counter", 0).expect_only("safety.uninitialised", "adds to y");
  const Outcome zeroed = run("global_counter", 0, {.y_is_written = true});
  EXPECT_TRUE(zeroed.violations.empty()) << zeroed.all();
}

TEST(Undefined, AnExchangeWritesAndACompareReads) {
  EXPECT_TRUE(run("global_counter", 1).violations.empty()) << run("global_counter", 1).all();
  EXPECT_TRUE(run("global_counter", 2).violations.empty());
  run("global_counter", 2, {.x_is_written = false}).expect_only("safety.uninitialised", "compares x");
}

TEST(Undefined, AnUndefinedOperandMakesTheLocationUndefined) {
  run("undefined_addend", 31, {.y_is_written = true}).expect_only("safety.uninitialised", "addend");
  EXPECT_TRUE(run("undefined_addend", 32, {.y_is_written = true}).violations.empty());
}

TEST(Undefined, CopiedPaddingIsNoFaultUntilItIsAnOutput) {
  const Outcome o = run("copies_padding", 5, {.x_is_written = false});
  EXPECT_TRUE(o.violations.empty()) << o.all();
  EXPECT_EQ(o.y[3], 28 + 5);
}

TEST(Undefined, WhatIsOverwrittenIsNoFault) {
  EXPECT_TRUE(run("stores_twice", 32).violations.empty()) << run("stores_twice", 32).all();
  run("stores_twice", 20).expect_only("safety.uninitialised", "first value");
}

TEST(Undefined, CallsCarryUndefinedArgumentsAndResults) {
  run("through_a_call", 31).expect_only("safety.uninitialised", "argument");
  EXPECT_TRUE(run("through_a_call", 32).violations.empty()) << run("through_a_call", 32).all();
}

// Whether the branch on %p3 is one that an unwritten word decides; %r3 is that word, %p1 is true for all.
bool branch_is_undefined(const std::string& code) {
  TestDevice t;
  t.load_body("ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, s; ld.shared.u32 %r3, [%r2]; setp.lt.u32 %p1, %r1, 64;\n" + code +
                  "\n@%p3 bra OUT;\nst.global.u32 [%rd1], %r1;\nOUT: ret;",
              ".shared .align 4 .b8 s[128];");
  Allocation* p = t.buffer(std::vector<int>(32));
  EXPECT_EQ(t.launch(p->base, p->base, 0, {1, 1, 1}, {32, 1, 1}).status, LaunchStatus::ok);
  const auto violations = t.device.take_log().violations;
  return std::any_of(violations.begin(), violations.end(), [](const evidence::Violation& v) { return v.kind == "uninitialised-branch"; });
}

TEST(Undefined, APredicateThatDecidesAloneHidesTheOther) {
  const std::string compare = "setp.eq.u32 %p2, %r3, 7;\n";
  EXPECT_TRUE(branch_is_undefined(compare + "and.pred %p3, %p1, %p2;"));
  EXPECT_FALSE(branch_is_undefined(compare + "or.pred %p3, %p1, %p2;"));
  EXPECT_FALSE(branch_is_undefined(compare + "not.pred %p4, %p1; and.pred %p3, %p2, %p4;"));
  EXPECT_TRUE(branch_is_undefined("setp.eq.and.u32 %p3, %r3, 7, %p1;"));
  EXPECT_FALSE(branch_is_undefined("setp.eq.or.u32 %p3, %r3, 7, %p1;"));
  EXPECT_FALSE(branch_is_undefined("setp.eq.and.u32 %p3, %r3, 7, !%p1;"));
  EXPECT_TRUE(branch_is_undefined("setp.eq.xor.u32 %p3, %r3, 7, %p1;"));
}

TEST(Undefined, WhetherAShuffleIsInRangeDoesNotDependOnTheValue) {
  EXPECT_FALSE(branch_is_undefined("shfl.sync.up.b32 %r4|%p3, %r3, 1, 0, -1;"));
  EXPECT_TRUE(branch_is_undefined("shfl.sync.up.b32 %r4|%p4, %r3, 1, 0, -1; setp.eq.u32 %p3, %r4, 7;"));
}

TEST(Races, AShadowThatIsUsedUpIsSaid) {
  for (const std::uint64_t cap : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
    TestDevice t;
    t.load_body("ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r1; ret;");
    t.device.set_checks({.race_shadow_bytes = cap});
    Allocation* x = t.buffer(std::vector<int>(64), "x");
    ASSERT_EQ(t.launch(x->base, x->base, 64, {1, 1, 1}, {64, 1, 1}).status, LaunchStatus::ok);
    const evidence::LaunchLog log = t.device.take_log();
    ASSERT_EQ(log.unproven.size(), cap == 0 ? 1u : 0u);
    if (cap == 0) {
      EXPECT_EQ(log.unproven[0].contract, "safety.races");
      EXPECT_NE(log.unproven[0].why.find("64 accesses of kernel kernel"), std::string::npos) << log.unproven[0].why;
    }
  }
}

TEST(Async, ReadsBeforeTheWaitAreFoundAtTheRead) {
  const Outcome right = run("async_copy", 0, {.threads = 64});
  EXPECT_TRUE(right.violations.empty()) << right.all();
  EXPECT_EQ(right.y[1], 251);
  for (const int n : {1, 2}) {   // no wait; a wait that leaves one group in flight
    const Outcome wrong = run("async_copy", n, {.threads = 64});
    wrong.expect_only("safety.async", "read");
    ASSERT_FALSE(wrong.violations.empty());
    EXPECT_EQ(wrong.violations[0].other.line_in("undefined.cu").line, line_of("copy")) << wrong.all();
  }
}

TEST(Async, TheSourceOfACopyMustBeWritten) {
  run("async_copy", 0, {.threads = 64, .x_is_written = false}).expect_only("safety.uninitialised", "copy");
}

TEST(Async, PipelinesNeedTheirWaitsAndTheirSecondBarrier) {
  const Outcome right = run("async_pipeline", 0, {.threads = 64});
  EXPECT_TRUE(right.violations.empty()) << right.all();
  EXPECT_EQ(right.y[0], 8 * 63 + 64 * 28);
  run("async_pipeline", 1, {.threads = 64}).expect_only("safety.async", "use");
  // Whether a reader meets the copy in flight or a copy meets its reader depends on who runs first; the race is found anyway.
  const Outcome race = run("async_pipeline", 2, {.threads = 64});
  EXPECT_TRUE(std::any_of(race.violations.begin(), race.violations.end(), [](const evidence::Violation& v) {
    return v.contract == "safety.races" && Outcome::line(v) == line_of("next part");
  })) << race.all();
}

}  // namespace
}  // namespace kforge::emulator
