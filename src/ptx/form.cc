#include "ptx/form.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace kforge::ptx {
namespace {

constexpr Form kForms[] = {
#define PTX_FORM(id, opcode, syntax, types, operands, ptx, sm, klass, exec, section) \
  {#id, opcode, syntax, types, operands, ptx, sm, InstructionClass::klass, Exec::exec, section},
#include "ptx/instructions.def"
#undef PTX_FORM
};

// Word lists that many rows share ($name in the syntax column).
struct Macro {
  std::string_view name, words;
};
constexpr Macro kMacros[] = {
    {"cmp", "cmp:.eq .ne .lt .le .gt .ge .lo .ls .hi .hs .equ .neu .ltu .leu .gtu .geu .num .nan"},
    {"bool", "bool:.and .or .xor"},
    {"shuffle", "shuffle:.up .down .bfly .idx"},
    {"scope", ".cta .cluster .gpu .sys"},
    {"ld_space", ".global .shared .local .const .param .shared::cta .shared::cluster .param::entry .param::func"},
    {"st_space", ".global .shared .local .param .shared::cta .shared::cluster .param::func"},
    {"matrix_space", ".global .shared .shared::cta"},
    {"l1_evict", ".L1::evict_normal .L1::evict_unchanged .L1::evict_first .L1::evict_last .L1::no_allocate"},
    {"l2_evict", ".L2::evict_normal .L2::evict_first .L2::evict_last"},
    {"second_evict", ".L2::evict_first .L2::evict_unchanged"},
    {"l2_prefetch", ".L2::64B .L2::128B .L2::256B"},
    {"flat", ".1d .2d .3d .a1d .a2d"},
    {"outside", "text:.trap .clamp .zero"},
    {"wmma_shape", ".m16n16k16 .m8n32k16 .m32n8k16"},
    {"tensor_dim", ".1d .2d .3d .4d .5d"},
    {"wgmma_k16",
     ".m64n8k16 .m64n16k16 .m64n24k16 .m64n32k16 .m64n40k16 .m64n48k16 .m64n56k16 .m64n64k16 "
     ".m64n72k16 .m64n80k16 .m64n88k16 .m64n96k16 .m64n104k16 .m64n112k16 .m64n120k16 .m64n128k16 "
     ".m64n136k16 .m64n144k16 .m64n152k16 .m64n160k16 .m64n168k16 .m64n176k16 .m64n184k16 .m64n192k16 "
     ".m64n200k16 .m64n208k16 .m64n216k16 .m64n224k16 .m64n232k16 .m64n240k16 .m64n248k16 .m64n256k16"},
    {"wgmma_k8",
     ".m64n8k8 .m64n16k8 .m64n24k8 .m64n32k8 .m64n40k8 .m64n48k8 .m64n56k8 .m64n64k8 "
     ".m64n72k8 .m64n80k8 .m64n88k8 .m64n96k8 .m64n104k8 .m64n112k8 .m64n120k8 .m64n128k8 "
     ".m64n136k8 .m64n144k8 .m64n152k8 .m64n160k8 .m64n168k8 .m64n176k8 .m64n184k8 .m64n192k8 "
     ".m64n200k8 .m64n208k8 .m64n216k8 .m64n224k8 .m64n232k8 .m64n240k8 .m64n248k8 .m64n256k8"},
    {"wgmma_k32",
     ".m64n8k32 .m64n16k32 .m64n24k32 .m64n32k32 .m64n40k32 .m64n48k32 .m64n56k32 .m64n64k32 "
     ".m64n72k32 .m64n80k32 .m64n88k32 .m64n96k32 .m64n104k32 .m64n112k32 .m64n120k32 .m64n128k32 "
     ".m64n136k32 .m64n144k32 .m64n152k32 .m64n160k32 .m64n168k32 .m64n176k32 .m64n184k32 .m64n192k32 "
     ".m64n200k32 .m64n208k32 .m64n216k32 .m64n224k32 .m64n232k32 .m64n240k32 .m64n248k32 .m64n256k32"},
    {"wgmma_k32_int",
     ".m64n8k32 .m64n16k32 .m64n24k32 .m64n32k32 .m64n48k32 .m64n64k32 .m64n80k32 .m64n96k32 "
     ".m64n112k32 .m64n128k32 .m64n144k32 .m64n160k32 .m64n176k32 .m64n192k32 .m64n208k32 .m64n224k32 "
     ".m64n240k32 .m64n256k32"},
};
// Of whole groups: written bare.
constexpr Macro kGroupMacros[] = {
    {"atom", "{.relaxed .acquire .release .acq_rel}{$scope}{.global .shared .shared::cta .shared::cluster}"},
    {"red", "{.relaxed .release}{$scope}{.global .shared .shared::cta .shared::cluster}"},
};

std::string_view expansion(std::span<const Macro> macros, std::string_view name) {
  for (const Macro& macro : macros)
    if (macro.name == name) return macro.words;
  return {};
}

Word make_word(std::string_view text, std::optional<Field> field) {
  const std::string_view stem = text.substr(0, text.find("::"));
  for (const FieldRow& candidate : field_table()) {
    if (field ? candidate.field != *field : !candidate.by_word) continue;
    const bool space = candidate.field == Field::space;
    if (stem != text && !space) continue;
    auto it = std::find(candidate.words.begin(), candidate.words.end(), space ? stem : text);
    if (it != candidate.words.end())
      return {text, candidate.field, static_cast<std::uint8_t>(it - candidate.words.begin()), stem != text};
  }
  return {text, Field::text, 0, true};
}

std::optional<Field> field_named(std::string_view name) {
  for (const FieldRow& candidate : field_table())
    if (candidate.name == name) return candidate.field;
  return std::nullopt;
}

bool word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':'; }

// "field:.a .b $macro" into words.
void read_words(std::string_view list, WordGroup& group) {
  std::optional<Field> field;
  for (std::size_t i = 0; i < list.size();) {
    if (list[i] == ' ') { ++i; continue; }
    std::size_t end = i + 1;
    while (end < list.size() && word_character(list[end])) ++end;
    const std::string_view word = list.substr(i, end - i);
    if (word[0] == '.') group.words.push_back(make_word(word.substr(1), field));
    else if (word[0] == '$') read_words(expansion(kMacros, word.substr(1)), group);
    else field = field_named(word.substr(0, word.size() - 1));
    i = end;
  }
}

void read_syntax(std::string_view syntax, CompiledForm& out) {
  for (std::size_t i = 0; i < syntax.size();) {
    const char c = syntax[i];
    if (c == '*') { out.any_words = true; ++i; continue; }
    if (c == '{' || c == '<') {
      const std::size_t end = syntax.find(c == '{' ? '}' : '>', i);
      WordGroup group;
      group.optional = c == '{';
      read_words(syntax.substr(i + 1, end - i - 1), group);
      out.groups.push_back(std::move(group));
      i = end + 1;
      continue;
    }
    std::size_t end = i + 1;
    while (end < syntax.size() && word_character(syntax[end])) ++end;
    if (c == '$') {
      read_syntax(expansion(kGroupMacros, syntax.substr(i + 1, end - i - 1)), out);
    } else {
      WordGroup group;
      read_words(syntax.substr(i, end - i), group);
      out.groups.push_back(std::move(group));
    }
    i = end;
  }
}

template <class Visit>
void split(std::string_view text, char separator, Visit visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void read_types(std::string_view types, CompiledForm& out) {
  split(types, '|', [&](std::string_view list) {
    TypeSlot slot;
    if (list[0] == '?') { slot.optional = true; list.remove_prefix(1); }
    split(list, ' ', [&](std::string_view word) { slot.allowed |= std::uint64_t{1} << static_cast<unsigned>(*find_type(word)); });
    out.types.push_back(slot);
  });
}

OperandSpec::Role role_of(char letter) {
  using Role = OperandSpec::Role;
  switch (letter) {
    case 'd': return Role::destination;
    case 'r': return Role::reg;
    case 'i': return Role::immediate;
    case 's': return Role::special;
    case 'x': return Role::any;
    case 'm': return Role::pointer;
    case 'p': return Role::predicate_out;
    case '!': return Role::predicate_in;
    case 'L': return Role::label;
    case 'F': return Role::callee;
    case 'T': return Role::targets;
    default: return Role::source;
  }
}

void read_operand_type(std::string_view text, OperandSpec& spec) {
  if (text == "w") spec.twice = true;
  else if (text.size() == 1) spec.slot = static_cast<std::uint8_t>(text[0] - '0');
  else spec.type = *find_type(text);
}

OperandSpec read_operand(std::string_view text) {
  OperandSpec spec;
  spec.text = text;
  if (text[0] == '?') { spec.optional = true; text.remove_prefix(1); }
  if (text[0] == '[') { spec.role = text[1] == 't' ? OperandSpec::Role::texture : OperandSpec::Role::address; return spec; }
  if (text[0] == '{') { spec.braces = true; text = text.substr(1, text.size() - 2); }
  spec.role = role_of(text[0]);
  if (spec.braces) spec.count = OperandSpec::kVectorCount;
  for (std::size_t i = 1; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '*') spec.count = 0;
    else if (c == '>') spec.wider_ok = true;
    else if (c == '|') { spec.pair = true; ++i; }
    else if (c >= '1' && c <= '8') spec.count = static_cast<std::uint8_t>(c - '0');
    else if (c == ':') {
      std::size_t end = std::min(text.find_first_of(">|", i), text.size());
      read_operand_type(text.substr(i + 1, end - i - 1), spec);
      i = end - 1;
    }
  }
  using Role = OperandSpec::Role;
  if (spec.role == Role::predicate_in || spec.role == Role::predicate_out) spec.type = Type::pred;
  return spec;
}

CompiledForm compile(const Form& form) {
  CompiledForm out;
  out.form = &form;
  read_syntax(form.syntax, out);
  read_types(form.types, out);
  if (form.operands == "*") out.any_operands = true;
  else split(form.operands, ',', [&](std::string_view text) { out.operands.push_back(read_operand(text)); });
  for (const OperandSpec& spec : out.operands) out.mandatory_operands += spec.optional ? 0 : 1;
  return out;
}

const std::vector<CompiledForm>& compiled() {
  static const std::vector<CompiledForm> all = [] {
    std::vector<CompiledForm> forms;
    for (const Form& form : kForms) forms.push_back(compile(form));
    return forms;
  }();
  return all;
}

using Index = std::unordered_map<std::string_view, std::vector<std::uint16_t>>;
const Index& index() {
  static const Index map = [] {
    Index result;
    for (std::size_t i = 0; i < std::size(kForms); ++i) result[kForms[i].opcode].push_back(static_cast<std::uint16_t>(i));
    return result;
  }();
  return map;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t previous = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = previous;
    }
  }
  return row[b.size()];
}

