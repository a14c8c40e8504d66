#include "emulator/random_program_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "emulator/reference_engine_float.h"

namespace kforge::emulator {

using ptx::Exec;
using ptx::Type;
using Role = ptx::OperandSpec::Role;

namespace {

constexpr Pool kPools[] = {Pool::i16, Pool::i32, Pool::i64, Pool::f16, Pool::bf16, Pool::f16x2, Pool::bf16x2, Pool::f32, Pool::f64,
                           Pool::e4m3x2, Pool::e5m2x2};
constexpr std::string_view kNames[] = {"p", "h", "r", "rd", "hf", "hb", "hx", "hy", "f", "fd", "e4", "e5", "t"};

bool is_half_pair(Pool pool) { return pool == Pool::f16x2 || pool == Pool::bf16x2; }
Type element_of(Pool pool) {
  switch (pool) {
    case Pool::f16: case Pool::f16x2: return Type::f16;
    case Pool::bf16: case Pool::bf16x2: return Type::bf16;
    case Pool::f64: return Type::f64;
    case Pool::f32: return Type::f32;
    default: return Type::none;
  }
}

}  // namespace

RandomBuilder::RandomBuilder(std::uint64_t seed, bool structured) : random_(seed), structured_(structured) {
  program_.seed = seed;
  prologue();
}

void RandomBuilder::line(std::string text) { body_ += "  " + guard + text + ";\n"; }
std::string RandomBuilder::label() { return fmt::format("L{}", labels_++); }
std::string RandomBuilder::fresh(Pool pool) { return fmt::format("%{}{}", kNames[static_cast<std::size_t>(pool)], counts_[pool]++); }
std::string RandomBuilder::pick(Pool pool) {
  if (pool == Pool::none) pool = Pool::i32;
  const std::vector<std::string>& all = pools_[pool];
  return all[below(all.size())];
}
// Structured programs overwrite: a result under a guard must have been defined before.
std::string RandomBuilder::target(Pool pool) {
  if (!structured_) return fresh(pool);
  const std::vector<std::string>& all = pools_[pool];
  return all.empty() ? fresh(pool) : all[below(all.size())];
}

namespace {

std::uint64_t edge_integer(std::uint64_t which, std::uint32_t bits) {
  const std::uint64_t top = std::uint64_t{1} << (bits - 1);
  const std::uint64_t values[] = {0, 1, ~std::uint64_t{0}, top, top - 1, top + 1, 2, 0x80, 0x7f, 0xff, 0xffff, 0x8000, bits, bits - 1, bits + 1, 0x100, ~std::uint64_t{1}, 31, 5};
  return values[which % std::size(values)];
}

std::uint64_t edge_float(std::uint64_t which, const reference::Format& f) {
  const std::uint64_t one = static_cast<std::uint64_t>(f.bias()) << f.fraction_bits, lowest_normal = std::uint64_t{1} << f.fraction_bits;
  const std::uint64_t values[] = {0, one, one | 1, one - 1, 1, 2, lowest_normal - 1, lowest_normal, lowest_normal + 1, f.largest(), f.largest() - 1, f.infinity(),
                                  f.infinity() | 1, f.nan, f.infinity() | (lowest_normal >> 1) | 5, one + lowest_normal, one - lowest_normal, one + lowest_normal / 2,
                                  one + (lowest_normal + lowest_normal / 4), one + 3 * lowest_normal + lowest_normal / 8};
  return values[which % std::size(values)];
}

}  // namespace

void RandomBuilder::fill(Pool pool, std::uint32_t bits, bool tame, std::vector<std::byte>& slice) {
  std::uint64_t value = 0;
  if (element_of(pool) == Type::none) {
    value = chance(50) ? edge_integer(random_(), std::max(bits, 8u)) : random_();
  } else {
    const reference::Format& f = reference::format_of(element_of(pool));
    const std::uint32_t width = static_cast<std::uint32_t>(1 + f.exponent_bits + f.fraction_bits);
    for (std::uint32_t at = 0; at < bits; at += width) {
      std::uint64_t x = random_();
      const std::uint64_t fraction = x & ((std::uint64_t{1} << f.fraction_bits) - 1);
      const std::uint64_t sign = chance(50) ? f.sign_bit() : 0;
      // Near one: exponents of 2^-3 to 2^2 for tame values, 2^-20 to 2^20 otherwise, so that sums do cancel and round.
      const auto near = [&](int low, int high) {
        const auto field = std::clamp<std::int64_t>(f.bias() + low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1))), 1, 2 * f.bias());
        return sign | static_cast<std::uint64_t>(field) << f.fraction_bits | fraction;
      };
      if (tame) x = chance(10) ? (chance(50) ? f.infinity() | sign : 0) : near(-3, 1);
      else if (chance(40)) x = edge_float(random_(), f) | sign;
      else if (chance(70)) x = near(-20, 20);
      value |= (width >= 64 ? x : x & ((std::uint64_t{1} << width) - 1)) << at;
    }
  }
  const std::size_t at = slice.size();
  slice.resize(at + 8);
  std::memcpy(slice.data() + at, &value, 8);
}

