// Bulk copies: stretches and boxes of tensors, both engines compared, and what the observers make of what is missing.
#include <algorithm>
#include <optional>
#include <random>

#include "emulator/reference_engine.h"
#include "emulator/tensor_map.h"
#include "emulator/testing.h"

namespace kforge::emulator {
namespace {

constexpr std::uint32_t kWords = 4096;
const std::string kBefore = ".shared .align 8 .b64 bar;\n.shared .align 1024 .b8 data[16384];\n";
const std::string kStart =
    "mov.u32 %r1, %tid.x;\nld.param.u64 %rd1, [p];\nld.param.u64 %rd2, [q];\nmov.u32 %r10, bar;\nmov.u32 %r11, data;\nsetp.ne.u32 %p1, %r1, 0;\n";
const std::string kInit = "@%p1 bra READY;\nmbarrier.init.shared::cta.b64 [bar], 1;\nREADY:\nbar.sync 0;\n";
const std::string kWait = "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;\n@!%p2 bra WAIT;\n";
// Every word of `words` in shared memory goes to `out`, by one warp.
std::string publish(std::uint32_t words) {
  return "mov.u32 %r20, %r1;\nCOPY:\nmad.lo.u32 %r21, %r20, 4, %r11;\nld.shared.u32 %r22, [%r21];\nmad.wide.u32 %rd20, %r20, 4, %rd2;\nst.global.u32 [%rd20], %r22;\n"
         "add.u32 %r20, %r20, 32;\nsetp.lt.u32 %p9, %r20, " + std::to_string(words) + ";\n@%p9 bra COPY;\n";
}
// Words of shared memory are set to 7000 + i by all threads.
const std::string kFill = "mov.u32 %r20, %r1;\nFILL:\nmad.lo.u32 %r21, %r20, 4, %r11;\nadd.u32 %r22, %r20, 7000;\nst.shared.u32 [%r21], %r22;\nadd.u32 %r20, %r20, 32;\n"
                          "setp.lt.u32 %p9, %r20, 4096;\n@%p9 bra FILL;\n";

struct Box {
  int type = 2;
  std::vector<std::uint64_t> dims, strides;   // strides: of dimension 1 and up, bytes
  std::vector<std::uint32_t> box, steps;
  int swizzle = 0, fill = 0;
};

TensorMap map_of(const Box& box, std::uint64_t address) {
  TensorMap map;
  EXPECT_TRUE(encode_tiled(map, {box.type, static_cast<std::uint32_t>(box.dims.size()), address, box.dims.data(), box.strides.data(), box.box.data(), box.steps.data(), 0, box.swizzle, 0, box.fill}));
  return map;
}

struct Outcome {
  LaunchStatus status = LaunchStatus::ok;
  std::string detail;
  std::vector<std::uint32_t> out, in;
  std::vector<evidence::Violation> violations;
  bool has(std::string_view contract, std::string_view kind) const {
    return std::any_of(violations.begin(), violations.end(), [&](const auto& v) { return v.contract == contract && v.kind == kind; });
  }
};

std::vector<std::uint32_t> input() {
  std::vector<std::uint32_t> words(kWords);
  for (std::uint32_t i = 0; i < kWords; ++i) words[i] = 100000 + i;
  return words;
}

// `p` is the input, or with a box its tensor map; `q` the output.
Outcome run(const std::string& body, std::optional<Box> box = std::nullopt) {
  TestDevice device;
  device.load_body(kStart + body + "ret;", kBefore);
  Allocation* in = device.buffer(input(), "in");
  Allocation* out = device.buffer(std::vector<std::uint32_t>(kWords), "out");
  Address p = in->base;
  if (box) {
    const TensorMap map = map_of(*box, in->base);
    std::vector<std::byte> bits(128);
    std::memcpy(bits.data(), &map, sizeof map);
    p = device.buffer(bits, "map")->base;
  }
  const LaunchResult result = device.launch(p, out->base, 0, {1, 1, 1}, {32, 1, 1});
  return {result.status, result.detail, TestDevice::values<std::uint32_t>(out), TestDevice::values<std::uint32_t>(in), device.device.take_log().violations};
}

Outcome reference(const std::string& body, std::optional<Box> box = std::nullopt) {
  auto module = ptx::parse(TestDevice::body_text(kStart + body + "ret;", kBefore, "sm_90"));
  EXPECT_TRUE(module) << (module ? "" : to_string(module.error()));
  ReferenceEngine engine(std::make_shared<const ptx::Module>(std::move(*module)));
  const std::uint64_t in = engine.allocate(4 * kWords), out = engine.allocate(4 * kWords), map_at = engine.allocate(128);
  std::memcpy(engine.bytes(in).data(), input().data(), 4 * kWords);
  std::uint64_t p = in;
  if (box) {
    const TensorMap map = map_of(*box, in);
    std::memcpy(engine.bytes(map_at).data(), &map, sizeof map);
    p = map_at;
  }
  std::vector<std::byte> parameters(20);
  std::memcpy(parameters.data(), &p, 8);
  std::memcpy(parameters.data() + 8, &out, 8);
  const ReferenceResult result = engine.launch({"kernel", {1, 1, 1}, {32, 1, 1}, 0, parameters});
  EXPECT_EQ(result.error, "");
  Outcome outcome;
  outcome.out.resize(kWords), outcome.in.resize(kWords);
  std::memcpy(outcome.out.data(), engine.bytes(out).data(), 4 * kWords);
  std::memcpy(outcome.in.data(), engine.bytes(in).data(), 4 * kWords);
  return outcome;
}

void expect_clean(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, LaunchStatus::ok) << outcome.detail;
  for (const auto& v : outcome.violations) ADD_FAILURE() << v.contract << " " << v.kind << ": " << v.message;
}

std::string load(std::uint32_t bytes, const std::string& copy) {
  return kInit + "@%p1 bra ISSUED;\nmbarrier.arrive.expect_tx.shared::cta.b64 %rd9, [bar], " + std::to_string(bytes) + ";\n" + copy + "ISSUED:\n";
}
const std::string kPlain = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r11], [%rd1+64], 2048, [%r10];\n";

