// The rows of instructions.def, read once into what the parser, checker and printer ask of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.h"
#include "ptx/names.h"
#include "ptx/table.h"

namespace kforge::ptx {

struct Word {
  std::string_view text;  // without the dot
  Field field = Field::text;
  std::uint8_t value = 0;
  bool in_text = false;   // kept in Modifiers::text: it has no field, or the field loses something ("shared::cta")
};

struct WordGroup {
  std::vector<Word> words;
  bool optional = false;
  bool implied() const { return !optional && words.size() == 1 && words[0].field == Field::text; }  // never in text
};

struct TypeSlot {
  std::uint64_t allowed = 0;  // bit set of Type
  bool optional = false;
  bool takes(Type type) const { return (allowed >> static_cast<unsigned>(type)) & 1; }
};

struct OperandSpec {
  enum class Role : std::uint8_t { destination, source, reg, immediate, special, any, pointer, predicate_out, predicate_in,
                                   address, texture, label, callee, targets };
  Role role = Role::source;
  bool optional = false, wider_ok = false, braces = false, pair = false;
  std::uint8_t count = 1;       // of registers in braces; 0: any; kVectorCount: as the .vN says
  std::uint8_t slot = 1;        // type slot, when type is none
  bool twice = false;
  Type type = Type::none;
  std::string_view text;
  static constexpr std::uint8_t kVectorCount = 255;
};

struct CompiledForm {
  const Form* form = nullptr;
  std::vector<WordGroup> groups;
  std::vector<TypeSlot> types;
  std::vector<OperandSpec> operands;
  bool any_words = false, any_operands = false;
  std::uint32_t mandatory_operands = 0;
};

const CompiledForm& compiled_form(std::uint16_t form);
// The rows of an opcode, in table order; empty when there is no such opcode.
std::span<const std::uint16_t> forms_of(std::string_view opcode);
// The opcode of the table that is spelt most like `opcode`.
std::string_view nearest_opcode(std::string_view opcode);

// What the words after the opcode mean in one row.
struct Spelling {
  std::uint16_t form = 0;
  Modifiers mods;
  Type types[4] = {};
};
// `words`: the dot-separated words after the opcode. Absent when the row does not take them.
std::optional<Spelling> match_words(std::uint16_t form, std::span<const std::string_view> words);
// The inverse: ".rn.f32" in the row's order.
std::string spell(const CompiledForm& form, const Modifiers& mods, std::span<const Type> types);

// The type of an operand of an instruction, by its specification.
Type operand_type(const OperandSpec& spec, std::span<const Type> types);

}  // namespace kforge::ptx
