// Functions and their bodies: directives, scopes, labels.
#include "ptx/reader.h"

namespace kforge::ptx {

bool Reader::parameters(Function& function, bool returns, std::vector<Variable>& into) {
  if (!expect('(')) return false;
  if (accept(')')) return true;
  do {
    Variable variable;
    bool is_register = false;
    const Token at = token_;
    std::string_view name;
    if (!parameter(variable, is_register, name)) return false;
    if (is_register) {
      if (!returns) function.register_parameters.push_back(static_cast<RegisterId>(function.registers.size()));
      if (!declare(name, {Symbol::Kind::reg, static_cast<std::uint32_t>(function.registers.size())}, at)) return false;
      function.registers.push_back({variable.name, variable.type});
      continue;
    }
    into.push_back(std::move(variable));
    parameter_names_.push_back({name, at});
  } while (accept(','));
  return expect(')');
}

bool Reader::one_number(std::uint32_t& out) {
  const Token at = token_;
  std::uint64_t value = 0;
  if (!integer_constant(value)) return false;
  if (value > 0xFFFFFFFFu) return fail_at(at, "this number must fit in 32 bits");
  out = static_cast<std::uint32_t>(value);
  return true;
}

bool Reader::three_numbers(std::uint32_t (&out)[3]) {
  out[1] = out[2] = 1;
  if (!one_number(out[0])) return false;
  if (!accept(',')) return true;
  if (!one_number(out[1])) return false;
  return !accept(',') || one_number(out[2]);
}

bool Reader::function_directives(Function& function) {
  std::uint32_t ignored = 0;
  while (token_.kind == TokenKind::directive) {
    bool good = true;
    if (accept(".maxntid")) good = three_numbers(function.max_threads);
    else if (accept(".reqntid")) good = three_numbers(function.required_threads);
    else if (accept(".reqnctapercluster")) good = three_numbers(function.cluster);
    else if (accept(".minnctapersm")) good = one_number(function.min_blocks);
    else if (accept(".maxnreg")) good = one_number(function.max_registers);
    else if (accept(".explicitcluster")) function.explicit_cluster = true;
    else if (accept(".maxnctapersm") || accept(".maxclusterrank") || accept(".abi_preserve") || accept(".abi_preserve_control")) good = one_number(ignored);
    else if (accept(".noreturn") || accept(".blocksareclusters") || accept(".unified")) {}
    else if (accept(".attribute")) good = attribute();
    else if (accept(".pragma")) good = skip_to_semicolon();
    else return fail_here("a function directive, '{' or ';'");
    if (!good) return false;
  }
  return true;
}

// A declaration and its definition are one Function; the definition wins.
bool Reader::install(Function&& function, bool has_body, const Token& at, std::string_view name) {
  auto [it, is_new] = functions_.emplace(name, static_cast<std::uint32_t>(module_.functions.size()));
  function_index_ = it->second;
  if (is_new) {
    if (module_variables_.contains(name)) return fail_at(at, "'" + function.name + "' is already a variable");
    module_.functions.push_back(std::move(function));
    defined_.push_back(has_body);
    first_nodes_.push_back(0);
    return true;
  }
  if (!has_body) return true;
  if (defined_[function_index_]) return fail_at(at, "function '" + function.name + "' is defined twice");
  function.is_visible |= module_.functions[function_index_].is_visible;
  module_.functions[function_index_] = std::move(function);
  defined_[function_index_] = true;
  return true;
}

bool Reader::function(bool is_entry, Linkage linkage) {
  Function function;
  function.is_entry = is_entry;
  function.is_visible = linkage.is_visible || linkage.is_weak;
  scopes_.assign(1, {});
  parameter_names_.clear();
  target_lists_.clear();
  node_ = 0;
  std::vector<Variable> returns, inputs;
  while (token_.is(".attribute") || token_.is(".noreturn")) {
    const bool is_attribute = token_.is(".attribute");
    advance();
    if (is_attribute && !attribute()) return false;
  }
  if (token_.is('(') && !parameters(function, true, returns)) return false;
  const std::size_t return_count = parameter_names_.size();
  const Token at = token_;
  std::string_view name;
  if (!expect_word(name, "a function's name")) return false;
  function.name = name;
  if (token_.is('(') && !parameters(function, false, inputs)) return false;
  function.parameter_count = static_cast<std::uint32_t>(inputs.size());
  function.return_count = static_cast<std::uint32_t>(returns.size());
  for (std::size_t i = 0; i < parameter_names_.size(); ++i) {
    const auto index = static_cast<std::uint32_t>(i < return_count ? inputs.size() + i : i - return_count);
    if (!declare(parameter_names_[i].first, {Symbol::Kind::variable, index}, parameter_names_[i].second)) return false;
  }
  function.variables = std::move(inputs);
  for (Variable& variable : returns) function.variables.push_back(std::move(variable));
  if (!function_directives(function)) return false;
  const bool has_body = token_.is('{');
  function.is_extern = !has_body;
  if (!has_body && !expect(';')) return false;
  return install(std::move(function), has_body, at, name) && (!has_body || body());
}

bool Reader::body() {
  Function reading = std::move(module_.functions[function_index_]);
  function_ = &reading;
  advance();  // '{'
  std::size_t depth = 1;
  while (depth > 0) {
    if (token_.kind == TokenKind::end) return fail_here("'}' at the end of function '" + reading.name + "'");
    if (accept('{')) {
      if (++depth > kMaxDepth) return fail_at(token_, "more than 100 nested '{'");
      scopes_.emplace_back();
    } else if (token_.is('}')) {
      if (!close_scope()) return false;
      advance();
      --depth;
    } else if (!statement()) return false;
  }
  function_ = nullptr;
  module_.functions[function_index_] = std::move(reading);
  return true;
}

// Labels that the closing scope does not know may stand in the scope around it.
bool Reader::close_scope() {
  Scope closing = std::move(scopes_.back());
  scopes_.pop_back();
  for (LabelUse& use : closing.uses) {
    auto it = closing.labels.find(use.at.text);
    if (it == closing.labels.end()) {
      if (scopes_.empty()) return fail_at(use.at, "label '" + std::string(use.at.text.substr(0, 120)) + "' is not defined in this function");
      scopes_.back().uses.push_back(use);
      continue;
    }
    Instruction& instruction = function_->instructions[use.instruction];
    if (use.in_targets) instruction.targets[use.slot] = it->second;
    else instruction.operands[use.slot].target = it->second;
  }
  return true;
}

bool Reader::declare(std::string_view name, Symbol symbol, const Token& at) {
  if (scopes_.back().declared.contains(name) || !scopes_.back().symbols.emplace(name, symbol).second)
    return fail_at(at, "'" + std::string(name.substr(0, 120)) + "' is declared twice in one scope");
  return true;
}

bool Reader::statement() {
  if (token_.kind == TokenKind::directive) return body_directive();
  if (accept(';')) return true;
  if (token_.kind == TokenKind::word && lexer_.at_label_colon()) {
    const Token at = token_;
    advance();
    advance();
    return label(at);
  }
  return instruction();
}

bool Reader::label(const Token& at) {
  if (token_.is(".branchtargets") || token_.is(".callprototype") || token_.is(".calltargets")) return label_directive(at);
  if (!scopes_.back().labels.emplace(at.text, static_cast<std::uint32_t>(function_->instructions.size())).second)
    return fail_at(at, "label '" + std::string(at.text.substr(0, 120)) + "' is defined twice in one scope");
  return true;
}

bool Reader::label_directive(const Token& at) {
  if (!accept(".branchtargets")) return declare(at.text, {Symbol::Kind::prototype, 0}, at) && skip_to_semicolon();
  if (!declare(at.text, {Symbol::Kind::targets, static_cast<std::uint32_t>(target_lists_.size())}, at)) return false;
  auto& list = target_lists_.emplace_back();
  do {
    if (token_.kind != TokenKind::word) return fail_here("a label");
    list.push_back(token_);
    advance();
  } while (accept(','));
  return expect(';');
}

bool Reader::body_directive() {
  if (accept(".loc")) return location();
  if (accept(".reg")) return register_declaration();
  if (accept(".pragma")) return skip_to_semicolon();
  if (accept(".param")) return body_variable(Space::param);
  if (accept(".local")) return body_variable(Space::local);
  if (accept(".shared")) return body_variable(Space::shared);
  if (token_.is(".global") || token_.is(".const")) {
    const Space space = token_.is(".global") ? Space::global : Space::constant;
    advance();
    return module_variable(space, {});
  }
  if (token_.is(".extern")) {
    advance();
    if (accept(".shared")) return module_variable(Space::shared, {.is_extern = true});
    return fail_here("'.shared' after '.extern' in a function");
  }
  if (accept(".file")) return file_directive();
  return fail_here("a directive that a function body may hold");
}

bool Reader::register_declaration() {
  std::uint32_t vector = 1;
  if (accept(".v2")) vector = 2;
  else if (accept(".v4")) vector = 4;
  if (vector != 1) return fail_at(token_, "vector registers are not supported", "declare scalar registers");
  if (token_.kind != TokenKind::directive) return fail_here("a register type");
  const auto type = find_type(token_.text.substr(1));
  if (!type || size_bits(*type) < 16) {
    if (!type || *type != Type::pred) return fail_here("a register type (.pred, .b16 ... .b128, .f32, ...)");
  }
  advance();
  do {
    const Token at = token_;
    std::string_view name;
    if (!expect_word(name, "a register's name")) return false;
    Scope& scope = scopes_.back();
    if (accept('<')) {
      std::uint64_t count = 0;
      const Token number_at = token_;
      Constant value;  // not an expression: '>' closes the range
      if (token_.kind != TokenKind::number) return fail_here("the number of registers");
      if (!number(value)) return false;
      count = value.bits;
      if (value.kind != Constant::Kind::integer || count > 0x7FFFFFFF) return fail_at(number_at, "a range has at most 2147483647 registers");
      if (!expect('>')) return false;
      if (!scope.ranges.emplace(name, RegisterRange{*type, count}).second) return fail_at(at, "'" + std::string(name) + "<>' is declared twice in one scope");
    } else if (scope.symbols.contains(name) || !scope.declared.emplace(name, *type).second) {
      return fail_at(at, "'" + std::string(name.substr(0, 120)) + "' is declared twice in one scope");
    }
  } while (accept(','));
  return expect(';');
}

}  // namespace kforge::ptx
