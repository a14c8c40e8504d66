// Functions and their bodies: directives, scopes, labels.
#include <algorithm>
#include <iterator>
#include <utility>

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
    if (is_register) {   // passed in a .param of the same size: see move_parameters
      const auto first = static_cast<std::uint32_t>(function.registers.size());
      const std::uint32_t bytes = variable.type == Type::pred ? 4 : static_cast<std::uint32_t>(variable.size_bytes);
      const std::uint32_t count = variable.type == Type::pred ? 1 : std::max<std::uint32_t>(1, bytes / std::max(1u, size_bytes(variable.type)));
      if (bytes > 16 || (count > 1 && size_bits(variable.type) > 64)) return fail_at(at, "a register parameter has at most 16 bytes");
      const Symbol symbol{count == 1 ? Symbol::Kind::reg : Symbol::Kind::vector, first, static_cast<std::uint8_t>(count)};
      if (!declare(name, symbol, at)) return false;
      for (std::uint32_t k = 0; k < count; ++k) {
        function.registers.push_back({variable.name, variable.type});
        if (count == 1) continue;
        joined_.push_back(std::make_unique<std::string>(std::string(name) + "." + "xyzw"[k]));
        if (!declare(*joined_.back(), {Symbol::Kind::reg, first + k}, at)) return false;
      }
      register_parameters_.push_back({symbol, static_cast<std::uint32_t>(into.size()), returns});
      variable.type = bytes == 8 ? Type::b64 : bytes == 4 ? Type::b32 : bytes == 2 ? Type::b16 : Type::b8;
      variable.size_bytes = bytes;
      variable.align = std::min(bytes, 16u);
      variable.name += "_register";
      into.push_back(std::move(variable));
      parameter_names_.push_back({*joined_.emplace_back(std::make_unique<std::string>("." + std::string(name))), at});
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
  register_parameters_.clear();
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

// ld.param or st.param between registers and a variable of the function.
Instruction Reader::memory_move(bool load, const Operand& value, std::uint32_t variable) {
  const std::size_t count = value.kind == Operand::Kind::vector ? value.elements.size() : 1;
  const std::uint64_t bits = 8 * function_->variables[variable].size_bytes / count;
  std::string text = load ? "ld.param" : "st.param";
  if (count > 1) text += ".v" + std::to_string(count);
  text += ".b" + std::to_string(bits);
  Instruction out;
  const Spelling& spelling = spellings({*joined_.emplace_back(std::make_unique<std::string>(std::move(text))), token_})->front();
  out.form = spelling.form;
  out.mods = spelling.mods;
  out.type = spelling.types[0];
  out.line = token_.line;
  out.location = use_location(node_);
  Operand address;
  address.kind = Operand::Kind::address;
  address.variable = VariableId{variable, true};
  if (load) out.operands = {value, address};
  else out.operands = {address, value};
  return out;
}

// .reg parameters become .param variables of the same size: loaded where the function starts, stored before it returns.
void Reader::move_parameters(bool in) {
  for (const RegisterParameter& p : register_parameters_) {
    if (p.is_return == in) continue;
    Operand value = register_operand(p.symbol);
    if (value.kind == Operand::Kind::reg && function_->registers[value.reg].type == Type::pred) {   // as a word, 0 or 1
      Operand word;
      word.kind = Operand::Kind::reg;
      word.reg = new_register("predicate_word", Type::b32);
      Operand one, zero;
      one.kind = zero.kind = Operand::Kind::immediate;
      one.bits = 1;
      const Spelling& spelling = spellings({in ? "setp.ne.u32" : "selp.u32", token_})->front();
      Instruction convert;
      convert.form = spelling.form;
      convert.mods = spelling.mods;
      convert.type = spelling.types[0];
      convert.line = token_.line;
      convert.location = use_location(node_);
      if (in) convert.operands = {value, word, zero};
      else convert.operands = {word, one, zero, value};
      if (in) function_->instructions.push_back(memory_move(true, word, p.variable));
      function_->instructions.push_back(std::move(convert));
      if (!in) function_->instructions.push_back(memory_move(false, word, p.variable));
      continue;
    }
    function_->instructions.push_back(memory_move(in, value, p.variable));
  }
}

std::uint32_t Reader::hidden_parameter(std::uint32_t bytes) {
  Variable variable;
  variable.space = Space::param;
  variable.size_bytes = bytes;
  variable.align = bytes;
  variable.type = bytes == 8 ? Type::b64 : bytes == 4 ? Type::b32 : bytes == 2 ? Type::b16 : Type::b8;
  variable.name = "passed" + std::to_string(function_->variables.size());
  function_->variables.push_back(std::move(variable));
  return static_cast<std::uint32_t>(function_->variables.size() - 1);
}

// A call that passes registers and constants: each goes through a .param variable, stored before the call or loaded after it.
bool Reader::passed_in_memory(Instruction& call, std::vector<Instruction>& after) {
  auto parts = std::make_shared<Instruction::Call>(*call.call);
  const Function* callee = parts->function ? &module_.functions[*parts->function] : nullptr;
  const auto bytes_of = [&](const Operand& operand, std::size_t index) -> std::uint32_t {
    if (operand.kind == Operand::Kind::immediate || operand.kind == Operand::Kind::sink)
      return callee != nullptr && index < callee->variables.size() ? static_cast<std::uint32_t>(callee->variables[index].size_bytes) : 4;
    const Operand& first = operand.kind == Operand::Kind::vector ? operand.elements[0] : operand;
    const Type type = function_->registers[first.reg].type;
    return (type == Type::pred ? 4 : size_bytes(type)) * static_cast<std::uint32_t>(std::max<std::size_t>(1, operand.elements.size()));
  };
  const auto pass = [&](Operand& operand, std::size_t index, bool returned) {
    if (operand.kind == Operand::Kind::symbol) return true;
    for (const Operand& element : operand.elements)   // of one type, as a vector register has them
      if (element.kind != Operand::Kind::reg || function_->registers[element.reg].type == Type::pred || function_->registers[element.reg].type != function_->registers[operand.elements[0].reg].type) return false;
    if (operand.kind == Operand::Kind::vector && (operand.elements.size() < 2 || operand.elements.size() > 4 || operand.elements.size() == 3)) return false;
    const std::uint32_t bytes = bytes_of(operand, index);
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16) return false;
    const std::uint32_t variable = hidden_parameter(bytes);
    Operand symbol;
    symbol.kind = Operand::Kind::symbol;
    symbol.variable = VariableId{variable, true};
    Operand value = std::exchange(operand, symbol);
    if (value.kind == Operand::Kind::sink) return true;
    const bool is_predicate = value.kind == Operand::Kind::reg && function_->registers[value.reg].type == Type::pred;
    if (!is_predicate) {
      if (returned) after.push_back(memory_move(true, value, variable));
      else function_->instructions.push_back(memory_move(false, value, variable));
      return true;
    }
    std::vector<RegisterParameter> own;   // the conversion that move_parameters makes of a predicate
    own.push_back({{Symbol::Kind::reg, value.reg}, variable, !returned});
    own.swap(register_parameters_);
    const std::size_t first = function_->instructions.size();
    move_parameters(returned);
    own.swap(register_parameters_);
    if (!returned) return true;
    after.insert(after.end(), std::make_move_iterator(function_->instructions.begin() + static_cast<std::ptrdiff_t>(first)), std::make_move_iterator(function_->instructions.end()));
    function_->instructions.resize(first);
    return true;
  };
  for (std::size_t i = 0; i < parts->arguments.size(); ++i)
    if (!pass(parts->arguments[i], i, false)) return false;
  for (std::size_t i = 0; i < parts->returns.size(); ++i)
    if (!pass(parts->returns[i], (callee != nullptr ? callee->parameter_count : 0) + i, true)) return false;
  for (Instruction& load : after) load.guard = call.guard;
  call.call = std::move(parts);
  return true;
}

