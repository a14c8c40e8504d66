// The fast executor against the reference engine on random programs, row by row of the instruction table, and on whole small
// domains. KFORGE_DIFFERENTIAL_SECONDS=N: time for each random test (default 1; from 10 on, every
// rounding mode goes through the whole domains); KFORGE_DIFFERENTIAL_SEED: its first seed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>

#include "base/sanitized.h"
#include "emulator/device.h"
#include "emulator/random_program.h"
#include "emulator/reference_engine.h"
#include "emulator/reference_engine_float.h"
#include "ptx/parser.h"
#include "ptx/table.h"

namespace kforge::emulator {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}
double budget_seconds() { return static_cast<double>(from_environment("KFORGE_DIFFERENTIAL_SECONDS", 1)); }
std::uint64_t first_seed() { return from_environment("KFORGE_DIFFERENTIAL_SEED", 1); }

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::shared_ptr<const ptx::Module> parsed(const std::string& text) {
  auto module = ptx::parse(text);
  if (!module) {
    ADD_FAILURE() << module.error().message << " at line " << module.error().where.line << "\n" << text;
    return nullptr;
  }
  return std::make_shared<const ptx::Module>(std::move(*module));
}

struct Ran {
  std::string error;
  std::vector<std::byte> output;
};

std::vector<std::byte> parameters(std::uint64_t in, std::uint64_t out, const std::vector<std::byte>& blob) {
  std::vector<std::byte> all(16 + blob.size());
  std::memcpy(all.data(), &in, 8);
  std::memcpy(all.data() + 8, &out, 8);
  if (!blob.empty()) std::memcpy(all.data() + 16, blob.data(), blob.size());
  return all;
}

std::uint64_t output_bytes(const RandomProgram& program) { return program.output_stride * program.threads * program.blocks; }

// The private windows in `out` start with the thread's first inputs, as those in shared and local memory do.
std::vector<std::byte> initial_output(const RandomProgram& program) {
  std::vector<std::byte> output(output_bytes(program));
  for (std::uint64_t t = 0; t < std::uint64_t{program.threads} * program.blocks; ++t)
    std::memcpy(output.data() + t * program.output_stride, program.input.data() + t * program.input_stride, std::min<std::size_t>(64, program.input_stride));
  return output;
}

Ran run_reference(std::shared_ptr<const ptx::Module> module, const RandomProgram& program) {
  ReferenceEngine engine(std::move(module));
  const std::uint64_t in = engine.allocate(program.input.size()), out = engine.allocate(output_bytes(program));
  std::copy(program.input.begin(), program.input.end(), engine.bytes(in).begin());
  const std::vector<std::byte> start = initial_output(program), arguments = parameters(in, out, program.blob);
  std::copy(start.begin(), start.end(), engine.bytes(out).begin());
  const ReferenceResult result = engine.launch({"k", {program.blocks, 1, 1}, {program.threads, 1, 1}, 0, arguments, 100'000'000, {program.cluster, 1, 1}});
  const auto bytes = engine.bytes(out);
  return {result.error, {bytes.begin(), bytes.end()}};
}

Ran run_fast(std::shared_ptr<const ptx::Module> module, const RandomProgram& program, bool checks) {
  auto sheet = hardware::find_sheet("h200");
  if (!sheet) return {"no data sheet", {}};
  Device device(*sheet);
  device.set_checks({checks, checks});
  device.set_seed(program.seed);
  auto loaded = device.load(std::move(module));
  if (!loaded) return {loaded.error().message, {}};
  Allocation* in = device.memory().allocate(program.input.size(), MemoryKind::device, "in");
  Allocation* out = device.memory().allocate(output_bytes(program), MemoryKind::device, "out");
  in->all_initialised = out->all_initialised = true;
  std::memcpy(in->data, program.input.data(), program.input.size());
  const std::vector<std::byte> start = initial_output(program), arguments = parameters(in->base, out->base, program.blob);
  std::memcpy(out->data, start.data(), start.size());
  LaunchRequest request;
  request.kernel = device.find_kernel(*loaded, "k");
  request.grid = {program.blocks, 1, 1};
  request.block = {program.threads, 1, 1};
  request.cluster = {program.cluster, 1, 1};
  request.parameters = arguments;
  if (request.kernel == nullptr) return {"no kernel", {}};
  const LaunchResult result = device.launch(request);
  Ran ran{result.status == LaunchStatus::ok ? "" : "launch: " + result.detail, {out->data, out->data + out->size}};
  for (const evidence::Violation& v : device.take_log().violations)   // the programs are right, so any finding is a false one
    if (v.contract.starts_with("safety.") && ran.error.empty()) ran.error = fmt::format("a false finding, {}: {}", v.contract, v.message);
  return ran;
}

