// What the manual allows and promises beyond the table's columns.
#include <algorithm>
#include <cmath>

#include "emulator/random_program_builder.h"

namespace kforge::emulator {

using ptx::Exec;
using ptx::Type;

bool Spelt::has(std::string_view word) const { return std::find(words.begin(), words.end(), word) != words.end(); }
bool Spelt::starts(std::string_view prefix) const {
  return std::any_of(words.begin(), words.end(), [&](const std::string& w) { return w.starts_with(prefix); });
}

Pool pool_of(Type type) {
  switch (type) {
    case Type::pred: return Pool::pred;
    case Type::b8: case Type::u8: case Type::s8: case Type::b16: case Type::u16: case Type::s16: return Pool::i16;
    case Type::b32: case Type::u32: case Type::s32: case Type::u16x2: case Type::s16x2: case Type::u4: case Type::s4: return Pool::i32;
    case Type::b64: case Type::u64: case Type::s64: case Type::f32x2: return Pool::i64;
    case Type::f16: return Pool::f16;
    case Type::bf16: return Pool::bf16;
    case Type::f16x2: return Pool::f16x2;
    case Type::bf16x2: return Pool::bf16x2;
    case Type::f32: return Pool::f32;
    case Type::f64: return Pool::f64;
    case Type::e4m3x2: return Pool::e4m3x2;
    case Type::e5m2x2: return Pool::e5m2x2;
    default: return Pool::none;
  }
}

std::uint32_t bits_of(Pool pool) {
  switch (pool) {
    case Pool::pred: return 1;
    case Pool::i64: case Pool::f64: return 64;
    case Pool::i32: case Pool::f32: case Pool::f16x2: case Pool::bf16x2: case Pool::none: return 32;
    default: return 16;
  }
}

std::string_view register_type(Pool pool) {
  switch (pool) {
    case Pool::pred: return ".pred";
    case Pool::f32: return ".f32";
    case Pool::f64: return ".f64";
    default: return bits_of(pool) == 64 ? ".b64" : bits_of(pool) == 32 ? ".b32" : ".b16";
  }
}

bool is_never_generated(const ptx::Form& form) {
  using K = ptx::InstructionClass;
  // Matrices have tests of their own, asynchronous instructions need other units, as have textures.
  if (form.klass == K::matrix || form.klass == K::async || form.klass == K::texture) return true;
  if (form.id == "applypriority") return true;                 // nothing to observe
  if (form.id == "mov_vector") return true;                    // of vector registers: call_test.cc
  if (form.id == "atom_exch_b128" || form.id == "atom_cas_b128") return true;   // atomics_test.cc
  switch (form.exec) {
    case Exec::unsupported: case Exec::alloca_: case Exec::stacksave: case Exec::stackrestore: case Exec::barrier_cluster: case Exec::mapa:
    case Exec::trap: case Exec::brkpt:
    case Exec::discard: case Exec::createpolicy: case Exec::setmaxnreg: case Exec::nop: return true;
    default: return false;
  }
}

namespace {

bool is_bits(Type type) { return type == Type::b16 || type == Type::b32 || type == Type::b64; }

bool compare_is_legal(const Spelt& s, Type type) {
  static constexpr std::string_view kUnordered[] = {"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
  static constexpr std::string_view kUnsigned[] = {"lo", "ls", "hi", "hs"};
  const bool unordered = std::any_of(std::begin(kUnordered), std::end(kUnordered), [&](auto w) { return s.has(w); });
  const bool is_unsigned = std::any_of(std::begin(kUnsigned), std::end(kUnsigned), [&](auto w) { return s.has(w); });
  if (ptx::is_float(type)) return !is_unsigned && (!s.has("ftz") || type != Type::f64);
  if (s.has("ftz") || unordered || (is_unsigned && ptx::is_signed(type))) return false;
  return !is_bits(type) || s.has("eq") || s.has("ne");
}

bool set_is_legal(const Spelt& s) {
  const bool pair = s.types[1] == Type::f16x2 || s.types[1] == Type::bf16x2;
  const Type d = s.types[0];
  const bool d_pair = d == Type::f16x2 || d == Type::bf16x2;
  if (d == Type::f16 && s.types[1] != Type::f16) return false;
  if (d == Type::bf16 && s.types[1] != Type::bf16) return false;
  if (!pair) return !d_pair;
  return d == s.types[1] || d == Type::u32 || d == Type::s32;
}

bool convert_is_legal(const Spelt& s) {
  const Type d = s.types[0], a = s.types[1];
  const bool integral = s.has("rni") || s.has("rzi") || s.has("rmi") || s.has("rpi");
  if (s.has("ftz") && d != Type::f32 && a != Type::f32) return false;
  if (integral && ptx::is_float(d) && d != a) return false;
  if (ptx::is_float(d) && ptx::is_float(a) && d != a && ptx::size_bits(d) == ptx::size_bits(a)) return true;   // f16 and bf16
  return !(d == Type::f64 && a == Type::f64 && s.has("ftz"));
}

}  // namespace

bool is_legal(const ptx::CompiledForm& form, const Spelt& s) {
  const Exec exec = form.form->exec;
  if (s.has("L2::cache_hint")) return false;
  if (s.has("xorsign") != s.has("abs") && (exec == Exec::min || exec == Exec::max)) return false;
  if (exec == Exec::setp) return compare_is_legal(s, s.types[0]);
  if (exec == Exec::set) return compare_is_legal(s, s.types[1]) && set_is_legal(s);
  if (exec == Exec::cvt) return convert_is_legal(s);
  const bool is_memory = exec == Exec::ld || exec == Exec::st || exec == Exec::ldu;
  if (is_memory && (s.starts("v4") && ptx::size_bits(s.types[0]) == 64)) return false;
  if (is_memory && (s.has("param::func") || (exec == Exec::st && s.has("param")))) return false;
  if ((exec == Exec::atom || exec == Exec::red) && s.starts("shared") && (s.has("v2") || s.has("v4") || s.has("v8"))) return false;
  if ((exec == Exec::atom || exec == Exec::red) && (s.has("v2") || s.has("v4") || s.has("v8"))) {
    const std::uint32_t bits = ptx::size_bits(s.types[0]);
    return (s.has("v8") ? 8u : s.has("v4") ? 4u : 2u) * bits <= 128;
  }
  if (exec == Exec::rsqrt && s.types[0] == Type::f64) return true;
  return true;
}

bool is_approximate(const ptx::CompiledForm& form, const Spelt& s) {
  switch (form.form->exec) {
    case Exec::rsqrt: case Exec::sin: case Exec::cos: case Exec::lg2: case Exec::ex2: case Exec::tanh: return true;
    case Exec::rcp: case Exec::sqrt: return form.form->id.find("approx") != std::string_view::npos;
    case Exec::div: return s.has("approx") || s.has("full");
    default: return false;
  }
}

void set_bounds(const ptx::CompiledForm& form, const Spelt& s, RandomOutput& rule) {
  if (!is_approximate(form, s)) return;
  rule.any_nan = true;
  const Type type = s.types[0];
  const bool half = type == Type::f16 || type == Type::f16x2, bf = type == Type::bf16 || type == Type::bf16x2;
  switch (form.form->exec) {
    case Exec::sin: case Exec::cos: rule.absolute = std::exp2(-20.5); break;          // 9.7.3.18, in [-2 pi, 2 pi]
    case Exec::lg2: rule.absolute = rule.relative = std::exp2(-22); break;              // 9.7.3.20
    case Exec::ex2: rule.relative = half ? std::exp2(-9.9) : bf ? std::exp2(-7) : std::exp2(-22); break;
    case Exec::tanh:
      if (half) rule.absolute = std::exp2(-10.987);
      else if (bf) rule.absolute = std::exp2(-8);
      else rule.relative = std::exp2(-11);
      break;
    case Exec::div: rule.relative = std::exp2(-22); break;                              // 2 ulp
    default: rule.relative = type == Type::f64 ? std::exp2(-20) : std::exp2(-22.9);
  }
}

std::string joined(const ptx::CompiledForm& form, const Spelt& s) {
  std::string text(form.form->opcode);
  for (const std::string& word : s.words) text += "." + word;
  for (std::size_t i = 0; i < form.types.size(); ++i)
    if (s.types[i] != Type::none) text += "." + std::string(ptx::name(s.types[i]));
  return text;
}

}  // namespace kforge::emulator
