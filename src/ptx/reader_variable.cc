// Variables, parameters and their initial values (manual 5.4, 7.1).
#include <algorithm>

#include "ptx/reader.h"

namespace kforge::ptx {
namespace {

constexpr std::uint64_t kMaxVariableBytes = std::uint64_t{1} << 40;
bool is_opaque(const Token& token) { return token.is(".texref") || token.is(".samplerref") || token.is(".surfref"); }

}  // namespace

bool Reader::attribute() {  // .attribute(.managed), .attribute(.unified(1, 2))
  if (!expect('(')) return false;
  int depth = 1;
  while (depth > 0) {
    if (token_.kind == TokenKind::end || token_.is(';')) return fail_here("')' after .attribute");
    depth += token_.is('(') ? 1 : token_.is(')') ? -1 : 0;
    advance();
  }
  return true;
}

// Everything before the name: alignment, attributes, vector size, type.
bool Reader::declarator_head(Variable& variable, std::uint32_t& vector) {
  vector = 1;
  std::uint64_t align = 0;
  for (;;) {
    const Token at = token_;
    if (accept(".align")) {
      if (!integer_constant(align)) return false;
      if (align == 0 || align > 1024 || (align & (align - 1)) != 0) return fail_at(at, "an alignment is a power of two up to 1024");
    } else if (accept(".attribute")) {
      if (!attribute()) return false;
    } else if (accept(".v2")) vector = 2;
    else if (accept(".v4")) vector = 4;
    else if (accept(".v8")) vector = 8;
    else if (accept(".ptr")) {
      if (token_.is(".global") || token_.is(".shared") || token_.is(".local") || token_.is(".const")) advance();
      std::uint64_t pointee = 0;
      if (accept(".align") && !integer_constant(pointee)) return false;
    } else if (is_opaque(token_)) {
      advance();
      variable.type = Type::b64;
    } else {
      if (token_.kind != TokenKind::directive || variable.type != Type::none) break;
      const auto type = find_type(token_.text.substr(1));
      if (!type || (size_bits(*type) < 8 && *type != Type::pred)) return fail_here("a type");
      variable.type = *type;
      advance();
    }
  }
  if (variable.type == Type::none) return fail_here("a type");
  variable.align = static_cast<std::uint32_t>(align ? align : std::max<std::uint64_t>(1, ptx::size_bytes(variable.type)) * vector);
  return true;
}

bool Reader::dimensions(Declared& declared, std::uint64_t element_bytes) {
  std::uint64_t bytes = element_bytes;
  bool first = true;
  while (accept('[')) {
    const Token at = token_;
    if (accept(']')) {
      if (!first) return fail_at(at, "only the first dimension of an array may be empty");
      declared.open_array = true;
    } else {
      std::uint64_t count = 0;
      if (!integer_constant(count) || !expect(']')) return false;
      if (count > kMaxVariableBytes || bytes * count > kMaxVariableBytes) return fail_at(at, "this array has more than 2^40 bytes");
      bytes *= count;
    }
    first = false;
  }
  declared.variable.size_bytes = declared.open_array ? 0 : bytes;
  return true;
}

bool Reader::declarator(const Variable& prototype, std::uint32_t vector, Declared& out) {
  out.variable = prototype;
  out.at = token_;
  if (!expect_word(out.name, "a variable's name")) return false;
  out.variable.name = out.name;
  return dimensions(out, std::uint64_t{ptx::size_bytes(prototype.type)} * vector);
}

bool Reader::put_initial(Variable& variable, std::uint64_t& offset, std::uint64_t bits) {
  const std::uint32_t width = ptx::size_bytes(variable.type);
  initial_bytes_ += width;
  if (initial_bytes_ > kMaxInitialBytes) return fail_at(token_, "more than 256 MB of initial values");
  if (variable.size_bytes != 0 && offset + width > variable.size_bytes)
    return fail_at(token_, "more initial values than '" + variable.name + "' has room for");
  variable.initial.resize(std::max<std::size_t>(variable.initial.size(), offset + width));
  for (std::uint32_t i = 0; i < width && i < 8; ++i) variable.initial[offset + i] = static_cast<std::byte>(bits >> (8 * i));
  offset += width;
  return true;
}

// name, name + 4, generic(name) + 4; with a mask: mask(name), one byte of the address.
bool Reader::initial_address(Variable& variable, std::uint64_t& offset, std::uint64_t mask) {
  Variable::Relocation relocation;
  relocation.offset = offset;
  relocation.bytes = static_cast<std::uint8_t>(std::min(8u, ptx::size_bytes(variable.type)));
  const Token at = token_;
  if (accept("generic")) {
    relocation.generic = true;
    std::string_view symbol;
    if (!expect('(') || !expect_word(symbol, "a variable's name") || !expect(')')) return false;
    relocation.symbol = symbol;
  } else {
    std::string_view symbol;
    if (!expect_word(symbol, "a variable's name")) return false;
    relocation.symbol = symbol;
  }
  if (!offset_suffix(relocation.addend)) return false;
  if (mask != ~std::uint64_t{0}) {
    if (!expect(')')) return false;
    unsigned byte = 0;
    while (byte < 8 && mask != std::uint64_t{0xFF} << (8 * byte)) ++byte;
    if (byte == 8) return fail_at(at, "an address mask selects one byte: 0xFF, 0xFF00, ...");
    if (byte > 0) {
      Variable::Relocation* last = variable.relocations.empty() ? nullptr : &variable.relocations.back();
      if (!last || last->symbol != relocation.symbol || last->addend != relocation.addend || last->offset + byte != offset || last->bytes != byte)
        return fail_at(at, "the bytes of an address must follow each other, lowest first");
      last->bytes = static_cast<std::uint8_t>(byte + 1);
      return put_initial(variable, offset, 0);
    }
    relocation.bytes = 1;
  }
  variable.relocations.push_back(std::move(relocation));
  return put_initial(variable, offset, 0);
}

bool Reader::initial_item(Variable& variable, std::uint64_t& offset) {
  const Token at = token_;
  if (token_.kind == TokenKind::word && token_.text != "WARP_SZ") return initial_address(variable, offset, ~std::uint64_t{0});
  Constant value;
  if (!constant(value)) return false;
  if (token_.is('(') && value.kind == Constant::Kind::integer) {
    advance();
    return initial_address(variable, offset, value.bits);
  }
  auto bits = constant_bits(value, variable.type);
  if (!bits && value.kind == Constant::Kind::integer && value.bits == 0) bits = 0;
  if (!bits) return fail_at(at, "this constant cannot initialise a ." + std::string(ptx::name(variable.type)));
  return put_initial(variable, offset, *bits);
}

bool Reader::initial_items(Variable& variable, std::uint64_t& offset, int depth) {
  if (depth > 16) return fail_at(token_, "initial values are nested too deeply");
  if (accept('}')) return true;
  do {
    if (accept('{') ? !initial_items(variable, offset, depth + 1) : !initial_item(variable, offset)) return false;
  } while (accept(','));
  return expect('}');
}

bool Reader::initialiser(Declared& declared) {
  Variable& variable = declared.variable;
  std::uint64_t offset = 0;
  const Token at = token_;
  if (accept('{') ? !initial_items(variable, offset, 0) : !initial_item(variable, offset)) return false;
  if (declared.open_array) variable.size_bytes = variable.initial.size();
  const std::uint64_t missing = variable.size_bytes - variable.initial.size();
  initial_bytes_ += missing;
  if (missing > kMaxInitialBytes || initial_bytes_ > kMaxInitialBytes) return fail_at(at, "more than 256 MB of initial values");
  variable.initial.resize(variable.size_bytes);
  return true;
}

bool Reader::module_variable(Space space, Linkage linkage) {
  Variable prototype;
  prototype.space = space;
  prototype.is_extern = linkage.is_extern;
  prototype.is_visible = linkage.is_visible;
  prototype.is_weak = linkage.is_weak || linkage.is_common;
  prototype.is_const = space == Space::constant;
  std::uint32_t vector = 1;
  if (!declarator_head(prototype, vector)) return false;
  do {
    Declared declared;
    if (!declarator(prototype, vector, declared)) return false;
    const bool initial = accept('=');
    if (initial && !initialiser(declared)) return false;
    if (declared.open_array && !initial && !linkage.is_extern)
      return fail_at(declared.at, "'" + declared.variable.name + "' has no size", "give a size or an initial value, or make it .extern");
    if (functions_.contains(declared.name)) return fail_at(declared.at, "'" + declared.variable.name + "' is already a function");
    auto [it, is_new] = module_variables_.emplace(declared.name, static_cast<std::uint32_t>(module_.variables.size()));
    if (is_new) module_.variables.push_back(std::move(declared.variable));
    else if (module_.variables[it->second].is_extern) module_.variables[it->second] = std::move(declared.variable);
    else if (!linkage.is_extern) return fail_at(declared.at, "'" + declared.variable.name + "' is defined twice");
  } while (accept(','));
  return expect(';');
}

bool Reader::body_variable(Space space) {
  Variable prototype;
  prototype.space = space;
  std::uint32_t vector = 1;
  if (!declarator_head(prototype, vector)) return false;
  do {
    Declared declared;
    if (!declarator(prototype, vector, declared)) return false;
    std::vector<Variable>& variables = function_->variables;
    if (accept('<')) {  // .param .b32 p<3>: p0 p1 p2
      return fail_at(declared.at, "variable ranges are not supported", "declare each variable");
    }
    if (declared.open_array) return fail_at(declared.at, "'" + declared.variable.name + "' has no size");
    if (!declare(declared.name, {Symbol::Kind::variable, static_cast<std::uint32_t>(variables.size())}, declared.at)) return false;
    variables.push_back(std::move(declared.variable));
  } while (accept(','));
  return expect(';');
}

bool Reader::parameter(Variable& variable, bool& is_register, std::string_view& name) {
  is_register = token_.is(".reg");
  if (!accept(".reg") && !accept(".param")) return fail_here("'.param' or '.reg'");
  variable.space = Space::param;
  std::uint32_t vector = 1;
  if (!declarator_head(variable, vector)) return false;
  Declared declared;
  if (!declarator(variable, vector, declared)) return false;
  variable = std::move(declared.variable);
  name = declared.name;
  return true;
}

}  // namespace kforge::ptx