bool Reader::body() {
  Function reading = std::move(module_.functions[function_index_]);
  function_ = &reading;
  for (RegisterParameter& p : register_parameters_)
    if (p.is_return) p.variable += reading.parameter_count;
  advance();  // '{'
  move_parameters(true);
  std::size_t depth = 1;
  while (depth > 0) {
    if (token_.kind == TokenKind::end) return fail_here("'}' at the end of function '" + reading.name + "'");
    if (accept('{')) {
      if (++depth > kMaxDepth) return fail_at(token_, "more than 100 nested '{'");
      scopes_.emplace_back();
    } else if (token_.is('}')) {
      if (depth == 1) move_parameters(false);
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

// .reg .v4 .f32 v: registers v.x to v.w, and v for all of them.
bool Reader::declare_vector(std::string_view name, Type type, std::uint8_t count, const Token& at) {
  const auto first = static_cast<std::uint32_t>(function_->registers.size());
  if (!declare(name, {Symbol::Kind::vector, first, count}, at)) return false;
  for (std::uint8_t k = 0; k < count; ++k) {
    const std::string& part = *joined_.emplace_back(std::make_unique<std::string>(std::string(name) + "." + "xyzw"[k]));
    if (!declare(part, {Symbol::Kind::reg, new_register(part, type)}, at)) return false;
  }
  return true;
}

bool Reader::register_declaration() {
  std::uint32_t vector = 1;
  if (accept(".v2")) vector = 2;
  else if (accept(".v4")) vector = 4;
  if (token_.kind != TokenKind::directive) return fail_here("a register type");
  const auto type = find_type(token_.text.substr(1));
  if (!type || (size_bits(*type) < 8 && *type != Type::pred) || (vector != 1 && *type == Type::pred)) return fail_here("a register type (.pred, .b8 ... .b128, .f32, ...)");
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
      if (vector != 1) {
        if (count > 4096) return fail_at(number_at, "a range has at most 4096 vector registers");
        for (std::uint64_t i = 0; i < count; ++i)
          if (!declare_vector(*joined_.emplace_back(std::make_unique<std::string>(std::string(name) + std::to_string(i))), *type, static_cast<std::uint8_t>(vector), at)) return false;
        continue;
      }
      if (!scope.ranges.emplace(name, RegisterRange{*type, count}).second) return fail_at(at, "'" + std::string(name) + "<>' is declared twice in one scope");
    } else if (vector != 1) {
      if (!declare_vector(name, *type, static_cast<std::uint8_t>(vector), at)) return false;
    } else if (scope.symbols.contains(name) || !scope.declared.emplace(name, *type).second) {
      return fail_at(at, "'" + std::string(name.substr(0, 120)) + "' is declared twice in one scope");
    }
  } while (accept(','));
  return expect(';');
}

}  // namespace kforge::ptx