void RandomBuilder::load_inputs() {
  std::uint64_t offset = 0;
  const auto load = [&](Pool pool, bool tame) {
    for (int k = 0; k < kInputs; ++k) {
      const std::string reg = fresh(pool);
      line(fmt::format("ld.global.{} {}, [%in+{}]", pool == Pool::f32 ? "f32" : pool == Pool::f64 ? "f64" : fmt::format("b{}", bits_of(pool)), reg, offset));
      offset += 8;
      for (auto& slice : slices_) fill(pool, bits_of(pool), tame, slice);
      if (tame) tame_[pool].push_back(reg);
      else inputs_[pool].push_back(reg);
      if (!tame) define(pool, reg);
    }
  };
  slices_.resize(std::size_t{program_.threads} * program_.blocks);
  for (const Pool pool : kPools) load(pool, false);
  for (const Pool pool : {Pool::f16, Pool::bf16, Pool::f16x2, Pool::bf16x2, Pool::f32, Pool::f64}) load(pool, true);
  for (int k = 0; k < kInputs; ++k) {
    const std::string p = fresh(Pool::pred);
    line(fmt::format("setp.lt.s32 {}, {}, {}", p, pick(Pool::i32), pick(Pool::i32)));
    define(Pool::pred, p);
  }
  // The private windows: global in `out`, shared and local.
  for (std::uint64_t at = 0; at < kWindow; at += 8) {
    line(fmt::format("ld.global.b64 %x, [%in+{}]", at));
    for (const char* where : {"global.b64 [%out+{}]", "shared.b64 [%sh+{}]", "local.b64 [%lo+{}]"}) line(fmt::format("st.{}, %x", fmt::format(fmt::runtime(where), at)));
  }
  line(fmt::format("add.cc.u32 %y, {}, {}", pick(Pool::i32), pick(Pool::i32)));
  program_.input_stride = offset;
}

void RandomBuilder::prologue() {
  body_ += "  mov.u32 %tid, %tid.x;\n  mov.u32 %y, %ctaid.x;\n  mov.u32 %ntid, %ntid.x;\n  mad.lo.s32 %gid, %y, %ntid, %tid;\n";
  body_ += "  ld.param.u64 %in, [p_in];\n  ld.param.u64 %out, [p_out];\n";
  body_ += "  mad.wide.u32 %in, %gid, INPUT_STRIDE, %in;\n  mad.wide.u32 %out, %gid, OUTPUT_STRIDE, %out;\n";
  body_ += fmt::format("  mov.u32 %sh, window;\n  mad.lo.u32 %sh, %tid, {}, %sh;\n  mov.u64 %lo, mine;\n", kWindow);
  body_ += "  cvt.u64.u32 %x, %sh;\n  cvta.shared.u64 %gsh, %x;\n  cvta.local.u64 %glo, %lo;\n  mov.u64 %x, table;\n  cvta.const.u64 %gco, %x;\n";
  body_ += "  mov.b64 %x, p_blob;\n  cvta.param.u64 %gpa, %x;\n  cvta.global.u64 %ggl, %out;\n";
  load_inputs();
}

void RandomBuilder::output(Pool pool, const std::string& reg, RandomOutput rule) {
  std::string from = reg;
  if (pool == Pool::pred) {
    line(fmt::format("selp.u32 %y, 1, 0, {}", reg));
    from = "%y";
    rule.type = Type::u32;
  }
  const std::uint32_t bits = pool == Pool::pred ? 32 : bits_of(pool);
  rule.offset = out_;
  line(fmt::format("st.global.{} [%out+{}], {}", pool == Pool::f32 ? "f32" : pool == Pool::f64 ? "f64" : fmt::format("b{}", bits), out_, from));
  out_ += 8;
  program_.outputs.push_back(std::move(rule));
}