TEST(Bulk, ALoadIsThereWhenItsPhaseIsOver) {
  const std::string body = load(2048, kPlain) + kWait + publish(512);
  const Outcome outcome = run(body);
  expect_clean(outcome);
  for (std::uint32_t i = 0; i < 512; ++i) ASSERT_EQ(outcome.out[i], 100016 + i);
  EXPECT_EQ(outcome.out, reference(body).out);
}

TEST(Bulk, ReadingBeforeThePhaseIsOverIsFound) {
  EXPECT_TRUE(run(load(2048, kPlain) + "bar.sync 0;\n" + publish(512)).has("safety.async", "read-in-flight"));
}

TEST(Bulk, BytesThatNobodyExpectsAreReadTooEarly) {
  std::string body = load(2048, kPlain) + kWait + publish(512);
  body.replace(body.find("arrive.expect_tx.shared::cta.b64 %rd9, [bar], 2048"), std::strlen("arrive.expect_tx.shared::cta.b64 %rd9, [bar], 2048"), "arrive.shared::cta.b64 %rd9, [bar]");
  EXPECT_TRUE(run(body).has("safety.async", "read-in-flight"));
}

TEST(Bulk, MoreExpectedThanCopiedNeverEnds) { EXPECT_EQ(run(load(4096, kPlain) + kWait + publish(512)).status, LaunchStatus::hang); }

TEST(Bulk, NobodyWaitsUntilTheBlockEnds) { EXPECT_TRUE(run(load(2048, kPlain)).has("safety.async", "bulk-copy-unwaited")); }

std::string store(const std::string& fence, const std::string& copy, const std::string& wait) {
  return kFill + fence + "bar.sync 0;\n@%p1 bra DONE;\n" + copy + "cp.async.bulk.commit_group;\n" + wait + "DONE:\n";
}
const std::string kFence = "fence.proxy.async.shared::cta;\n", kWaitRead = "cp.async.bulk.wait_group.read 0;\n";
const std::string kPlainStore = "cp.async.bulk.global.shared::cta.bulk_group [%rd2+128], [%r11+256], 4096;\n";