std::uint64_t bits_at(const std::vector<std::byte>& bytes, std::uint64_t offset, std::uint32_t width) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + offset, width / 8);
  return bits;
}

bool same_element(std::uint64_t a, std::uint64_t b, const RandomOutput& rule) {
  if (a == b) return true;
  if (!ptx::is_float(rule.type)) return false;
  const reference::Format& f = reference::format_of(rule.type);
  const bool tf32 = rule.type == ptx::Type::tf32;
  const double x = reference::to_double(tf32 ? a >> 13 : a, f), y = reference::to_double(tf32 ? b >> 13 : b, f);
  if (std::isnan(x) || std::isnan(y)) return rule.any_nan && std::isnan(x) && std::isnan(y);
  if (rule.absolute == 0 && rule.relative == 0) return false;
  if (std::isinf(x) || std::isinf(y)) return x == y;
  // Both engines round their result once, so half a unit in the last place is added to the manual's bound.
  const double half_ulp = std::fabs(y) * std::exp2(-f.fraction_bits - 1) + std::exp2(1 - f.bias() - f.fraction_bits);
  const double difference = std::fabs(x - y);
  return difference <= rule.absolute + half_ulp || difference <= rule.relative * std::fabs(y) + half_ulp;
}

bool same(std::uint64_t a, std::uint64_t b, const RandomOutput& rule) {
  const bool pair = rule.type == ptx::Type::f16x2 || rule.type == ptx::Type::bf16x2;
  if (!pair) return same_element(a, b, rule);
  return same_element(a & 0xffff, b & 0xffff, rule) && same_element(a >> 16, b >> 16, rule);
}

// What the two engines disagree about, at most `limit` lines; empty: nothing.
std::string differences(const RandomProgram& program, const Ran& right, const Ran& fast, int limit = 6) {
  if (!fast.error.empty()) return "the fast engine ended with: " + fast.error + "\n";
  std::string text;
  std::set<std::string> seen;
  for (const RandomOutput& rule : program.outputs)
    for (std::uint64_t t = 0; t < std::uint64_t{program.threads} * program.blocks; ++t) {
      const std::uint64_t at = t * program.output_stride + rule.offset;
      const std::uint32_t width = std::max(8u, ptx::size_bits(rule.type));
      const std::uint64_t a = bits_at(fast.output, at, width), b = bits_at(right.output, at, width);
      if (same(a, b, rule)) continue;
      if (seen.insert(rule.line).second && static_cast<int>(seen.size()) <= limit)
        text += fmt::format("  {}: thread {}: fast 0x{:x}, right 0x{:x}\n", rule.line, t, a, b);
      break;
    }
  return text;
}

