// The words of PTX for the enumerations of module.h, both ways, and the Modifiers field that each word sets.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "ptx/module.h"

namespace kforge::ptx {

std::optional<Type> find_type(std::string_view word);               // "f32"
std::optional<SpecialRegister> find_special(std::string_view word);  // "tid.x", without the `%`
std::string_view name(SpecialRegister special);
Type type_of(SpecialRegister special);                              // u32, u64 or pred
std::string_view name(Space space);                                 // "global"; generic is empty
std::optional<Space> find_space(std::string_view word);

// One field of Modifiers that a written word can set. `text` is the field of words that have none.
enum class Field : std::uint8_t {
  text, rounding, half, order, scope, cache, overflow, space, atom, vector,
  ftz, sat, satfinite, relu, noftz, approx, full, abs, nan, xorsign, cc, to, uni, aligned, sync, warp, left, right, shiftamt,
  boolean, cmp, shuffle, vote,  // never chosen by the word alone: `and` is an atomic operation too
};

struct FieldRow {
  Field field;
  std::string_view name;                    // as instructions.def writes it before a word list
  std::span<const std::string_view> words;  // words[0] is empty: value 0 is "not written"
  void (*set)(Modifiers&, std::uint8_t value);
  std::uint8_t (*get)(const Modifiers&);
  bool by_word;                             // the word alone selects this field
};
std::span<const FieldRow> field_table();    // indexed by Field
const FieldRow& row(Field field);

}  // namespace kforge::ptx
