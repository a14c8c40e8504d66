// Matrix instructions: both engines on every row, type and layout of mma and wmma over ordinary, edge and arbitrary bits; ldmatrix and its
// kin through memory; what observers are told; known products.
#include <fmt/format.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <random>

#include "emulator/formats.h"
#include "emulator/matrix_numerics.h"
#include "emulator/matrix_shape.h"
#include "emulator/reference_engine.h"
#include "emulator/testing.h"
#include "ptx/form.h"

namespace kforge::emulator {
namespace {

using ptx::Exec;
using ptx::Type;

// ---- both engines on one text -----------------------------------------------------------------------------------------

struct Kernel {
  std::string body, before;
  std::uint32_t in_bytes = 0, out_bytes = 0;
};

std::string text_of(const Kernel& kernel) {
  return ".version 9.0\n.target sm_90\n.address_size 64\n" + kernel.before + "\n.visible .entry kernel(.param .u64 p, .param .u64 q, .param .u32 n)\n{\n" +
         ".reg .b32 %r<96>; .reg .b64 %rd<32>; .reg .f32 %f<64>; .reg .f64 %fd<64>; .reg .b32 %t; .reg .b64 %in, %out, %x;\n" +
         "ld.param.u64 %in, [p]; ld.param.u64 %out, [q]; mov.u32 %t, %tid.x;\n" + kernel.body + "ret;\n}\n";
}

std::vector<std::uint32_t> run_fast(const Kernel& kernel, const std::vector<std::uint32_t>& input, bool checks, evidence::LaunchLog* log = nullptr) {
  auto sheet = TestDevice::sheet();
  sheet.compute_major = 9;
  Device device(sheet);
  device.set_checks({checks, checks});
  auto module = ptx::parse(text_of(kernel));
  EXPECT_TRUE(module) << (module ? "" : to_string(module.error())) << text_of(kernel);
  if (!module) return {};
  auto loaded = device.load(std::make_shared<const ptx::Module>(std::move(*module)));
  EXPECT_TRUE(loaded);
  Allocation* in = device.memory().allocate(input.size() * 4, MemoryKind::device, "in");
  Allocation* out = device.memory().allocate(kernel.out_bytes, MemoryKind::device, "out");
  std::memcpy(in->data, input.data(), input.size() * 4);
  in->all_initialised = true;
  std::memset(out->data, 0, kernel.out_bytes);
  std::vector<std::byte> parameters(20);
  std::memcpy(parameters.data(), &in->base, 8);
  std::memcpy(parameters.data() + 8, &out->base, 8);
  LaunchRequest request;
  request.kernel = device.find_kernel(*loaded, "kernel");
  request.grid = request.cluster = {1, 1, 1};
  request.block = {32, 1, 1};
  request.parameters = parameters;
  const LaunchResult result = device.launch(request);
  EXPECT_EQ(result.status, LaunchStatus::ok) << result.detail << "\n" << text_of(kernel);
  auto taken = device.take_log();
  for (const auto& v : taken.violations)
    if (log == nullptr) ADD_FAILURE() << v.contract << ": " << v.message << "\n" << text_of(kernel);
  if (log != nullptr) *log = std::move(taken);
  std::vector<std::uint32_t> values(kernel.out_bytes / 4);
  std::memcpy(values.data(), out->data, kernel.out_bytes);
  return values;
}

std::vector<std::uint32_t> run_reference(const Kernel& kernel, const std::vector<std::uint32_t>& input) {
  auto module = ptx::parse(text_of(kernel));
  if (!module) return {};
  ReferenceEngine engine(std::make_shared<const ptx::Module>(std::move(*module)));
  const std::uint64_t in = engine.allocate(input.size() * 4), out = engine.allocate(kernel.out_bytes);
  std::memcpy(engine.bytes(in).data(), input.data(), input.size() * 4);
  std::vector<std::byte> parameters(20);
  std::memcpy(parameters.data(), &in, 8);
  std::memcpy(parameters.data() + 8, &out, 8);
  const ReferenceResult result = engine.launch({"kernel", {1, 1, 1}, {32, 1, 1}, 0, parameters});
  EXPECT_EQ(result.error, "") << text_of(kernel);
  std::vector<std::uint32_t> values(kernel.out_bytes / 4);
  std::memcpy(values.data(), engine.bytes(out).data(), kernel.out_bytes);
  return values;
}

// ---- inputs ------------------------------------------------------------------------------------------------------------

// whole: small whole numbers; in the accumulator too, or fractions there of about the products' size, or much below.
enum class Inputs { near_one, edges, any, whole, whole_and_fractions, whole_and_small_fractions };

float whole_element(bool accumulator, Inputs inputs, std::uint32_t raw) {
  const float sign = (raw >> 31) != 0 ? -1.0f : 1.0f;
  if (!accumulator) return sign * static_cast<float>(raw % 3);
  if (inputs == Inputs::whole) return sign * static_cast<float>(raw % (2u << raw / 64 % 20));
  return sign * static_cast<float>(raw % 1000) * (inputs == Inputs::whole_and_fractions ? 1.0909091f : 3e-5f);
}

std::uint32_t element_of(Type type, Inputs inputs, std::mt19937& random) {
  const std::uint32_t raw = random();
  const std::uint32_t bits = type == Type::tf32 ? 32 : std::min(32u, ptx::size_bits(type)), mask = bits == 32 ? ~0u : (1u << bits) - 1;
  if (inputs == Inputs::any || !ptx::is_float(type)) return raw & mask;
  if (inputs >= Inputs::whole && type == Type::f32) return std::bit_cast<std::uint32_t>(whole_element(true, inputs, raw));
  const Format f = type == Type::f16 ? kF16 : type == Type::bf16 ? kBf16 : type == Type::e4m3 ? kE4m3 : type == Type::e5m2 ? kE5m2 : kF32;
  if (inputs >= Inputs::whole) return encode_format(whole_element(false, inputs, raw), f);
  const std::uint32_t fraction = raw & ((1u << f.mantissa_bits) - 1), sign = (raw >> 31) != 0 ? f.sign() : 0;
  if (inputs == Inputs::near_one || raw % 4 == 0) return sign | fraction | static_cast<std::uint32_t>(f.bias() - 4 + static_cast<int>(raw >> 8 & 7)) << f.mantissa_bits;
  const std::uint32_t one = static_cast<std::uint32_t>(f.bias()) << f.mantissa_bits;
  const std::uint32_t edges[] = {0, 1, one, f.largest(), (1u << f.mantissa_bits) - 1, 1u << f.mantissa_bits, one + 1, one - 1};
  return sign | edges[raw >> 4 & 7];
}

std::uint64_t word_of(Type type, Inputs inputs, std::mt19937& random) {
  if (type == Type::f64) {
    if (inputs == Inputs::any) return std::uint64_t{random()} << 32 | random();
    return std::bit_cast<std::uint64_t>((static_cast<double>(random()) - 2147483648.0) * 0x1p-20);
  }
  const std::uint32_t bits = type == Type::tf32 ? 32 : ptx::size_bits(type);
  std::uint32_t word = 0;
  for (std::uint32_t at = 0; at < 32; at += bits) word |= element_of(type, inputs, random) << at;
  return word;
}

// ---- mma ---------------------------------------------------------------------------------------------------------------

struct Fragments { Type type; std::uint32_t count; char file; };   // registers of D, A, B, C; file: 'r', 'f' or 'd'

std::string registers(const Fragments& f, std::uint32_t first) {
  std::string list;
  for (std::uint32_t i = 0; i < f.count; ++i) list += fmt::format("{}%{}{}", i == 0 ? "{" : ", ", f.file == 'd' ? "fd" : std::string(1, f.file), first + i);
  return list + "}";
}

Kernel mma_kernel(const std::string& opcode, const Fragments (&all)[4]) {
  Kernel kernel;
  std::uint32_t first[4] = {0, 10, 30, 50}, offset = 0;
  std::string loads, stores;
  for (std::uint32_t k = 1; k < 4; ++k)
    for (std::uint32_t i = 0; i < all[k].count; ++i, offset += 8)
      loads += fmt::format("ld.global.{} %{}{}, [%in+{}];\n", all[k].file == 'd' ? "f64" : all[k].file == 'f' ? "f32" : "b32", all[k].file == 'd' ? "fd" : std::string(1, all[k].file), first[k] + i, offset);
  for (std::uint32_t i = 0; i < all[0].count; ++i)
    stores += fmt::format("st.global.{} [%out+{}], %{}{};\n", all[0].file == 'd' ? "f64" : all[0].file == 'f' ? "f32" : "b32", 8 * i, all[0].file == 'd' ? "fd" : std::string(1, all[0].file), i);
  kernel.in_bytes = offset * 32;
  kernel.out_bytes = all[0].count * 8 * 32;
  kernel.body = fmt::format("mad.wide.u32 %in, %t, {}, %in;\nmad.wide.u32 %out, %t, {}, %out;\n", offset, all[0].count * 8) + loads + opcode;
  for (std::uint32_t k = 0; k < 4; ++k) kernel.body += (k == 0 ? " " : ", ") + registers(all[k], first[k]);
  kernel.body += ";\n" + stores;
  return kernel;
}

std::vector<std::uint32_t> mma_input(const Fragments (&all)[4], Inputs inputs, std::mt19937& random) {
  std::vector<std::uint32_t> input;
  for (int lane = 0; lane < 32; ++lane)
    for (std::uint32_t k = 1; k < 4; ++k)
      for (std::uint32_t i = 0; i < all[k].count; ++i) {
        const std::uint64_t word = word_of(all[k].type, inputs, random);
        input.push_back(static_cast<std::uint32_t>(word));
        input.push_back(static_cast<std::uint32_t>(word >> 32));
      }
  return input;
}

void expect_same(const Kernel& kernel, const std::vector<std::uint32_t>& input) {
  const auto fast = run_fast(kernel, input, true), slow = run_reference(kernel, input);
  ASSERT_EQ(fast.size(), slow.size());
  for (std::size_t i = 0; i < fast.size(); ++i) ASSERT_EQ(fmt::format("{:08x}", fast[i]), fmt::format("{:08x}", slow[i])) << "word " << i << " of\n" << kernel.body;
}

std::vector<Type> types_in(const ptx::TypeSlot& slot) {
  std::vector<Type> out;
  for (unsigned t = 0; t < 64; ++t)
    if ((slot.allowed >> t & 1) != 0) out.push_back(static_cast<Type>(t));
  return out;
}

// Every combination of mandatory words and of types of a row; optional words are left out but for .satfinite.
template <class F>
void for_spellings(const ptx::CompiledForm& form, F f) {
  std::vector<std::string> words{""};
  for (const ptx::WordGroup& group : form.groups) {
    std::vector<std::string> longer;
    for (const std::string& prefix : words) {
      if (group.optional) longer.push_back(prefix);
      if (group.optional && group.words[0].text != "satfinite") continue;
      for (const ptx::Word& word : group.words) longer.push_back(prefix + "." + std::string(word.text));
    }
    words = std::move(longer);
  }
  std::vector<std::vector<Type>> types{{}};
  for (const ptx::TypeSlot& slot : form.types) {
    std::vector<std::vector<Type>> longer;
    for (const auto& prefix : types)
      for (const Type type : types_in(slot)) longer.push_back(prefix), longer.back().push_back(type);
    types = std::move(longer);
  }
  for (const std::string& w : words)
    for (const auto& t : types) f(w, t);
}

TEST(Matrix, EveryRowOfMmaIsTheReferencesOwn) {
  std::mt19937 random(1);
  int programs = 0;
  for (std::uint16_t row = 0; row < ptx::instruction_table().size(); ++row) {
    const ptx::CompiledForm& form = ptx::compiled_form(row);
    if (form.form->exec != Exec::mma || form.form->id.starts_with("mma_sp")) continue;   // sparse: matrix_sparse_test.cc
    for_spellings(form, [&](const std::string& words, const std::vector<Type>& types) {
      if (types[0] != types[3] && form.form->id.find("f8") != std::string_view::npos) return;
      std::string opcode = "mma" + words;
      for (const Type type : types) opcode += "." + std::string(ptx::name(type));
      Fragments all[4];
      for (std::size_t k = 0; k < 4; ++k) {
        const ptx::OperandSpec& spec = form.operands[k];
        const Type own = ptx::operand_type(spec, types);
        all[k] = {types[k], spec.count != 0 ? spec.count : types[k] == Type::f16 ? 2u : 4u, own == Type::f32 ? 'f' : own == Type::f64 ? 'd' : 'r'};
      }
      const Kernel kernel = mma_kernel(opcode, all);
      for (const Inputs inputs : {Inputs::near_one, Inputs::edges, Inputs::any, Inputs::whole, Inputs::whole_and_fractions, Inputs::whole_and_small_fractions})
        expect_same(kernel, mma_input(all, inputs, random));
      ++programs;
    });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GE(programs, 50);
}

// ---- wmma --------------------------------------------------------------------------------------------------------------

struct Wmma {
  const char *shape, *ab, *c;
  Type ab_type, c_type;
  std::uint32_t a, b, cd;   // registers
};
constexpr Wmma kWmma[] = {
    {"m16n16k16", "f16", "f32", Type::f16, Type::f32, 8, 8, 8},   {"m16n16k16", "f16", "f16", Type::f16, Type::f16, 8, 8, 4},   {"m32n8k16", "f16", "f32", Type::f16, Type::f32, 8, 8, 8},
    {"m8n32k16", "f16", "f16", Type::f16, Type::f16, 8, 8, 4},    {"m16n16k16", "bf16", "f32", Type::bf16, Type::f32, 4, 4, 8}, {"m32n8k16", "bf16", "f32", Type::bf16, Type::f32, 8, 2, 8},
    {"m8n32k16", "bf16", "f32", Type::bf16, Type::f32, 2, 8, 8},  {"m16n16k8", "tf32", "f32", Type::tf32, Type::f32, 4, 4, 8},  {"m8n8k4", "f64", "f64", Type::f64, Type::f64, 1, 1, 2},
    {"m16n16k16", "s8", "s32", Type::s8, Type::s32, 2, 2, 8},     {"m32n8k16", "u8", "s32", Type::u8, Type::s32, 4, 1, 8},      {"m8n32k16", "s8", "s32", Type::s8, Type::s32, 1, 4, 8},
    {"m8n8k32", "s4", "s32", Type::s4, Type::s32, 1, 1, 2},       {"m8n8k32", "u4", "s32", Type::u4, Type::s32, 1, 1, 2},       {"m8n8k128", "b1", "s32", Type::b1, Type::s32, 1, 1, 2},
};

TEST(Matrix, EveryShapeOfWmmaIsTheReferencesOwnThroughMemory) {
  std::mt19937 random(2);
  for (const Wmma& x : kWmma)
    for (const char* a_layout : {"row", "col"})
      for (const char* b_layout : {"row", "col"})
        for (const char* c_layout : {"row", "col"}) {
          const bool sub_byte = x.ab_type == Type::s4 || x.ab_type == Type::u4 || x.ab_type == Type::b1;
          if (sub_byte && (std::string_view(a_layout) != "row" || std::string_view(b_layout) != "col")) continue;
          Kernel kernel;
          const char c_file = x.c_type == Type::f32 ? 'f' : x.c_type == Type::f64 ? 'd' : 'r', ab_file = x.ab_type == Type::f64 ? 'd' : 'r';
          const Fragments d{x.c_type, x.cd, c_file}, a{x.ab_type, x.a, ab_file}, b{x.ab_type, x.b, ab_file}, c{x.c_type, x.cd, c_file};
          kernel.before = ".shared .align 16 .b8 tile[8192];";
          kernel.in_bytes = 3 * 4096;
          kernel.out_bytes = 4096;
          // A through generic addresses from shared memory, B and C from global memory; strides for 32-element rows and columns.
          const int stride = x.ab_type == Type::b1 ? 128 : 32;
          kernel.body = "mov.u32 %r90, 0;\nLOOP:\nmad.lo.u32 %r91, %t, 4, %r90;\ncvt.u64.u32 %rd1, %r91;\nadd.u64 %rd2, %in, %rd1;\nld.global.b32 %r92, [%rd2];\nmov.u64 %rd3, tile;\nadd.u64 %rd3, %rd3, %rd1;\n"
                        "st.shared.b32 [%rd3], %r92;\nadd.u32 %r90, %r90, 128;\nsetp.lt.u32 %p, %r90, 4096;\n@%p bra LOOP;\nbar.warp.sync 0xffffffff;\nmov.u64 %rd3, tile;\ncvta.shared.u64 %rd4, %rd3;\n";
          kernel.before += "\n";
          kernel.body = ".reg .pred %p;\n" + kernel.body;
          kernel.body += fmt::format("wmma.load.a.sync.aligned.{}.{}.{} {}, [%rd4], {};\n", a_layout, x.shape, x.ab, registers(a, 10), stride);
          kernel.body += fmt::format("wmma.load.b.sync.aligned.{}.{}.global.{} {}, [%in+4096], {};\n", b_layout, x.shape, x.ab, registers(b, 20), stride);
          kernel.body += fmt::format("wmma.load.c.sync.aligned.{}.{}.global.{} {}, [%in+8192], 32;\n", c_layout, x.shape, x.c, registers(c, 30));
          const std::string types = x.ab_type == Type::f16 ? fmt::format("{}.{}", x.c, x.c) : fmt::format("{}.{}.{}.{}", x.c, x.ab, x.ab, x.c);
          kernel.body += fmt::format("wmma.mma{}.sync.aligned.{}.{}.{}.{} {}, {}, {}, {};\n", x.ab_type == Type::b1 ? ".xor.popc" : "", a_layout, b_layout, x.shape, types, registers(d, 40),
                                     registers(a, 10), registers(b, 20), registers(c, 30));
          kernel.body += fmt::format("wmma.store.d.sync.aligned.{}.{}.global.{} [%out], {}, 32;\n", c_layout, x.shape, x.c, registers(d, 40));
          std::vector<std::uint32_t> input(3 * 1024);
          for (std::size_t i = 0; i < input.size(); i += 2) {
            const std::uint64_t word = word_of(i < 2048 ? x.ab_type : x.c_type, Inputs::near_one, random);
            input[i] = static_cast<std::uint32_t>(word);
            input[i + 1] = x.ab_type == Type::f64 ? static_cast<std::uint32_t>(word >> 32) : static_cast<std::uint32_t>(word_of(i < 2048 ? x.ab_type : x.c_type, Inputs::near_one, random));
          }
          expect_same(kernel, input);
          if (testing::Test::HasFatalFailure()) return;
        }
}

// ptxas makes four 8-byte stores of it (STG.E.64 on sm_75 and sm_90): a row's eight words fill a sector.
TEST(Matrix, AStoredFragmentCountsAsTheMachinesRequestsAndNamesItsTensor) {
  for (const char* layout : {"row", "col"}) {
    Kernel kernel;
    kernel.out_bytes = 4096;
    const Fragments d{Type::f32, 8, 'f'};
    kernel.body = fmt::format("mov.b32 %f0, 0f3F800000;\nmov.b32 %f1, %f0;\nmov.b32 %f2, %f0;\nmov.b32 %f3, %f0;\nmov.b32 %f4, %f0;\nmov.b32 %f5, %f0;\nmov.b32 %f6, %f0;\nmov.b32 %f7, %f0;\n"
                              "wmma.store.d.sync.aligned.{}.m16n16k16.global.f32 [%out], {}, 32;\n", layout, registers(d, 0));
    evidence::LaunchLog log;
    const auto stored = run_fast(kernel, {0}, true, &log);
    EXPECT_EQ(stored[0], 0x3F800000u);
    ASSERT_EQ(log.kernels.size(), 1u);
    using M = evidence::Metric;
    const evidence::Counters& c = log.kernels[0].totals;
    EXPECT_EQ(c[M::global_requests], std::string_view(layout) == "row" ? 4u : 8u);
    EXPECT_EQ(c[M::global_sectors], 32u);
    EXPECT_EQ(c[M::global_store_bytes], 1024u);
    ASSERT_EQ(log.kernels[0].lines.size(), 1u);
    ASSERT_EQ(log.kernels[0].lines[0].stores.size(), 1u) << layout;
    const evidence::StoreRange& range = log.kernels[0].lines[0].stores[0];
    EXPECT_EQ(range.tensor, "out");
    EXPECT_EQ(range.first, 0u);
    EXPECT_EQ(range.end, 15u * 128 + 64);
  }
}

// ---- data movement -----------------------------------------------------------------------------------------------------

TEST(Matrix, LdmatrixStmatrixAndMovmatrixMoveWhatTheManualSays) {
  std::mt19937 random(3);
  for (const std::uint32_t count : {1u, 2u, 4u})
    for (const char* load_trans : {"", ".trans"})
      for (const char* store_trans : {"", ".trans"}) {
        Kernel kernel;
        kernel.before = ".shared .align 16 .b8 tile[2048];\n";
        kernel.out_bytes = 32 * 64;
        const Fragments d{Type::b32, count, 'r'};
        // Rows of 16 bytes at a stride of 48, in an order of their own.
        kernel.body = "mad.wide.u32 %rd1, %t, 16, %in;\nld.global.v4.b32 {%r50, %r51, %r52, %r53}, [%rd1];\nmul.lo.u32 %r54, %t, 48;\nmov.u32 %r55, tile;\nadd.u32 %r54, %r54, %r55;\n"
                      "st.shared.v4.b32 [%r54], {%r50, %r51, %r52, %r53};\nbar.warp.sync 0xffffffff;\nxor.b32 %r56, %t, 5;\nmul.lo.u32 %r56, %r56, 48;\nadd.u32 %r56, %r56, %r55;\n";
        kernel.body += fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {}, [%r56];\n", count, load_trans, registers(d, 0));
        kernel.body += "movmatrix.sync.aligned.m8n8.trans.b16 %r40, %r0;\nbar.warp.sync 0xffffffff;\n";
        kernel.body += fmt::format("stmatrix.sync.aligned.m8n8.x{}{}.shared.b16 [%r54], {};\nbar.warp.sync 0xffffffff;\n", count, store_trans, registers(d, 0));
        kernel.body += "ld.shared.v4.b32 {%r50, %r51, %r52, %r53}, [%r54];\nmad.wide.u32 %rd1, %t, 64, %out;\nst.global.v4.b32 [%rd1], {%r50, %r51, %r52, %r53};\nst.global.b32 [%rd1+16], %r40;\n";
        for (std::uint32_t i = 0; i < count; ++i) kernel.body += fmt::format("st.global.b32 [%rd1+{}], %r{};\n", 32 + 4 * i, i);
        std::vector<std::uint32_t> input(128);
        for (auto& word : input) word = random();
        expect_same(kernel, input);
        if (testing::Test::HasFatalFailure()) return;
      }
}

std::vector<evidence::Violation> findings(const std::string& body, const std::string& before = ".shared .align 16 .b8 tile[512];\n") {
  Kernel kernel{body, before, 0, 4096};
  evidence::LaunchLog log;
  run_fast(kernel, std::vector<std::uint32_t>(1024), true, &log);
  return log.violations;
}

TEST(Matrix, UnwrittenSharedMemoryReachesTheBranchThatItDecides) {
  const std::string load = "mov.u32 %r1, tile;\nmad.lo.u32 %r2, %t, 16, %r1;\n";
  const std::string decide = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r2];\n.reg .pred %p;\nsetp.ne.u32 %p, %r10, 0;\n@%p bra END;\nEND:\n";
  const auto unwritten = findings(load + decide);
  ASSERT_EQ(unwritten.size(), 1u);
  EXPECT_EQ(unwritten[0].contract, "safety.uninitialised");
  EXPECT_TRUE(findings(load + "mov.u32 %r5, 0;\nst.shared.v4.b32 [%r2], {%r5, %r5, %r5, %r5};\nbar.warp.sync 0xffffffff;\n" + decide).empty());
}

// Only the row of A that is unwritten makes elements of D undefined.
TEST(Matrix, UndefinedRowsOfAMakeTheirRowsOfDUndefined) {
  const auto decides = [](int lane) {
    return ".reg .pred %p, %w;\nsetp.ne.u32 %w, %t, 4;\nmov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0; mov.b32 %r20, 0; mov.b32 %r21, 0;\n@%w mov.b32 %r10, 0;\nmov.f32 %f1, 0f00000000;\n"   // lane 4 is row 1
           "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f10, %f11, %f12, %f13}, {%r10, %r11, %r12, %r13}, {%r20, %r21}, {%f1, %f1, %f1, %f1};\n" +
           fmt::format("setp.ne.u32 %w, %t, {};\n@%w bra END;\nsetp.ne.f32 %p, %f10, 0f00000000;\n@%p bra END;\nEND:\n", lane);
  };
  EXPECT_EQ(findings(decides(5)).size(), 1u);
  EXPECT_TRUE(findings(decides(8)).empty());
}

TEST(Matrix, AMatrixRowOutsideSharedMemoryIsAFault) {
  TestDevice device;
  device.load_body("ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r7, tile;\nmad.lo.u32 %r2, %r1, 64, %r7;\nldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r2];\nret;", ".shared .align 16 .b8 tile[1024];");
  const auto result = device.launch(0, 0, 0, {1, 1, 1}, {32, 1, 1});
  EXPECT_EQ(result.status, LaunchStatus::illegal_address);
  const auto log = device.device.take_log();
  ASSERT_EQ(log.violations.size(), 1u);
  EXPECT_EQ(log.violations[0].contract, "safety.bounds");
}

// Rows 128 bytes apart share their banks: eight wavefronts a matrix, where rows side by side take one.
TEST(Matrix, LdmatrixCountsItsBankConflicts) {
  for (const int stride : {16, 128}) {
    TestDevice device;
    device.load_body(fmt::format("mov.u32 %r1, %tid.x;\nand.b32 %r1, %r1, 7;\nmov.u32 %r4, tile;\nmad.lo.u32 %r2, %r1, {}, %r4;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r3}}, [%r2];\nret;", stride), ".shared .align 16 .b8 tile[1024];");
    device.device.set_checks({false, true});
    ASSERT_EQ(device.launch(0, 0, 0, {1, 1, 1}, {32, 1, 1}).status, LaunchStatus::ok);
    std::uint64_t wavefronts = 0;
    for (const auto& kernel : device.device.take_log().kernels) wavefronts += kernel.totals[evidence::Metric::shared_wavefronts];
    EXPECT_EQ(wavefronts, stride == 16 ? 1u : 8u);
  }
}

// ---- the model -----------------------------------------------------------------------------------------------------------

TEST(Matrix, ABlockErrsByLessThanTheStatedBound) {
  std::mt19937 random(4);
  for (const int sm : {75, 80, 90}) {
    const TensorModel model = tensor_model(sm, Type::f16);
    for (int trial = 0; trial < 20000; ++trial) {
      float a[16], b[16];
      double exact = 0, largest = 0;
      for (std::uint32_t i = 0; i < model.width; ++i) {
        a[i] = static_cast<float>(decode_format(element_of(Type::f16, Inputs::near_one, random), kF16));
        b[i] = static_cast<float>(decode_format(element_of(Type::f16, Inputs::near_one, random), kF16));
        exact += static_cast<double>(a[i]) * b[i];
        largest = std::max(largest, std::exp2(std::ilogb(a[i]) + std::ilogb(b[i])));
      }
      const float c = static_cast<float>(random()) * 0x1p-32f;
      exact += c;
      largest = std::max(largest, std::exp2(std::ilogb(c)));
      const double result = add_block(model, {a}, {b}, model.width, c, false);
      const double bound = (model.width + 1) * std::exp2(-model.fraction) * largest + std::fabs(exact) * 0x1p-23;
      ASSERT_LE(std::fabs(result - exact), bound) << "sm_" << sm << " trial " << trial;
    }
  }
}

TEST(Matrix, WhatIsFarBelowTheLargestExponentIsCutOff) {
  const TensorModel hopper = tensor_model(90, Type::f16), volta = tensor_model(70, Type::f16);
  const float ones[4] = {1, 1, 1, 1}, small[4] = {0x1p-24f, 0x1p-24f, 0x1p-24f, 0x1p-24f};
  EXPECT_EQ(add_block(hopper, {ones}, {small}, 4, 1.0f, false), 1.0f + 0x1p-22f);   // 25 bits are kept: four halves of an ulp add up
  EXPECT_EQ(add_block(volta, {ones}, {small}, 4, 1.0f, false), 1.0f);               // 23 are: each is lost
}

// 1 + 2 + ... + 16 along K, for each element.
TEST(Matrix, AKnownProduct) {
  const Fragments all[4] = {{Type::f32, 4, 'f'}, {Type::f16, 4, 'r'}, {Type::f16, 2, 'r'}, {Type::f32, 4, 'f'}};
  const Kernel kernel = mma_kernel("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", all);
  std::vector<std::uint32_t> input;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const std::uint32_t t = lane % 4;
    const auto pair = [&](std::uint32_t k) { return encode_format(k + 1, kF16) | encode_format(k + 2, kF16) << 16; };
    for (const std::uint32_t word : {pair(2 * t), pair(2 * t), pair(2 * t + 8), pair(2 * t + 8), 0x3c003c00u, 0x3c003c00u}) input.push_back(word), input.push_back(0);
    for (int i = 0; i < 4; ++i) input.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(lane))), input.push_back(0);
  }
  const auto out = run_fast(kernel, input, true);
  for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(std::bit_cast<float>(out[2 * i]), 136.0f + static_cast<float>(i / 4));
}

}  // namespace
}  // namespace kforge::emulator