std::string numbered(const std::string& text) {
  std::string out;
  std::size_t number = 1;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += fmt::format("{:4} {}\n", number, text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// Runs one program on both; the message of the disagreement or empty.
std::string compare(const RandomProgram& program, std::set<std::uint16_t>* forms = nullptr, bool checks = false) {
  const auto module = parsed(program.text);
  if (module == nullptr) return "the program does not parse\n";
  if (forms != nullptr)
    for (const ptx::Function& function : module->functions)
      for (const ptx::Instruction& in : function.instructions) forms->insert(in.form);
  const Ran right = run_reference(module, program);
  if (!right.error.empty()) return "the reference engine ended with: " + right.error + "\n" + (from_environment("KFORGE_DIFFERENTIAL_PRINT", 0) != 0 ? numbered(program.text) : "");
  const std::string text = differences(program, right, run_fast(module, program, checks));
  if (!text.empty() && from_environment("KFORGE_DIFFERENTIAL_PRINT", 0) != 0) return text + numbered(program.text);
  return text;
}

TEST(Differential, EveryRowAgrees) {
  const Stopwatch watch;
  std::set<std::uint16_t> seen;
  const auto rows = ptx::instruction_table();
  std::set<std::string> reported;
  for (std::uint64_t round = 0; round == 0 || watch.seconds() < budget_seconds(); ++round)
    for (std::uint16_t form = 0; form < rows.size(); ++form) {
      const std::uint64_t seed = (first_seed() + round) * 1000 + form;
      const RandomProgram program = random_row(form, seed, 12);
      if (program.text.empty() || reported.size() > 200) continue;
      const std::string wrong = compare(program, &seen);
      if (!wrong.empty() && reported.insert(std::string(rows[form].id)).second) ADD_FAILURE() << rows[form].id << ", seed " << seed << ":\n" << wrong;
    }
  for (std::uint16_t form = 0; form < rows.size(); ++form)
    EXPECT_TRUE(is_never_generated(rows[form]) || seen.contains(form)) << "no program holds an instruction of row " << rows[form].id;
}

// Programs that `made(seed)` gives, for as long as the budget says. A failure is told with its seed and `more(seed)`.
template <class Made>
void expect_agreement(std::string_view name, int most_failures, Made made, const std::function<std::string(std::uint64_t)>& more = {}) {
  const Stopwatch watch;
  std::uint64_t seed = first_seed();
  int failures = 0;
  for (; watch.seconds() < budget_seconds() && failures < most_failures; ++seed) {
    const std::string wrong = compare(made(seed), nullptr, seed % 2 == 0);
    if (wrong.empty()) continue;
    ++failures;
    ADD_FAILURE() << name << ", seed " << seed << ":\n" << wrong << (more ? more(seed) : "");
  }
  testing::Test::RecordProperty("programs", static_cast<int>(seed - first_seed()));
}

TEST(Differential, StraightProgramsAgree) {
  expect_agreement("random_straight", 5, [](std::uint64_t seed) { return random_straight(seed, 150); });
}

// The shortest program of this seed that still fails.
std::string shrunk(std::uint64_t seed, int count) {
  int low = 1, high = count;
  std::string wrong;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (std::string text = compare(random_structured(seed, middle)); !text.empty()) { high = middle; wrong = std::move(text); }
    else low = middle + 1;
  }
  return fmt::format("shortest count {}:\n{}", high, wrong);
}

TEST(Differential, StructuredProgramsAgree) {
  expect_agreement("random_structured", 3, [](std::uint64_t seed) { return random_structured(seed, 80); }, [](std::uint64_t seed) { return shrunk(seed, 80); });
}

TEST(Differential, ClusterProgramsAgree) {
  expect_agreement("random_cluster", 3, [](std::uint64_t seed) { return random_cluster(seed, 12); });
}

// Whole domains: one instruction over all its inputs.
struct Domain {
  std::string line;              // on %a (and %b), into %d; %a holds the thread's number
  std::uint32_t threads;         // inputs
  std::string a = ".b16", d = ".b32";
};

std::string domain_text(const Domain& domain) {
  return fmt::format(
      ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p_in, .param .u64 p_out)\n{{\n  .reg .b32 %t, %n, %c, %x, %y;\n  .reg .b64 %out;\n"
      "  .reg {} %a, %b;\n  .reg {} %d;\n  .reg .b16 %h, %h2;\n  .reg .f32 %f;\n  .reg .f64 %g;\n  .reg .pred %p;\n  mov.u32 %t, %tid.x;\n  mov.u32 %c, %ctaid.x;\n  mov.u32 %n, %ntid.x;\n  mad.lo.u32 %t, %c, %n, %t;\n"
      "  ld.param.u64 %out, [p_out];\n  mad.wide.u32 %out, %t, 8, %out;\n  {}\n  st.global.b{} [%out], %d;\n  ret;\n}}\n",
      domain.a, domain.d, domain.line, domain.d == ".b16" ? 16 : domain.d == ".f64" || domain.d == ".b64" ? 64 : 32);
}

// Under the sanitizers every eighth line: the code is the same for all of them, the values are the release build's matter.
void expect_whole_domain(const Domain& domain) {
  static int lines = 0;
  if (kSanitized && lines++ % 8 != 0) return;
  RandomProgram program;
  program.text = domain_text(domain);
  program.threads = 256;
  program.blocks = domain.threads / 256;
  program.output_stride = 8;
  program.input.resize(8);
  const ptx::Type type = domain.d == ".f64" ? ptx::Type::f64 : domain.d == ".b64" ? ptx::Type::b64 : domain.d == ".b16" ? ptx::Type::b16 : ptx::Type::b32;
  program.outputs.push_back({.offset = 0, .type = type, .line = domain.line});
  EXPECT_EQ(compare(program), "");
}

TEST(Differential, AllHalvesConvert) {
  const std::string half = "cvt.u16.u32 %a, %t; ";
  for (const char* line : {"cvt.f32.f16 %d, %a;", "cvt.f32.bf16 %d, %a;", "cvt.sat.f32.f16 %d, %a;"}) expect_whole_domain({half + line, 65536, ".b16", ".f32"});
  for (const char* line : {"cvt.f64.f16 %d, %a;", "cvt.f64.bf16 %d, %a;"}) expect_whole_domain({half + line, 65536, ".b16", ".f64"});
  for (const char* from : {"f16", "bf16"})
    for (const std::string mode : {"rn", "rp", "rz", "rm"}) {
      if (budget_seconds() < 10 && mode[1] != 'n' && mode[1] != 'p') continue;
      const char* to = std::string(from) == "f16" ? "bf16" : "f16";
      expect_whole_domain({half + fmt::format("cvt.{}.{}.{} %d, %a;", mode, to, from), 65536, ".b16", ".b16"});
      expect_whole_domain({half + fmt::format("cvt.{}i.s16.{} %d, %a;", mode, from), 65536, ".b16", ".b16"});
      expect_whole_domain({half + fmt::format("cvt.{}i.{}.{} %d, %a;", mode, from, from), 65536, ".b16", ".b16"});
      expect_whole_domain({half + fmt::format("cvt.f32.{} %f, %a; cvt.{}.{}.f32 %d, %f;", from, mode, from), 65536, ".b16", ".b16"});
      expect_whole_domain({half + fmt::format("cvt.{}.{}.s16 %d, %a;", mode, from), 65536, ".b16", ".b16"});
    }
  for (const char* to : {"e4m3x2", "e5m2x2"}) {
    expect_whole_domain({half + fmt::format("mov.b32 %x, {{%a, %a}}; cvt.rn.satfinite.{}.f16x2 %d, %x;", to), 65536, ".b16", ".b16"});
    expect_whole_domain({half + fmt::format("cvt.rn.f16x2.{} %d, %a;", to), 65536, ".b16", ".b32"});
    expect_whole_domain({half + fmt::format("cvt.rn.relu.f16x2.{} %d, %a;", to), 65536, ".b16", ".b32"});
  }
}

// Every sign and exponent, 5 bits of the significand, and what lies about the ties of 10 and 7 bits.
TEST(Differential, SingleFloatsConvertToSmallOnes) {
  for (const char* low : {"0", "0x1000", "0x1001", "0x3000", "0x18000", "0x8001"}) {
    const std::string single = fmt::format("shl.b32 %x, %t, 18; or.b32 %x, %x, {}; mov.b32 %f, %x; ", low);
    for (const char* line : {"cvt.rn.f16.f32 %d, %f;", "cvt.rn.bf16.f32 %d, %f;"}) expect_whole_domain({single + line, 16384, ".b16", ".b16"});
    expect_whole_domain({single + "cvt.rna.tf32.f32 %d, %f;", 16384, ".b16", ".b32"});
  }
  const std::string tie = "shl.b32 %x, %t, 18; or.b32 %x, %x, 0x19000; mov.b32 %f, %x; ";
  for (const char* line : {"cvt.rn.f16x2.f32 %d, %f, 0f3F801000;", "cvt.rn.bf16x2.f32 %d, 0f3F808000, %f;"}) expect_whole_domain({tie + line, 16384, ".b16", ".b32"});
}

TEST(Differential, AllPairsOfBytesThroughIntegerForms) {
  const std::string pair = "cvt.u16.u32 %a, %t; and.b16 %b, %a, 255; shr.u16 %a, %a, 8; cvt.s16.s8 %a, %a; cvt.s16.s8 %b, %b; ";
  for (const char* line : {"add.s16 %d, %a, %b;", "mul.lo.s16 %d, %a, %b;", "mul.hi.s16 %d, %a, %b;", "mul.hi.u16 %d, %a, %b;", "div.s16 %d, %a, %b;", "rem.s16 %d, %a, %b;",
                           "div.u16 %d, %a, %b;", "rem.u16 %d, %a, %b;", "min.s16 %d, %a, %b;", "max.u16 %d, %a, %b;", "sub.u16 %d, %a, %b;", "sad.s16 %d, %a, %b, %a;"})
    expect_whole_domain({pair + line, 65536, ".b16", ".b16"});
  for (const char* line : {"mul.wide.s16 %d, %a, %b;", "mul.wide.u16 %d, %a, %b;"}) expect_whole_domain({pair + line, 65536, ".b16", ".b32"});
  // Every position and length of the bit-field instructions.
  const std::string field = "and.b32 %x, %t, 255; shr.u32 %y, %t, 8; ";
  for (const char* line : {"bfe.u32 %d, 0x9e3779b9, %x, %y;", "bfe.s32 %d, 0x9e3779b9, %x, %y;", "bfi.b32 %d, 0x9e3779b9, 0x12345678, %x, %y;", "bmsk.clamp.b32 %d, %x, %y;",
                           "bmsk.wrap.b32 %d, %x, %y;", "szext.clamp.s32 %d, 0x9e3779b9, %x;", "szext.wrap.s32 %d, 0x9e3779b9, %x;", "szext.wrap.u32 %d, 0x9e3779b9, %x;",
                           "szext.clamp.u32 %d, 0x9e3779b9, %x;", "shf.l.clamp.b32 %d, 0x9e3779b9, 0x12345678, %x;", "shf.r.clamp.b32 %d, 0x9e3779b9, 0x12345678, %x;",
                           "shf.l.wrap.b32 %d, 0x9e3779b9, 0x12345678, %x;", "shf.r.wrap.b32 %d, 0x9e3779b9, 0x12345678, %x;", "prmt.b32 %d, 0x89abcdef, 0x01234567, %t;"})
    expect_whole_domain({field + line, 65536, ".b16", ".b32"});
  for (const char* line : {"bfe.u64 %d, 0x9e3779b97f4a7c15, %x, %y;", "bfe.s64 %d, 0x9e3779b97f4a7c15, %x, %y;", "bfi.b64 %d, 0x9e3779b97f4a7c15, 0x123456789abcdef0, %x, %y;"})
    expect_whole_domain({field + line, 65536, ".b16", ".b64"});
}

}  // namespace
}  // namespace kforge::emulator