std::string RandomBuilder::immediate(Type type) {
  if (type == Type::f32) return fmt::format("0f{:08X}", static_cast<std::uint32_t>(chance(60) ? edge_float(random_(), reference::format_of(type)) : random_()));
  if (type == Type::f64) return fmt::format("0d{:016X}", chance(60) ? edge_float(random_(), reference::format_of(type)) : random_());
  const std::uint32_t bits = ptx::size_bits(type);
  const std::uint64_t value = chance(70) ? edge_integer(random_(), bits) : random_();
  const auto low = static_cast<std::int64_t>(value << (64 - bits));
  if (ptx::is_signed(type)) {
    const std::int64_t number = low >> (64 - bits);
    return number == std::numeric_limits<std::int64_t>::min() ? "0x8000000000000000" : fmt::format("{}", number);
  }
  return fmt::format("{}", static_cast<std::uint64_t>(low) >> (64 - bits));
}

std::optional<Spelt> RandomBuilder::spell(const ptx::CompiledForm& form) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    Spelt spelt;
    for (const ptx::WordGroup& group : form.groups)
      if (!group.optional || chance(50)) spelt.words.emplace_back(group.words[below(group.words.size())].text);
    for (std::size_t i = 0; i < form.types.size(); ++i) {
      std::vector<Type> allowed;
      for (unsigned t = 0; t < 64; ++t)
        if ((form.types[i].allowed >> t & 1) != 0) allowed.push_back(static_cast<Type>(t));
      spelt.types[i] = allowed[below(allowed.size())];
    }
    if (is_legal(form, spelt)) return spelt;
  }
  return std::nullopt;
}

Pool RandomBuilder::wide_pool(Type type) {
  const Pool exact = pool_of(type);
  if (ptx::is_float(type) || exact == Pool::pred || exact == Pool::i64) return exact;
  const Pool choices[] = {Pool::i16, Pool::i32, Pool::i64};
  Pool pool = exact;
  do pool = choices[below(3)]; while (bits_of(pool) < ptx::size_bits(type));
  return pool;
}

std::string RandomBuilder::source(const ptx::CompiledForm& form, const ptx::OperandSpec& spec, Type type, bool tame) {
  if (spec.role == Role::predicate_in) return (chance(30) ? "!" : "") + pick(Pool::pred);
  if (spec.role == Role::immediate) return fmt::format("{}", below(form.form->exec == Exec::pmevent ? 16 : 256));
  const bool can_be_immediate = spec.role == Role::source && type != Type::none && form.form->exec != Exec::cvt && (!ptx::is_float(type) || type == Type::f32 || type == Type::f64) &&
                                type != Type::u16x2 && type != Type::s16x2 && !tame;
  if (can_be_immediate && chance(20)) return immediate(type);
  if (spec.role == Role::source && spec.type == Type::u32 && chance(60)) return fmt::format("{}", below(70));   // shift counts, positions
  const Pool pool = spec.wider_ok ? wide_pool(type) : pool_of(type);
  if (tame) return tame_[pool][below(tame_[pool].size())];
  // The sign of a NaN result is open, so what copies signs takes inputs only.
  if (form.form->exec == Exec::copysign || form.form->exec == Exec::min || form.form->exec == Exec::max)
    if (!inputs_[pool].empty() && ptx::is_float(type)) return inputs_[pool][below(inputs_[pool].size())];
  return pick(pool);
}

namespace {
int video_lanes(const ptx::CompiledForm& form) { return form.form->opcode.back() == '2' ? 2 : form.form->opcode.back() == '4' ? 4 : 1; }
bool video_has_second(const Spelt& s) { return s.has("add") || s.has("min") || s.has("max"); }
}  // namespace

// Whether parts of c are kept: `d.b1`, or for several lanes `d.h0`.
bool RandomBuilder::video_merges(const ptx::CompiledForm& form, const Spelt& s) {
  if (form.form->id == "vmad") return false;
  return video_lanes(form) > 1 ? chance(50) : !video_has_second(s) && chance(50);
}

std::string RandomBuilder::video_target(const ptx::CompiledForm& form) {
  static constexpr std::string_view kOne[] = {".b0", ".b1", ".b2", ".b3", ".h0", ".h1"}, kTwo[] = {".h0", ".h1", ".h10"},
                                    kFour[] = {".b0", ".b1", ".b10", ".b2", ".b20", ".b21", ".b210", ".b3", ".b30", ".b31", ".b310", ".b32", ".b320", ".b321", ".b3210"};
  const int lanes = video_lanes(form);
  return std::string(lanes == 1 ? kOne[below(6)] : lanes == 2 ? kTwo[below(3)] : kFour[below(15)]);
}

