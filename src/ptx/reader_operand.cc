// Operands as written, before a row of the table says what they may be.
#include "ptx/reader.h"

namespace kforge::ptx {
namespace {

// The part of a register that video instructions select: "b0", "h1", "h32", "b7654".
bool is_selector(std::string_view text) {
  if (text.size() < 2 || text.size() > 5 || (text[0] != 'b' && text[0] != 'h')) return false;
  return text.find_first_not_of("01234567", 1) == std::string_view::npos;
}

}  // namespace

// A register, or the elements of a vector register.
Operand Reader::register_operand(const Symbol& symbol) const {
  Operand out;
  out.kind = symbol.kind == Symbol::Kind::vector ? Operand::Kind::vector : Operand::Kind::reg;
  if (out.kind == Operand::Kind::reg) out.reg = symbol.index;
  for (std::uint32_t k = 0; out.kind == Operand::Kind::vector && k < symbol.count; ++k) {
    Operand& element = out.elements.emplace_back();
    element.kind = Operand::Kind::reg;
    element.reg = symbol.index + k;
  }
  return out;
}

RegisterId Reader::new_register(std::string_view name, Type type) {
  function_->registers.push_back({std::string(name), type});
  return static_cast<RegisterId>(function_->registers.size() - 1);
}

namespace {

// The register that a range such as %r<51> declares under this name.
template <class Ranges>
std::optional<Type> in_ranges(const Ranges& ranges, std::string_view name) {
  std::uint64_t number = 0, scale = 1;
  for (std::size_t digits = 1; digits < name.size() && digits <= 10; ++digits) {
    const char c = name[name.size() - digits];
    if (c < '0' || c > '9') return std::nullopt;
    number += static_cast<std::uint64_t>(c - '0') * scale;
    scale *= 10;
    if (c == '0' && digits > 1) continue;  // no leading zeros: %r01 is not %r1
    auto it = ranges.find(name.substr(0, name.size() - digits));
    if (it != ranges.end() && number < it->second.count) return it->second.type;
  }
  return std::nullopt;
}

}  // namespace

// Registers get their numbers when they are first used, so that a declaration costs nothing, whatever its size.
const Reader::Symbol* Reader::find_symbol(std::string_view name) {
  for (std::size_t i = scopes_.size(); i-- > 0;) {
    Scope& scope = scopes_[i];
    if (auto it = scope.symbols.find(name); it != scope.symbols.end()) return &it->second;
    std::optional<Type> type;
    if (!scope.declared.empty())
      if (auto it = scope.declared.find(name); it != scope.declared.end()) type = it->second;
    if (!type && !scope.ranges.empty()) type = in_ranges(scope.ranges, name);
    if (type) {
      const Symbol symbol{Symbol::Kind::reg, new_register(name, *type)};
      return &scope.symbols.emplace(name, symbol).first->second;
    }
  }
  return nullptr;
}

std::optional<RegisterId> Reader::find_register(std::string_view name) {
  const Symbol* symbol = find_symbol(name);
  if (!symbol || symbol->kind != Symbol::Kind::reg) return std::nullopt;
  return symbol->index;
}

// `+ 8`, `+-8`, `- 8` after a name.
bool Reader::offset_suffix(std::int64_t& offset) {
  if (!token_.is('+') && !token_.is('-')) return true;
  std::uint64_t value = 0;
  if (token_.is('+')) advance();
  if (!integer_constant(value)) return false;
  offset = static_cast<std::int64_t>(value);
  return true;
}

bool Reader::name_operand(const Token& at, Operand& out) {
  const std::string_view name = at.text;
  if (const Symbol* symbol = find_symbol(name)) {
    if (symbol->kind == Symbol::Kind::reg) { out.kind = Operand::Kind::reg; out.reg = symbol->index; return true; }
    if (symbol->kind == Symbol::Kind::vector) { out = register_operand(*symbol); return true; }
    if (symbol->kind == Symbol::Kind::variable) { out.kind = Operand::Kind::symbol; out.variable = VariableId{symbol->index, true}; return true; }
    return fail_at(at, "'" + std::string(name) + "' is not a value");
  }
  if (name[0] == '%') {
    if (auto special = find_special(name.substr(1))) { out.kind = Operand::Kind::special; out.special = *special; return true; }
    const std::size_t dot = name.rfind('.');
    if (dot != std::string_view::npos && is_selector(name.substr(dot + 1)))
      if (auto reg = find_register(name.substr(0, dot))) {
        out.kind = Operand::Kind::reg;
        out.reg = *reg;
        out.text = name.substr(dot + 1);
        return true;
      }
    return fail_at(at, "register '" + std::string(name) + "' is not declared", "declare it with .reg in this scope or one around it");
  }
  if (auto it = module_variables_.find(name); it != module_variables_.end()) {
    out.kind = Operand::Kind::symbol;
    out.variable = VariableId{it->second, false};
    return true;
  }
  if (auto it = functions_.find(name); it != functions_.end()) {
    out.kind = Operand::Kind::function;
    out.target = it->second;
    return true;
  }
  out.kind = Operand::Kind::label;  // a label, or a function that comes later; commit() knows which
  out.text = name;
  return true;
}

bool Reader::word_operand(Operand& out) {
  const Token at = token_;
  if (at.text == "WARP_SZ") {
    Constant value;
    if (!constant(value)) return false;
    out = immediate_operand(value);
    return true;
  }
  advance();
  if (at.text == "_") out.kind = Operand::Kind::sink;
  else if (!name_operand(at, out)) return false;
  if (out.kind == Operand::Kind::symbol && !offset_suffix(out.offset)) return false;
  return second_destination(out);
}

// `|p` after a destination.
bool Reader::second_destination(Operand& out) {
  if (!token_.is('|')) return true;
  advance();
  if (token_.kind != TokenKind::word) return fail_here("a predicate after '|'");
  const Token second = token_;
  advance();
  if (second.text == "_") { out.text = "|_"; return true; }
  auto reg = find_register(second.text);
  if (!reg) return fail_at(second, "predicate '" + std::string(second.text) + "' is not declared");
  out.pair = *reg;
  return true;
}

bool Reader::vector_operand(Operand& out, int depth) {
  out.kind = Operand::Kind::vector;
  advance();
  if (accept('}')) return true;
  do {
    Operand element;
    if (!operand(element, depth + 1)) return false;
    out.elements.push_back(std::move(element));
  } while (accept(','));
  return expect('}') && second_destination(out);
}

// [reg + 8], [variable + 8], [address], and with more than one element the coordinate lists of textures and tensor maps.
bool Reader::address_operand(Operand& out) {
  out.kind = Operand::Kind::address;
  advance();
  if (token_.kind == TokenKind::word && token_.text != "WARP_SZ") {
    const Token at = token_;
    Operand base;
    advance();
    if (!name_operand(at, base)) return false;
    if (base.kind == Operand::Kind::reg) out.reg = base.reg;
    else if (base.kind == Operand::Kind::symbol) out.variable = base.variable;
    else return fail_at(at, "'" + std::string(at.text) + "' is neither a register nor a variable, so it is no address");
    if (!offset_suffix(out.offset)) return false;
  } else {
    std::uint64_t value = 0;
    if (!integer_constant(value)) return false;
    out.offset = static_cast<std::int64_t>(value);
  }
  if (token_.is(',')) {
    Operand list;
    list.kind = Operand::Kind::text;
    list.text = "[]";
    list.elements.push_back(std::move(out));
    while (accept(',')) {
      Operand element;
      if (!operand(element, 1)) return false;
      list.elements.push_back(std::move(element));
    }
    out = std::move(list);
  }
  return expect(']');
}

bool Reader::operand(Operand& out, int depth) {
  if (depth > 3) return fail_at(token_, "operands are nested too deeply");
  if (token_.kind == TokenKind::word) return word_operand(out);
  if (token_.is('{')) return vector_operand(out, depth);
  if (token_.is('[')) return address_operand(out);
  if (token_.is('!')) {
    const Token at = token_;
    advance();
    if (token_.kind == TokenKind::word) {
      if (!word_operand(out)) return false;
      out.negated = true;
      if (out.kind != Operand::Kind::reg) return fail_at(at, "'!' needs a predicate register");
      return true;
    }
    Constant value;
    if (!constant_unary(value, 0)) return false;
    if (value.kind != Constant::Kind::integer) return fail_at(at, "'!' needs an integer constant");
    value.bits = value.bits == 0;
    out = immediate_operand(value);
    return true;
  }
  if (token_.kind == TokenKind::number || token_.is('-') || token_.is('+') || token_.is('(') || token_.is('~')) {
    Constant value;
    if (!constant(value)) return false;
    out = immediate_operand(value);
    return true;
  }
  return fail_here("an operand");
}

}  // namespace kforge::ptx
