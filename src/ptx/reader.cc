// The module level of the parser: header, declarations, and what is patched at the end.
#include "ptx/reader.h"

#include "ptx/parser.h"

namespace kforge::ptx {

bool Reader::accept(char c) {
  if (!token_.is(c)) return false;
  advance();
  return true;
}

bool Reader::accept(std::string_view word) {
  if (!token_.is(word)) return false;
  advance();
  return true;
}

bool Reader::expect(char c) { return accept(c) || fail_here("'" + std::string(1, c) + "'"); }

bool Reader::expect_word(std::string_view& out, std::string_view what) {
  if (token_.kind != TokenKind::word) return fail_here(std::string(what));
  out = token_.text;
  advance();
  return true;
}

bool Reader::fail_at(const Token& token, std::string message, std::string hint) {
  if (error_) return false;
  const Where where{std::string(file_), static_cast<int>(token.line), static_cast<int>(lexer_.column_of(token.text))};
  error_ = Error{ErrorCode::bad_input, std::move(message), where, std::move(hint)};
  return false;
}

bool Reader::fail_here(std::string expected) {
  std::string found = token_.kind == TokenKind::end ? "the end of the text" : "'" + std::string(token_.text.substr(0, 60)) + "'";
  return fail_at(token_, "expected " + expected + ", found " + found);
}

bool Reader::skip_to_semicolon() {
  while (!token_.is(';')) {
    if (token_.kind == TokenKind::end) return fail_here("';'");
    advance();
  }
  advance();
  return true;
}

// ".version 9.0" is one number token, or a whole one for hand-written text.
bool Reader::version() {
  const Token at = token_;
  if (token_.kind != TokenKind::number) return fail_here("a version such as 9.0");
  advance();
  const std::string_view text = at.text;
  if (text.size() != 3 || text[1] != '.' || text[0] < '1' || text[0] > '9' || text[2] < '0' || text[2] > '9')
    return fail_at(at, "'" + std::string(text.substr(0, 20)) + "' is not a PTX version such as 9.0");
  module_.version = static_cast<std::uint32_t>((text[0] - '0') * 10 + (text[2] - '0'));
  return true;
}

bool Reader::target() {
  do {
    const Token at = token_;
    std::string_view name;
    if (!expect_word(name, "a target such as sm_90")) return false;
    if (name == "texmode_unified" || name == "texmode_independent" || name == "debug" || name == "map_f64_to_f32") continue;
    std::uint32_t number = 0;
    std::size_t i = 3;
    for (; i < name.size() && name[i] >= '0' && name[i] <= '9' && number < 1000; ++i) number = number * 10 + static_cast<std::uint32_t>(name[i] - '0');
    const bool suffix = i + 1 == name.size() && (name[i] == 'a' || name[i] == 'f');
    if (name.substr(0, 3) != "sm_" || number < 10 || !(i == name.size() || suffix))
      return fail_at(at, "unknown target '" + std::string(name.substr(0, 60)) + "'", "write sm_75 to sm_90, or sm_90a");
    module_.target = number;
    module_.target_suffix = suffix ? name[i] : '\0';
  } while (accept(','));
  return true;
}

bool Reader::file_directive() {
  const Token at = token_;
  std::uint64_t number = 0;
  if (!integer_constant(number)) return false;
  if (token_.kind != TokenKind::string) return fail_here("a file name in quotes");
  if (token_.text.size() > 4096) return fail_at(token_, "a file name has at most 4096 characters");
  if (number > 0xFFFFFFFFu) return fail_at(at, "a file number must fit in 32 bits");
  files_[static_cast<std::uint32_t>(number)] = token_.text;
  advance();
  std::uint64_t ignored = 0;  // time stamp and size
  return !accept(',') || (integer_constant(ignored) && expect(',') && integer_constant(ignored));
}

bool Reader::alias() {
  std::string_view from, to;
  const Token at = token_;
  if (!expect_word(from, "a function's name") || !expect(',')) return false;
  const Token to_at = token_;
  if (!expect_word(to, "a function's name") || !expect(';')) return false;
  auto target = functions_.find(to);
  if (target == functions_.end()) return fail_at(to_at, "function '" + std::string(to) + "' is not declared");
  auto existing = functions_.find(from);
  if (existing != functions_.end() && defined_[existing->second]) return fail_at(at, "function '" + std::string(from) + "' is defined twice");
  aliases_.push_back({from, target->second});
  return true;
}

bool Reader::linked_item(Linkage linkage) {
  for (;;) {
    if (accept(".extern")) linkage.is_extern = true;
    else if (accept(".visible")) linkage.is_visible = true;
    else if (accept(".weak")) linkage.is_weak = true;
    else if (accept(".common")) linkage.is_common = true;
    else break;
  }
  if (accept(".entry")) return function(true, linkage);
  if (accept(".func")) return function(false, linkage);
  if (accept(".global")) return module_variable(Space::global, linkage);
  if (accept(".const")) return module_variable(Space::constant, linkage);
  if (accept(".shared")) return module_variable(Space::shared, linkage);
  if (accept(".local")) return module_variable(Space::local, linkage);
  if (accept(".tex")) return module_variable(Space::global, linkage);
  return fail_here(".entry, .func, .global, .const or .shared");
}

bool Reader::module_item() {
  if (token_.kind == TokenKind::end) return fail_here("a directive");
  if (accept(".version")) return version();
  if (accept(".target")) return target();
  if (accept(".address_size")) {
    const Token at = token_;
    std::uint64_t bits = 0;
    return integer_constant(bits) && (bits == 64 || fail_at(at, "only .address_size 64 is supported"));
  }
  if (accept(".file")) return file_directive();
  if (accept(".loc")) return location();
  if (accept(".section")) return section();
  if (accept(".pragma")) return skip_to_semicolon();
  if (accept(".alias")) return alias();
  if (accept(';')) return true;
  return linked_item({});
}

bool Reader::resolve_functions() {
  for (const auto& [from, to] : aliases_) {
    auto declared = functions_.find(from);
    if (declared == functions_.end()) functions_.emplace(from, to);
    else {
      const std::string name = module_.functions[declared->second].name;
      module_.functions[declared->second] = module_.functions[to];
      module_.functions[declared->second].name = name;
    }
  }
  for (const FunctionUse& use : function_uses_) {
    auto it = functions_.find(use.at.text);
    if (it == functions_.end())
      return fail_at(use.at, "'" + std::string(use.at.text.substr(0, 120)) + "' is not declared", "no register, variable, label or function has this name");
    Instruction& instruction = module_.functions[use.function].instructions[use.instruction];
    if (use.operand != kCallee) {
      instruction.operands[use.operand].target = it->second;
      continue;
    }
    auto call = std::make_shared<Instruction::Call>(*instruction.call);
    call->function = it->second;
    instruction.call = std::move(call);
  }
  return true;
}

Expected<Module> Reader::read() {
  if (!token_.is(".version")) fail_here("'.version' at the start of a PTX module");
  while (!error_ && token_.kind != TokenKind::end) module_item();
  if (!error_ && module_.target == 0) fail_here("'.target'");
  if (!error_) resolve_functions();
  if (!error_) build_locations();
  if (error_) return Unexpected(std::move(*error_));
  return std::move(module_);
}

Expected<Module> parse(std::string_view text, std::string_view file) {
  if (text.size() > (std::size_t{1} << 30)) return fail(ErrorCode::limit, "PTX of more than 1 GiB is not read", {std::string(file)});
  return Reader(text, file).read();
}

const Function* Module::find_function(std::string_view wanted) const {
  for (const Function& function : functions)
    if (function.name == wanted) return &function;
  return nullptr;
}

}  // namespace kforge::ptx