// Puts one word into the first free group that has it.
bool place_word(const CompiledForm& form, std::string_view word, std::vector<const Word*>& chosen) {
  for (std::size_t g = 0; g < form.groups.size(); ++g) {
    if (chosen[g]) continue;
    for (const Word& candidate : form.groups[g].words)
      if (candidate.text == word) { chosen[g] = &candidate; return true; }
  }
  return false;
}

void append_text(std::string& text, std::string_view word) {
  if (!text.empty()) text += '.';
  text += word;
}

bool collect(const CompiledForm& form, std::span<const Word* const> chosen, Modifiers& mods) {
  for (std::size_t g = 0; g < form.groups.size(); ++g) {
    const Word* word = chosen[g];
    if (!word) {
      if (!form.groups[g].optional) return false;
      continue;
    }
    if (word->field != Field::text) row(word->field).set(mods, word->value);
    if (word->in_text && !form.groups[g].implied()) append_text(mods.text, word->text);
  }
  return true;
}

}  // namespace

std::span<const Form> instruction_table() { return kForms; }

const CompiledForm& compiled_form(std::uint16_t form) { return compiled()[form]; }

std::uint32_t destination_count(const Form& form) {
  using Role = OperandSpec::Role;
  std::uint32_t count = 0;
  for (const OperandSpec& spec : compiled_form(static_cast<std::uint16_t>(&form - kForms)).operands) {
    if (spec.role != Role::destination && spec.role != Role::predicate_out) break;
    ++count;
  }
  return count;
}

