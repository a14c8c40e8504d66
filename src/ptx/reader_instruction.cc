// Instructions: the spelling selects the rows of the table, the operands select one of them.
#include <algorithm>

#include "ptx/reader.h"

namespace kforge::ptx {

bool Reader::guard(Instruction& instruction) {
  advance();  // '@'
  Guard guard;
  guard.negated = accept('!');
  const Token at = token_;
  if (token_.kind != TokenKind::word) return fail_here("a predicate after '@'");
  advance();
  const auto reg = find_register(at.text);
  if (!reg) return fail_at(at, "predicate '" + std::string(at.text) + "' is not declared");
  if (function_->registers[*reg].type != Type::pred)
    return fail_at(at, "'" + std::string(at.text) + "' guards an instruction but is no .pred register");
  guard.reg = *reg;
  instruction.guard = guard;
  return true;
}

namespace {

// PTX for sm_1x wrote mad.f32 without a rounding. Compiled for a later GPU it rounds to nearest, once (PTX manual, 9.7.3.7).
std::string_view modern_spelling(std::string_view text) {
  if (text == "mad.f32") return "mad.rn.f32";
  if (text == "mad.sat.f32") return "mad.rn.sat.f32";
  return text;
}

}  // namespace

// Blanks may stand between the words: `add .u32`.
bool Reader::mnemonic(Mnemonic& out) {
  if (token_.kind != TokenKind::word) return fail_here("an instruction");
  out = {token_.text, token_};
  advance();
  if (token_.kind != TokenKind::directive) return true;
  std::string joined(out.text);
  while (token_.kind == TokenKind::directive) {
    joined += token_.text;
    advance();
  }
  joined_.push_back(std::make_unique<std::string>(std::move(joined)));
  out.text = *joined_.back();
  return true;
}

const std::vector<Spelling>* Reader::spellings(const Mnemonic& mnemonic) {
  if (auto it = spellings_.find(mnemonic.text); it != spellings_.end()) return &it->second;
  std::vector<std::string_view> words;
  std::string_view rest = mnemonic.text;
  const std::string_view opcode = rest.substr(0, rest.find('.'));
  rest.remove_prefix(opcode.size());
  while (!rest.empty() && words.size() < 32) {
    rest.remove_prefix(1);
    words.push_back(rest.substr(0, rest.find('.')));
    rest.remove_prefix(words.back().size());
  }
  std::vector<Spelling> found;
  if (rest.empty())
    for (std::uint16_t form : forms_of(opcode))
      if (auto spelling = match_words(form, words)) found.push_back(std::move(*spelling));
  if (found.empty()) return nullptr;
  return &spellings_.emplace(mnemonic.text, std::move(found)).first->second;
}

bool Reader::unknown_mnemonic(const Mnemonic& mnemonic) {
  const std::string shown(mnemonic.text.substr(0, 120));
  const std::string_view opcode = mnemonic.text.substr(0, mnemonic.text.find('.'));
  const auto forms = forms_of(opcode);
  if (forms.empty())
    return fail_at(mnemonic.at, "unknown instruction '" + shown + "'", "the nearest known opcode is '" + std::string(nearest_opcode(opcode)) + "'");
  std::string hint = "known forms of '" + std::string(opcode) + "':";
  for (std::size_t i = 0; i < forms.size() && i < 4; ++i) {
    const Form& form = instruction_table()[forms[i]];
    hint += " " + std::string(opcode) + std::string(form.syntax) + (form.types.empty() ? "" : " (" + std::string(form.types) + ")") + ";";
  }
  return fail_at(mnemonic.at, "no form of '" + std::string(opcode) + "' is spelt '" + shown + "'", std::move(hint));
}

bool Reader::operand_list(std::vector<Operand>& operands) {
  operand_tokens_.clear();
  if (accept(';')) return true;
  operands.reserve(4);
  do {
    operand_tokens_.push_back(token_);
    if (operands.size() >= 64) return fail_at(token_, "an instruction has at most 64 operands");
    if (!operand(operands.emplace_back())) return false;
  } while (accept(','));
  operand_tokens_.push_back(token_);
  return expect(';');
}

bool Reader::misfit(const Mnemonic& mnemonic, const Misfit& wrong) {
  const std::string shown = "'" + std::string(mnemonic.text.substr(0, 120)) + "'";
  if (wrong.operand + 1 >= operand_tokens_.size()) return fail_at(mnemonic.at, shown + " " + wrong.message);
  return fail_at(operand_tokens_[wrong.operand], "operand " + std::to_string(wrong.operand + 1) + " of " + shown + " " + wrong.message);
}

bool Reader::finish(Instruction& instruction, const Mnemonic& mnemonic, const std::vector<Spelling>& candidates) {
  Misfit best;
  const Spelling* chosen = nullptr;
  for (const Spelling& candidate : candidates) {
    Misfit wrong = fit(candidate, instruction.operands, function_->registers);
    if (wrong.message.empty()) { chosen = &candidate; break; }
    if (best.message.empty() || (wrong.operand < instruction.operands.size() && (best.operand >= instruction.operands.size() || wrong.operand > best.operand)))
      best = std::move(wrong);
  }
  if (!chosen) return misfit(mnemonic, best);
  instruction.form = chosen->form;
  instruction.mods = chosen->mods;
  instruction.type = chosen->types[0];
  instruction.type2 = chosen->types[1];
  instruction.type3 = chosen->types[2];
  instruction.type4 = chosen->types[3];
  return true;
}

// Appends; names that are still unknown must turn out to be functions.
void Reader::commit(Instruction&& instruction) {
  const auto index = static_cast<std::uint32_t>(function_->instructions.size());
  for (std::uint32_t i = 0; i < instruction.operands.size(); ++i) {
    Operand& operand = instruction.operands[i];
    if (operand.kind != Operand::Kind::label || operand.text.empty()) continue;
    function_uses_.push_back({function_index_, index, i, operand_tokens_[i]});
    operand.kind = Operand::Kind::function;
    operand.text.clear();
  }
  function_->instructions.push_back(std::move(instruction));
}

bool Reader::instruction() {
  Instruction out;
  if (token_.is('@') && !guard(out)) return false;
  Mnemonic mnemonic_;
  if (!mnemonic(mnemonic_)) return false;
  if (module_.target < 20) mnemonic_.text = modern_spelling(mnemonic_.text);
  out.line = mnemonic_.at.line;
  out.location = use_location(node_);
  const std::vector<Spelling>* candidates = spellings(mnemonic_);
  if (!candidates) return unknown_mnemonic(mnemonic_);
  const CompiledForm& form = compiled_form(candidates->front().form);
  if (form.form->exec == Exec::call) return call(out, candidates->front());
  if (form.form->exec == Exec::bra || form.form->exec == Exec::brx) {
    const Spelling& spelling = candidates->front();
    out.form = spelling.form;
    out.mods = spelling.mods;
    return form.form->exec == Exec::bra ? branch(out) : branch_indexed(out, mnemonic_);
  }
  if (form.form->exec == Exec::ret) move_parameters(false);
  if (!operand_list(out.operands) || !finish(out, mnemonic_, *candidates)) return false;
  commit(std::move(out));
  return true;
}

bool Reader::branch(Instruction& out) {
  if (token_.kind != TokenKind::word) return fail_here("a label");
  Operand& label = out.operands.emplace_back();
  label.kind = Operand::Kind::label;
  scopes_.back().uses.push_back({static_cast<std::uint32_t>(function_->instructions.size()), 0, token_, false});
  advance();
  if (!expect(';')) return false;
  function_->instructions.push_back(std::move(out));
  return true;
}

bool Reader::branch_indexed(Instruction& out, const Mnemonic& mnemonic) {
  operand_tokens_.assign(1, token_);
  if (!operand(out.operands.emplace_back()) || !expect(',')) return false;
  const Operand& index = out.operands[0];
  if (index.kind != Operand::Kind::reg || size_bits(function_->registers[index.reg].type) != 32)
    return fail_at(operand_tokens_[0], "operand 1 of '" + std::string(mnemonic.text) + "' must be a 32-bit register");
  const Token at = token_;
  if (token_.kind != TokenKind::word) return fail_here("the name of a .branchtargets list");
  advance();
  const Symbol* symbol = find_symbol(at.text);
  if (!symbol || symbol->kind != Symbol::Kind::targets)
    return fail_at(at, "'" + std::string(at.text.substr(0, 80)) + "' is not a .branchtargets list declared before");
  const auto& list = target_lists_[symbol->index];
  target_count_ += list.size();
  if (target_count_ > (1u << 24)) return fail_at(at, "more than 16 million branch targets");
  const auto number = static_cast<std::uint32_t>(function_->instructions.size());
  for (std::uint32_t i = 0; i < list.size(); ++i) scopes_.back().uses.push_back({number, i, list[i], true});
  out.targets.resize(list.size());
  if (!expect(';')) return false;
  function_->instructions.push_back(std::move(out));
  return true;
}

bool Reader::call_arguments(std::vector<Operand>& out) {
  if (!expect('(')) return false;
  if (accept(')')) return true;
  do {
    const Token at = token_;
    Operand& argument = out.emplace_back();
    if (!operand(argument)) return false;
    if (argument.kind == Operand::Kind::symbol || argument.kind == Operand::Kind::reg || argument.kind == Operand::Kind::vector) continue;
    if (argument.kind != Operand::Kind::immediate && argument.kind != Operand::Kind::sink)
      return fail_at(at, "a call passes .param variables, registers and constants");
    argument.offset = 0;
  } while (accept(','));
  return expect(')');
}

// call (ret), f, (args) {, prototype};  with ret and args optional and f a function or a register
bool Reader::call(Instruction& out, const Spelling& spelling) {
  out.form = spelling.form;
  out.mods = spelling.mods;
  auto parts = std::make_shared<Instruction::Call>();
  if (token_.is('(') && (!call_arguments(parts->returns) || !expect(','))) return false;
  const Token callee = token_;
  if (token_.kind != TokenKind::word) return fail_here("a function or a register that points at one");
  advance();
  if (auto reg = find_register(callee.text)) {
    if (size_bits(function_->registers[*reg].type) != 64) return fail_at(callee, "a function pointer is a 64-bit register");
    parts->pointer = *reg;
  }
  else if (auto it = functions_.find(callee.text); it != functions_.end()) parts->function = it->second;
  if (accept(',')) {
    if (token_.is('(')) {
      if (!call_arguments(parts->arguments)) return false;
      if (accept(',')) {
        if (token_.kind != TokenKind::word) return fail_here("a prototype");
        advance();
      }
    } else if (token_.kind == TokenKind::word) advance();  // the prototype of a call without arguments
    else return fail_here("arguments or a prototype");
  }
  if (!parts->function && parts->pointer == kNoRegister)
    function_uses_.push_back({function_index_, static_cast<std::uint32_t>(function_->instructions.size()), kCallee, callee});
  const auto in_register = [](const Operand& operand) { return operand.kind != Operand::Kind::symbol; };
  const bool passes_registers = std::any_of(parts->arguments.begin(), parts->arguments.end(), in_register) || std::any_of(parts->returns.begin(), parts->returns.end(), in_register);
  out.call = std::move(parts);
  if (!expect(';')) return false;
  std::vector<Instruction> after;
  if (passes_registers && !passed_in_memory(out, after)) return fail_at(callee, "a value of this size is not passed in registers");
  function_->instructions.push_back(std::move(out));
  for (Instruction& load : after) function_->instructions.push_back(std::move(load));
  return true;
}

}  // namespace kforge::ptx