// The part of the register that `operands` ends with; constants have none.
std::string RandomBuilder::video_selector(const ptx::CompiledForm& form, const std::string& operands) {
  const std::size_t last = operands.rfind(' ') == std::string::npos ? 0 : operands.rfind(' ') + 1;
  if (operands[last] != '%' || chance(40)) return {};
  const int lanes = video_lanes(form);
  if (lanes == 1) return chance(50) ? fmt::format(".b{}", below(4)) : fmt::format(".h{}", below(2));
  std::string text = lanes == 2 ? ".h" : ".b";
  for (int i = 0; i < lanes; ++i) text += fmt::format("{}", below(lanes == 2 ? 4 : 8));
  return text;
}

bool RandomBuilder::computes(const ptx::CompiledForm& form) {
  const auto spelt = spell(form);
  if (!spelt) return false;
  const bool tame = is_approximate(form, *spelt);
  if (structured_ && tame) return true;   // nothing flows out of a bounded result
  std::string operands, result, second;
  Pool result_pool = Pool::none;
  Type result_type = Type::none;
  const bool merges = form.form->exec == Exec::video && video_merges(form, *spelt);
  for (const ptx::OperandSpec& spec : form.operands) {
    if (spec.optional && (form.form->exec == Exec::video ? !merges && !video_has_second(*spelt) : chance(50))) continue;
    const Type type = ptx::operand_type(spec, spelt->types);
    if (!operands.empty()) operands += ", ";
    if (spec.role != Role::destination && spec.role != Role::predicate_out) {
      if (form.form->exec == Exec::fns && spec.text == "b") operands += fmt::format("{}", below(32));
      else operands += source(form, spec, type, tame);
      if (form.form->exec == Exec::video && spec.text != "c:b32" && spec.text != "?c:b32") operands += video_selector(form, operands);
      continue;
    }
    result_type = type;
    result_pool = spec.wider_ok ? wide_pool(type) : pool_of(type);
    result = target(result_pool);
    operands += result;
    if (form.form->exec == Exec::video && merges) operands += video_target(form);
    const bool half_pair = spelt->types[0] == Type::f16x2 || spelt->types[0] == Type::bf16x2;
    if (spec.pair && (chance(50) || (half_pair && form.form->exec == Exec::setp) || form.form->exec == Exec::lop3)) {
      second = fresh(Pool::pred);
      if (structured_ || guard.size() > 0) second = pick(Pool::pred);
      if (second == result) second.clear();
      else operands += "|" + second;
    }
    if (form.form->exec == Exec::lop3 && spec.pair && second.empty()) return true;
  }
  const std::string text = joined(form, *spelt) + (operands.empty() ? "" : " " + operands);
  line(text);
  if (result.empty() || structured_) return true;
  RandomOutput rule;
  rule.line = text;
  rule.type = result_type;
  set_bounds(form, *spelt, rule);
  if (result_pool != Pool::none && !tame) define(result_pool, result);
  output(result_pool, result, rule);
  if (!second.empty()) {
    define(Pool::pred, second);
    RandomOutput other;
    other.line = text + "  (second predicate)";
    output(Pool::pred, second, other);
  }
  return true;
}

bool RandomBuilder::row(std::uint16_t form_index) {
  const ptx::CompiledForm& form = ptx::compiled_form(form_index);
  if (is_never_generated(*form.form)) return false;
  switch (form.form->exec) {
    case Exec::ld: case Exec::ldu: case Exec::st: return memory(form);
    case Exec::atom: case Exec::red: return atomic(form);
    case Exec::mov_pack: return moves(form);
    case Exec::mov: return form.form->id == "mov_b128" ? moves(form) : computes(form);
    case Exec::shfl: case Exec::vote: case Exec::match: case Exec::redux: case Exec::elect: case Exec::activemask: case Exec::bar_warp_sync: return warp(form);
    case Exec::bar_sync: case Exec::bar_arrive: case Exec::bar_red: return barrier(form);
    case Exec::bra: case Exec::brx: case Exec::call: case Exec::ret: case Exec::exit: case Exec::nanosleep: return control(form);
    case Exec::cvta: case Exec::isspacep: case Exec::prefetch: return address(form);
    default: break;
  }
  if (form.any_operands) return false;
  for (const ptx::OperandSpec& spec : form.operands)
    if (spec.braces || spec.role == Role::address || spec.role == Role::pointer) return false;
  return computes(form);
}