TEST(Bulk, WrongPlacesAreFaults) {
  EXPECT_EQ(run(load(2048, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r11+8], [%rd1], 2048, [%r10];\n")).status, LaunchStatus::misaligned_address);
  EXPECT_EQ(run(load(2048, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r11], [%rd1+4], 2048, [%r10];\n")).status, LaunchStatus::misaligned_address);
  EXPECT_EQ(run(load(2048, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r11], [%rd1], 2040, [%r10];\n")).status, LaunchStatus::misaligned_address);
  EXPECT_EQ(run(load(2048, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r11], [%rd1+16000], 2048, [%r10];\n")).status, LaunchStatus::illegal_address);
  EXPECT_EQ(run(load(2048, "mov.u64 %rd1, 0;\ncp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r11], [%rd1], 2048, [%r10];\n")).status, LaunchStatus::illegal_address);
  EXPECT_EQ(run(store("", "mov.u64 %rd2, 0;\ncp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r11+256], 4096;\n", "")).status, LaunchStatus::illegal_address);
  EXPECT_EQ(run(load(2048, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r11+15360], [%rd1], 2048, [%r10];\n")).status, LaunchStatus::illegal_address);
}

TEST(Bulk, AStoreIsDoneAtTheEnd) {
  for (const std::string& wait : {kWaitRead, std::string("cp.async.bulk.wait_group 0;\n")}) {
    const std::string body = store(kFence, kPlainStore, wait);
    const Outcome outcome = run(body);
    expect_clean(outcome);
    for (std::uint32_t i = 0; i < 1024; ++i) ASSERT_EQ(outcome.out[32 + i], 7064 + i);
    EXPECT_EQ(outcome.out, reference(body).out);
  }
}

TEST(Bulk, AStoreNeedsAProxyFenceAndAWait) {
  EXPECT_TRUE(run(store("", kPlainStore, kWaitRead)).has("safety.async", "missing-proxy-fence"));
  EXPECT_TRUE(run(store(kFence, kPlainStore, "")).has("safety.async", "bulk-copy-unwaited"));
  EXPECT_TRUE(run(store(kFence, kPlainStore, "cp.async.bulk.wait_group.read 1;\n")).has("safety.async", "bulk-copy-unwaited"));
}

TEST(Bulk, OverwritingTheSourceBeforeItWasReadIsARace) {
  const Outcome outcome = run(kFill + kFence + "bar.sync 0;\n@%p1 bra DONE;\n" + kPlainStore + "cp.async.bulk.commit_group;\nDONE:\nbar.sync 0;\nsetp.ne.u32 %p3, %r1, 5;\n@%p3 bra OVER;\nst.shared.u32 [%r11+512], %r1;\nOVER:\n" + kWaitRead);
  EXPECT_TRUE(std::any_of(outcome.violations.begin(), outcome.violations.end(), [](const auto& v) { return v.contract == "safety.races" && !v.advice; }));
}

// A barrier orders the write before the wait, and not behind what the copy reads on its own.
TEST(Bulk, ABarrierIsNoWaitForTheSource) {
  const std::string start = kFill + kFence + "bar.sync 0;\n@%p1 bra DONE;\n" + kPlainStore + "cp.async.bulk.commit_group;\n";
  const std::string over = "DONE:\nbar.sync 0;\nsetp.ne.u32 %p3, %r1, 5;\n@%p3 bra OVER;\nst.shared.u32 [%r11+512], %r1;\nOVER:\nbar.sync 0;\n";
  EXPECT_TRUE(run(start + over + kWaitRead).has("safety.async", "source-overwritten"));
  expect_clean(run(start + kWaitRead + over));
}

TEST(Bulk, ReductionsOfEveryOperation) {
  for (const std::string op : {"add.u32", "min.u32", "max.s32", "inc.u32", "dec.u32", "and.b32", "or.b32", "xor.b32", "add.f32", "add.u64", "max.u64", "min.s64", "add.noftz.f16", "min.f16", "add.noftz.bf16"}) {
    const std::string body = store(kFence, "cp.reduce.async.bulk.global.shared::cta.bulk_group." + op + " [%rd1], [%r11], 4096;\n", kWaitRead);
    const Outcome outcome = run(body);
    expect_clean(outcome);
    EXPECT_EQ(outcome.in, reference(body).in) << op;
    if (!op.starts_with("max")) { EXPECT_NE(outcome.in, input()) << op; }   // the input is larger
  }
}

// ---- tensors -------------------------------------------------------------------------------------------------------

std::string tensor_load(const Box& box, const std::vector<int>& corner, std::uint32_t bytes) {
  std::string list;
  std::string moves;
  for (std::size_t i = 0; i < corner.size(); ++i) {
    moves += "mov.b32 %r" + std::to_string(12 + i) + ", " + std::to_string(corner[i]) + ";\n";
    list += (i == 0 ? "%r" : ", %r") + std::to_string(12 + i);
  }
  return moves + load(bytes, "cp.async.bulk.tensor." + std::to_string(box.dims.size()) + "d.shared::cluster.global.mbarrier::complete_tx::bytes [%r11], [%rd1, {" + list + "}], [%r10];\n");
}

struct BoxCase { Box box; std::vector<int> corner; };
// Each begins at a multiple of 16 bytes, as it has to.
std::vector<BoxCase> box_cases() {
  std::vector<BoxCase> cases = {
      {{2, {4000}, {}, {64}, {1}, 0, 0}, {8}},
      {{2, {60, 40}, {256}, {32, 8}, {1, 1}, 0, 0}, {0, 0}},
      {{2, {60, 40}, {256}, {32, 8}, {1, 1}, 3, 0}, {40, 36}},
      {{2, {60, 40}, {256}, {16, 16}, {1, 1}, 2, 0}, {-8, -3}},
      {{2, {60, 40}, {256}, {8, 16}, {1, 1}, 1, 0}, {56, 38}},
      {{6, {100, 30}, {208}, {64, 16}, {1, 1}, 3, 1}, {64, 20}},
      {{7, {20, 30}, {80}, {16, 8}, {1, 1}, 0, 1}, {12, -2}},
      {{0, {90, 25}, {96}, {32, 16}, {1, 1}, 1, 0}, {80, 13}},
      {{2, {30, 16, 8}, {128, 2048}, {8, 4, 4}, {1, 1, 1}, 1, 0}, {4, 14, 6}},
      {{2, {30, 16, 8}, {128, 2048}, {8, 8, 4}, {1, 2, 3}, 0, 0}, {4, 3, -1}},
      {{2, {16, 4, 4, 4}, {64, 256, 1024}, {8, 2, 2, 4}, {1, 1, 1, 1}, 0, 0}, {0, 3, -1, 2}},
      {{2, {16, 4, 4, 2, 2}, {64, 256, 1024, 2048}, {16, 2, 2, 2, 2}, {1, 1, 1, 1, 1}, 2, 0}, {0, 1, 3, -1, 1}},
  };
  std::mt19937 random(7);
  for (int i = 0; i < 40; ++i) {
    const int swizzle = static_cast<int>(random() % 4);
    const std::uint32_t width = swizzle == 0 ? 4 * (1 + random() % 8) : 4u << random() % static_cast<std::uint32_t>(swizzle + 1);
    cases.push_back({{2, {1 + random() % 60, 1 + random() % 12, 1 + random() % 5}, {256, 3072}, {width, 1 + static_cast<std::uint32_t>(random() % 8), 1 + static_cast<std::uint32_t>(random() % 4)},
                      {1, 1 + static_cast<std::uint32_t>(random() % 2), 1}, swizzle, 0},
                     {4 * static_cast<int>(random() % 18) - 4, static_cast<int>(random() % 16) - 3, static_cast<int>(random() % 7) - 1}});
  }
  return cases;
}

std::uint32_t bytes_of(const Box& box) {
  std::uint32_t bytes = tensor_element_bytes(box.type);
  for (std::size_t i = 0; i < box.box.size(); ++i) bytes *= i == 0 ? box.box[i] : (box.box[i] + box.steps[i] - 1) / box.steps[i];
  return bytes;
}

TEST(BulkTensor, BoxesOfEveryRankComeAsTheReferenceHasThem) {
  for (const BoxCase& c : box_cases()) {
    const std::uint32_t bytes = bytes_of(c.box);
    const std::string body = tensor_load(c.box, c.corner, bytes) + kWait + publish(bytes / 4);
    const Outcome outcome = run(body, c.box);
    expect_clean(outcome);
    EXPECT_EQ(outcome.out, reference(body, c.box).out) << c.box.dims.size() << "-D, swizzle " << c.box.swizzle;
  }
}

// One box by hand: 8 rows of 128 bytes, swizzled; piece j of row r lies at piece j ^ r.
TEST(BulkTensor, TheSwizzleOf128BytesExchangesPiecesByRow) {
  const Box box{2, {32, 8}, {128}, {32, 8}, {1, 1}, 3, 0};
  const Outcome outcome = run(tensor_load(box, {0, 0}, 1024) + kWait + publish(256), box);
  expect_clean(outcome);
  for (std::uint32_t row = 0; row < 8; ++row)
    for (std::uint32_t j = 0; j < 8; ++j)
      for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(outcome.out[row * 32 + (j ^ row) * 4 + i], 100000 + row * 32 + j * 4 + i);
}

TEST(BulkTensor, StoresAndReductionsLeaveWhatIsOutsideAlone) {
  for (const std::string name : {"cp.async.bulk.tensor.3d.global.shared::cta.bulk_group", "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group"})
    for (const BoxCase& c : box_cases()) {
      if (c.box.dims.size() != 3) continue;
      std::string body;
      for (int i = 0; i < 3; ++i) body += "mov.b32 %r" + std::to_string(12 + i) + ", " + std::to_string(std::max(0, c.corner[static_cast<std::size_t>(i)])) + ";\n";
      body += store(kFence, name + " [%rd1, {%r12, %r13, %r14}], [%r11];\n", kWaitRead);
      const Outcome outcome = run(body, c.box);
      expect_clean(outcome);
      EXPECT_EQ(outcome.in, reference(body, c.box).in);
    }
}

// As an H200 answered (docs/h200-goldens.md): elsewhere it stops with an illegal instruction.
TEST(BulkTensor, ABoxBeginsAtSixteenBytesAndAStoreInsideTheTensor) {
  struct Answer { std::uint32_t width; int x, y; bool loads, stores; };
  const Answer answers[] = {{4, 0, 0, true, true},   {4, 1, 0, false, false}, {4, 2, 0, false, false},   {4, 3, 0, false, false},   {4, 4, 0, true, true},    {4, 8, 0, true, true},
                            {4, 116, 0, true, true}, {4, 118, 0, false, false}, {4, 119, 0, false, false}, {4, 120, 0, true, true},   {4, -4, 0, true, false},  {4, -2, 0, false, false},
                            {4, -16, 0, true, false}, {4, 0, -1, true, false}, {4, 0, -8, true, false},    {2, 1, 0, false, false},   {2, 4, 0, false, false},  {2, 8, 0, true, true},
                            {1, 1, 0, false, false}, {1, 8, 0, false, false}, {1, 16, 0, true, true},     {8, 1, 0, false, false},   {8, 2, 0, true, true}};
  for (const Answer& a : answers) {
    const int type = a.width == 1 ? 0 : a.width == 2 ? 6 : a.width == 4 ? 3 : 8;
    const Box box{type, {480 / a.width, 30}, {512}, {64 / a.width, 8}, {1, 1}, 0, 0};
    const auto expected = [](bool good) { return good ? LaunchStatus::ok : LaunchStatus::illegal_instruction; };
    EXPECT_EQ(run(tensor_load(box, {a.x, a.y}, 512) + kWait, box).status, expected(a.loads)) << "load " << a.width << ' ' << a.x << ' ' << a.y;
    for (const std::string name : {"cp.async.bulk.tensor.2d.global.shared::cta.bulk_group", "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group"}) {
      if (a.width != 4 && name.starts_with("cp.reduce")) continue;
      const std::string body = "mov.b32 %r12, " + std::to_string(a.x) + ";\nmov.b32 %r13, " + std::to_string(a.y) + ";\n";
      EXPECT_EQ(run(body + store(kFence, name + " [%rd1, {%r12, %r13}], [%r11];\n", kWaitRead), box).status, expected(a.stores)) << name << ' ' << a.width << ' ' << a.x << ' ' << a.y;
    }
  }
}

TEST(BulkTensor, AMapThatIsNoneIsRefused) {
  EXPECT_EQ(run("mov.b32 %r12, 0;\n" + load(128, "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r11], [%rd1, {%r12}], [%r10];\n")).status, LaunchStatus::illegal_instruction);
  const Box box{2, {32, 8}, {128}, {32, 8}, {1, 1}, 0, 0};
  EXPECT_EQ(run("mov.b32 %r12, 0;\n" + load(128, "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r11], [%rd1, {%r12}], [%r10];\n"), box).status, LaunchStatus::illegal_instruction);
}

TEST(BulkTensor, ATensorBeyondItsMemoryIsOutOfBounds) {
  const Box box{2, {4000, 3}, {16000}, {32, 2}, {1, 1}, 0, 0};   // the third row ends beyond the 16 KiB
  EXPECT_EQ(run(tensor_load(box, {3900, 0}, 256) + kWait, box).status, LaunchStatus::illegal_address);
}

}  // namespace
}  // namespace kforge::emulator
