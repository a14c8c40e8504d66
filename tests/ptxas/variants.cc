#include "variants.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/form.h"

namespace kforge::ptxas {
namespace {

using ptx::CompiledForm;
using ptx::Exec;
using ptx::OperandSpec;
using ptx::Type;
using Role = OperandSpec::Role;

struct Spelt {
  std::vector<std::string> words;
  Type types[4] = {};
  bool has(std::string_view word) const { return std::find(words.begin(), words.end(), word) != words.end(); }
};

std::string register_of(Type type, int number) {
  if (type == Type::pred) return fmt::format("%p{}", number);
  if (type == Type::f32) return fmt::format("%f{}", number);
  if (type == Type::f64) return fmt::format("%fd{}", number);
  switch (ptx::size_bits(type)) {
    case 8: case 16: return fmt::format("%h{}", number);
    case 64: return fmt::format("%rd{}", number);
    case 128: return fmt::format("%q{}", number);
    default: return fmt::format("%r{}", number);
  }
}

// Constants that the row's meaning limits.
std::string immediate_of(const CompiledForm& form, const Spelt& spelt) {
  switch (form.form->exec) {
    case Exec::cp_async: return "16";
    case Exec::prefetch: case Exec::discard: return "128";   // applypriority and discard
    case Exec::lop3: return "0xe8";
    case Exec::setmaxnreg: return "64";
    case Exec::alloca_: return "16";
    case Exec::mma: return "0";   // mma.sp's selector
    case Exec::wgmma: return "1";
    default: return spelt.has("mask") ? "0x10" : "3";
  }
}

// Registers of a coordinate vector by geometry; `in_space`: without the layer (gradients, offsets).
std::size_t coordinate_count(const Spelt& spelt, bool in_space) {
  for (std::size_t dims = 1; dims <= 5 && spelt.has("tensor"); ++dims)
    if (spelt.has(fmt::format("{}d", dims))) return dims;
  if (spelt.has("1d") || (spelt.has("a1d") && in_space)) return 1;
  return spelt.has("2d") || spelt.has("a1d") || (spelt.has("a2d") && in_space) ? 2 : 4;
}

// Fragments of wmma by shape and type (manual, 9.7.14.4.1): registers in braces that the table leaves open.
std::size_t open_count(const CompiledForm& form, const Spelt& spelt, const OperandSpec& spec) {
  const Type own = spelt.types[0];
  if (form.form->exec == Exec::mov_pack) return 2;
  if (form.form->exec == Exec::tex) return coordinate_count(spelt, true);
  if (form.form->exec == Exec::wgmma)
    for (const std::string& word : spelt.words)
      if (word.starts_with("m64n")) return static_cast<std::size_t>(std::stoi(word.substr(4))) / (own == Type::f16 ? 4 : 2);
  const bool tall = spelt.has("m32n8k16"), wide = spelt.has("m8n32k16");
  const bool sub_byte = spelt.has("m8n8k32") || spelt.has("m8n8k128");
  if (form.form->exec == Exec::wmma_load || form.form->exec == Exec::wmma_store) {
    const bool c = spelt.has("c") || form.form->exec == Exec::wmma_store;
    if (c) return sub_byte ? 2 : own == Type::f16 ? 4 : 8;
    if (own == Type::f16) return 8;
    const bool small = (spelt.has("a") && wide) || (spelt.has("b") && tall), large = (spelt.has("a") && tall) || (spelt.has("b") && wide);
    const std::size_t base = own == Type::bf16 ? 4 : 2;
    return small ? base / 2 : large ? base * 2 : base;
  }
  const bool is_a = spec.text.find('a') != std::string_view::npos, is_b = spec.text.find('b') == 1;
  if (form.form->exec == Exec::wmma_mma && (is_a || is_b)) {
    const std::size_t base = spelt.types[1] == Type::bf16 ? 4 : 2;
    const bool small = (is_a && wide) || (is_b && tall), large = (is_a && tall) || (is_b && wide);
    return small ? base / 2 : large ? base * 2 : base;
  }
  const bool is_d = spec.text.find('d') != std::string_view::npos;
  const Type type = is_d ? spelt.types[0] : spelt.types[form.types.size() - 1];
  if (form.form->exec == Exec::wmma_mma) return type == Type::f16 ? 4 : 8;
  return type == Type::f16 ? 2 : 4;   // mma of f8
}

Type share_of(Type whole, std::size_t parts) {
  switch (ptx::size_bits(whole) / parts) {
    case 8: return Type::b8;
    case 16: return Type::b16;
    case 32: return Type::b32;
    default: return Type::b64;
  }
}

std::uint32_t vector_of(const Spelt& spelt) { return spelt.has("v2") ? 2 : spelt.has("v4") ? 4 : spelt.has("v8") ? 8 : 1; }

// [handle, {coordinates}]
std::string texture_place(const Spelt& spelt, int& number) {
  std::string text = fmt::format("[%rd{}, {{", number++);
  const bool layered = spelt.has("a1d") || spelt.has("a2d") || spelt.has("acube");
  const bool floats = spelt.types[1] == Type::f32;
  for (std::size_t i = 0; i < coordinate_count(spelt, false); ++i)
    text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", floats && !(layered && i == 0) ? "f" : "r", number++);
  return text + "}]";
}

std::string operand(const CompiledForm& form, const Spelt& spelt, const OperandSpec& spec, int& number) {
  const Type type = ptx::operand_type(spec, spelt.types);
  if (spec.role == Role::address) return fmt::format("[%rd{}]", number++);
  if (spec.role == Role::immediate) return immediate_of(form, spelt);
  if (spec.role == Role::label) return "LABEL";
  if (spec.role == Role::texture) return texture_place(spelt, number);
  if (!spec.braces) {
    const std::string one = register_of(type, number++);
    return spec.pair && (form.form->exec == Exec::match || form.form->exec == Exec::elect || form.form->exec == Exec::lop3) ? one + "|%p9" : one;
  }
  const std::size_t count = spec.count == OperandSpec::kVectorCount ? vector_of(spelt) : spec.count == 0 ? open_count(form, spelt, spec) : spec.count;
  if (count == 1 && spec.count == OperandSpec::kVectorCount) return register_of(type, number++);
  const Type element = form.form->exec == Exec::mov_pack && vector_of(spelt) == 1 ? share_of(type, count) : type;
  std::string list;
  for (std::size_t i = 0; i < count; ++i) list += (list.empty() ? "{" : ", ") + register_of(element, number++);
  return list + "}";
}

std::string written(const CompiledForm& form, const Spelt& spelt, bool optional_operands) {
  std::string text(form.form->opcode);
  for (const std::string& word : spelt.words) text += "." + word;
  for (std::size_t i = 0; i < form.types.size(); ++i)
    if (spelt.types[i] != Type::none) text += "." + std::string(ptx::name(spelt.types[i]));
  std::string operands;
  int number = 1;
  const bool hint = spelt.has("L2::cache_hint");
  for (const OperandSpec& spec : form.operands) {
    const bool is_policy = spec.optional && spec.type == Type::b64;
    if (spec.optional && !hint && (is_policy || !optional_operands)) continue;   // a hint follows all that may be left out
    operands += (operands.empty() ? " " : ", ") + operand(form, spelt, spec, number);
  }
  return text + operands + ";";
}

std::vector<Type> types_of(const ptx::TypeSlot& slot) {
  std::vector<Type> out;
  for (unsigned t = 0; t < 64; ++t)
    if ((slot.allowed >> t & 1) != 0) out.push_back(static_cast<Type>(t));
  return out;
}

bool needs_optional_operands(const CompiledForm& form) { return form.form->id.starts_with("createpolicy_f") ? false : form.form->klass == ptx::InstructionClass::matrix; }

void add_variants(std::uint16_t index, std::vector<Variant>& out) {
  const CompiledForm& form = ptx::compiled_form(index);
  Spelt plain;
  for (const ptx::WordGroup& group : form.groups)
    if (!group.optional) plain.words.emplace_back(group.words[0].text);
  for (std::size_t i = 0; i < form.types.size(); ++i) plain.types[i] = types_of(form.types[i])[0];
  if (form.types.size() == 1 && form.form->types == "u32 u64") plain.types[0] = Type::u64;
  const auto add = [&](const Spelt& spelt) {
    const Exec exec = form.form->exec;
    if (exec == Exec::mov_pack && spelt.types[0] == Type::b16) return;   // of .b8 registers, which nothing declares
    const bool is_address = exec == Exec::cvta || exec == Exec::mapa || exec == Exec::alloca_ || exec == Exec::stacksave || exec == Exec::stackrestore || form.form->opcode == "getctarank";
    if (is_address && spelt.types[0] == Type::u32) return;   // ptxas 13 ends at a 32-bit address
    const std::string text = written(form, spelt, needs_optional_operands(form));
    if (std::none_of(out.begin(), out.end(), [&](const Variant& v) { return v.form == index && v.text == text; })) out.push_back({index, text});
  };
  add(plain);
  for (std::size_t i = 0; i < form.types.size(); ++i)
    for (const Type type : types_of(form.types[i])) {
      Spelt other = plain;
      other.types[i] = type;
      add(other);
    }
  for (std::size_t g = 0; g < form.groups.size(); ++g)
    for (const ptx::Word& word : form.groups[g].words) {
      Spelt other = plain;
      other.words.clear();
      for (std::size_t k = 0; k < form.groups.size(); ++k) {
        if (k == g) other.words.emplace_back(word.text);
        else if (!form.groups[k].optional) other.words.emplace_back(form.groups[k].words[0].text);
      }
      add(other);
    }
}

bool is_written(const CompiledForm& form) {
  if (form.any_operands || form.any_words) return false;
  return std::none_of(form.operands.begin(), form.operands.end(), [](const OperandSpec& spec) { return spec.role == Role::callee || spec.role == Role::targets; });
}

constexpr std::string_view kRegisters =
    ".reg .pred %p<320>; .reg .b16 %h<48>; .reg .b32 %r<320>; .reg .b64 %rd<320>; .reg .b128 %q<8>; .reg .f32 %f<320>; .reg .f64 %fd<32>;";

}  // namespace

std::vector<Variant> all_variants() {
  std::vector<Variant> out;
  for (std::uint16_t i = 0; i < ptx::instruction_table().size(); ++i)
    if (is_written(ptx::compiled_form(i))) add_variants(i, out);
  return out;
}

Batch write_batch(const std::vector<Variant>& variants, std::uint32_t version, std::uint32_t sm, bool wide_registers) {
  constexpr std::size_t kPerFunction = 60;
  Batch batch;
  batch.text = fmt::format(".version {}.{}\n.target sm_{}\n.address_size 64\n", version / 10, version % 10, sm);
  std::uint32_t line = 4;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (i % kPerFunction == 0) {
      if (i != 0) batch.text += "LABEL: ret;\n}\n", line += 2;
      batch.text += fmt::format(".visible .entry k{}()\n{{\n{}\n", i / kPerFunction, wide_registers ? kRegisters : std::string(kRegisters).erase(kRegisters.find(".reg .b128"), 17));
      line += 3;
    }
    batch.text += fmt::format(".loc 1 {} 0\n{}\n", i + 1, variants[i].text);   // the checker names each spelling once a location
    batch.line_of.push_back(line + 1);
    line += 2;
  }
  if (!variants.empty()) batch.text += "LABEL: ret;\n}\n";
  batch.text += ".file 1 \"variants.cu\"\n";
  return batch;
}

}  // namespace kforge::ptxas