RandomProgram RandomBuilder::finish() {
  guard.clear();
  if (structured_)
    for (auto& [pool, all] : pools_)
      for (const std::string& reg : all) {
        RandomOutput rule;
        rule.line = "final value of " + reg;
        rule.type = pool == Pool::f32 ? Type::f32 : pool == Pool::f64 ? Type::f64 : element_of(pool) != Type::none && !is_half_pair(pool) ? element_of(pool) : Type::b64;
        rule.any_nan = pool == Pool::f32 || pool == Pool::f64;
        output(pool, reg, rule);
      }
  for (std::uint64_t at = 0; at < kWindow; at += 8)
    for (const char* where : {"shared.b64 %x, [%sh+{}]", "local.b64 %x, [%lo+{}]"}) {
      line(fmt::format("ld.{}", fmt::format(fmt::runtime(where), at)));
      output(Pool::i64, "%x", {.type = Type::b64, .line = "final private memory"});
    }
  line("addc.u32 %y, 0, 0");
  output(Pool::i32, "%y", {.type = Type::b32, .line = "final carry"});
  for (std::uint64_t at = 0; at < kWindow; at += 8) program_.outputs.push_back({.offset = at, .type = Type::b64, .line = "final private global memory"});
  program_.output_stride = (out_ + 255) / 256 * 256;
  std::string registers = "  .reg .b32 %tid, %gid, %ntid, %sh, %y, %trip, %member, %m0, %m1;\n  .reg .b64 %in, %out, %lo, %x, %gsh, %glo, %gco, %gpa, %ggl;\n  .reg .b128 %q<4>;\n  .reg .pred %pc, %pg;\n";
  for (const auto& [pool, count] : counts_) registers += fmt::format("  .reg {} %{}<{}>;\n", register_type(pool), kNames[static_cast<std::size_t>(pool)], count);
  const auto replace = [&](std::string_view what, std::uint64_t with) { body_.replace(body_.find(what), what.size(), fmt::format("{}", with)); };
  replace("INPUT_STRIDE", program_.input_stride);
  replace("OUTPUT_STRIDE", program_.output_stride);
  for (std::uint64_t i = 0; i < kWindow; ++i) program_.blob.push_back(static_cast<std::byte>(random_()));
  std::string table;
  for (std::uint64_t i = 0; i < kWindow; ++i) table += fmt::format("{}{}", i == 0 ? "" : ", ", static_cast<int>(below(256)));
  program_.text = ".version 9.0\n.target sm_90\n.address_size 64\n.const .align 16 .b8 table[64] = {" + table + "};\n"
      ".func (.param .b32 result) twist(.param .b32 a, .param .b64 b)\n{\n  .reg .b32 %r<3>;\n  .reg .b64 %d;\n  ld.param.b32 %r0, [a];\n  ld.param.b64 %d, [b];\n"
      "  cvt.u32.u64 %r1, %d;\n  shf.l.wrap.b32 %r2, %r0, %r1, 7;\n  add.u32 %r2, %r2, %r0;\n  st.param.b32 [result], %r2;\n  ret;\n}\n"
      ".visible .entry k(.param .u64 p_in, .param .u64 p_out, .param .align 16 .b8 p_blob[64])\n{\n" + registers +
      fmt::format("  .shared .align 16 .b8 window[{}];\n  .local .align 16 .b8 mine[{}];\n", kWindow * program_.threads, kWindow) + body_ + (chance(50) ? "  ret;\n}\n" : "  exit;\n}\n");
  for (auto& slice : slices_) program_.input.insert(program_.input.end(), slice.begin(), slice.end());
  return std::move(program_);
}

RandomProgram random_row(std::uint16_t form, std::uint64_t seed, int count) {
  RandomBuilder builder(seed, false);
  for (int i = 0; i < count; ++i)
    if (!builder.row(form)) return {};
  return builder.finish();
}

RandomProgram random_straight(std::uint64_t seed, int count) {
  RandomBuilder builder(seed, false);
  for (int i = 0; i < count; ++i) builder.row(static_cast<std::uint16_t>(builder.below(ptx::instruction_table().size())));
  return builder.finish();
}

}  // namespace kforge::emulator