std::span<const std::uint16_t> forms_of(std::string_view opcode) {
  auto it = index().find(opcode);
  if (it == index().end()) return {};
  return it->second;
}

std::string_view nearest_opcode(std::string_view opcode) {
  opcode = opcode.substr(0, 40);
  std::string_view best;
  std::size_t best_distance = ~std::size_t{0};
  for (const Form& form : kForms) {
    const std::size_t distance = edit_distance(opcode, form.opcode);
    if (distance < best_distance) { best_distance = distance; best = form.opcode; }
  }
  return best;
}

std::optional<Spelling> match_words(std::uint16_t id, std::span<const std::string_view> words) {
  const CompiledForm& form = compiled_form(id);
  std::vector<const Word*> chosen(form.groups.size());
  Spelling out;
  out.form = id;
  std::size_t slot = 0;
  std::string rest;
  for (std::string_view word : words) {
    const auto type = slot < form.types.size() ? find_type(word) : std::nullopt;
    if (type) {
      while (slot < form.types.size() && !form.types[slot].takes(*type) && form.types[slot].optional) ++slot;
      if (slot < form.types.size() && form.types[slot].takes(*type)) { out.types[slot++] = *type; continue; }
    }
    if (place_word(form, word, chosen)) continue;
    if (!form.any_words) return std::nullopt;
    append_text(rest, word);
  }
  for (; slot < form.types.size(); ++slot)
    if (!form.types[slot].optional) return std::nullopt;
  if (!collect(form, chosen, out.mods)) return std::nullopt;
  if (!rest.empty()) append_text(out.mods.text, rest);
  return out;
}

namespace {

// The next word of `text` that is one of the group's, taken off the front.
std::string_view take_text(const WordGroup& group, std::string_view& text) {
  const std::string_view head = text.substr(0, text.find('.'));
  for (const Word& word : group.words)
    if (word.in_text && word.text == head) {
      text.remove_prefix(std::min(head.size() + 1, text.size()));
      return word.text;
    }
  return {};
}

std::string_view spell_group(const WordGroup& group, const Modifiers& mods, std::string_view& text) {
  if (group.implied()) return group.words[0].text;
  if (std::string_view word = take_text(group, text); !word.empty()) return word;
  for (const Word& word : group.words)
    if (word.field != Field::text && !word.in_text && row(word.field).get(mods) == word.value) return word.text;
  return {};
}

}  // namespace

std::string spell(const CompiledForm& form, const Modifiers& mods, std::span<const Type> types) {
  std::string out;
  std::string_view text = mods.text;
  for (const WordGroup& group : form.groups) {
    const std::string_view word = spell_group(group, mods, text);
    if (!word.empty()) out += '.', out += word;
  }
  if (!text.empty()) out += '.', out += text;
  for (std::size_t i = 0; i < form.types.size(); ++i)
    if (types[i] != Type::none) out += '.', out += name(types[i]);
  return out;
}

Type operand_type(const OperandSpec& spec, std::span<const Type> types) {
  if (spec.type != Type::none) return spec.type;
  const Type type = spec.slot >= 1 && spec.slot <= types.size() ? types[spec.slot - 1] : Type::none;
  if (!spec.twice) return type;
  switch (type) {
    case Type::u16: return Type::u32;
    case Type::s16: return Type::s32;
    case Type::u32: return Type::u64;
    case Type::s32: return Type::s64;
    default: return type;
  }
}

}  // namespace kforge::ptx
