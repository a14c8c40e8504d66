#include "ptx/checks.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "ptx/form.h"

namespace kforge::ptx {
namespace {

struct Minimum {
  std::string_view feature;  // a word of Modifiers::text; a trailing `*` matches any end
  std::uint16_t ptx, sm;
};
// Modifiers that need more than their form does (manual, target notes of 9.7.9.8, 9.7.13.5).
constexpr Minimum kWordMinimums[] = {
    {"L1::*", 74, 70}, {"L2::cache_hint", 74, 80}, {"L2::evict*", 74, 80}, {"L2::64B", 74, 75}, {"L2::128B", 74, 75}, {"L2::256B", 74, 80},
    {"shared::cta", 78, 30}, {"shared::cluster", 78, 90}, {"param::func", 83, 70}, {"param::entry", 83, 70},
};
constexpr std::string_view kSuffixOnly[] = {"wgmma", "setmaxnreg", "tcgen05"};  // sm_90a, sm_100a

bool matches(std::string_view pattern, std::string_view word) {
  if (pattern.ends_with('*')) return word.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == word;
}

void raise(TargetIssue& issue, std::string_view feature, std::uint32_t ptx, std::uint32_t sm) {
  if (ptx <= issue.needed_ptx && sm <= issue.needed_sm) return;
  issue.needed_ptx = std::max(issue.needed_ptx, ptx);
  issue.needed_sm = std::max(issue.needed_sm, sm);
  issue.feature = feature;
}

void raise_for_words(TargetIssue& issue, std::string_view text) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find('.'));
    for (const Minimum& minimum : kWordMinimums)
      if (matches(minimum.feature, word)) raise(issue, word, minimum.ptx, minimum.sm);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
}

bool is_cluster(SpecialRegister special) {
  return special >= SpecialRegister::is_explicit_cluster && special <= SpecialRegister::cluster_nctarank;
}

std::string spelling_of(const Instruction& instruction) {
  const CompiledForm& form = compiled_form(instruction.form);
  const Type types[4] = {instruction.type, instruction.type2, instruction.type3, instruction.type4};
  return std::string(form.form->opcode) + spell(form, instruction.mods, types);
}

TargetIssue needs_of(const Instruction& instruction) {
  const Form& form = instruction_table()[instruction.form];
  TargetIssue issue;
  issue.needed_ptx = form.ptx_version;
  issue.needed_sm = form.sm;
  raise_for_words(issue, instruction.mods.text);
  if (instruction.mods.scope == Scope::cluster) raise(issue, ".cluster", 78, 90);
  for (const Operand& operand : instruction.operands)
    if (operand.kind == Operand::Kind::special && is_cluster(operand.special)) raise(issue, "%" + std::string(name(operand.special)), 78, 90);
  issue.needs_suffix = std::find(std::begin(kSuffixOnly), std::end(kSuffixOnly), form.opcode) != std::end(kSuffixOnly);
  return issue;
}

bool is_write(const OperandSpec& spec) {
  return spec.role == OperandSpec::Role::destination || spec.role == OperandSpec::Role::predicate_out;
}

// Registers that exactly one `mov` gives a constant: their value. Everything else is absent.
class ConstantRegisters {
 public:
  explicit ConstantRegisters(const Function& function) : writes_(function.registers.size()), values_(function.registers.size()) {
    for (const Instruction& instruction : function.instructions) read(instruction);
  }
  std::optional<std::uint64_t> value(RegisterId reg) const { return writes_[reg] == 1 ? values_[reg] : std::nullopt; }

 private:
  void write(const Operand& operand) {
    if (operand.reg != kNoRegister && writes_[operand.reg] < 2) ++writes_[operand.reg];
    if (operand.pair != kNoRegister && writes_[operand.pair] < 2) ++writes_[operand.pair];
    for (const Operand& element : operand.elements) write(element);
  }
  void read(const Instruction& instruction) {
    const CompiledForm& form = compiled_form(instruction.form);
    for (std::size_t i = 0; i < instruction.operands.size(); ++i)
      if (form.any_operands || (i < form.operands.size() && is_write(form.operands[i]))) write(instruction.operands[i]);
    if (instruction.call)
      for (const Operand& operand : instruction.call->returns) write(operand);
    const auto& operands = instruction.operands;
    if (form.form->exec == Exec::mov && operands.size() == 2 && operands[0].reg != kNoRegister && operands[1].kind == Operand::Kind::immediate && !instruction.guard)
      values_[operands[0].reg] = operands[1].bits;
  }
  std::vector<std::uint8_t> writes_;
  std::vector<std::optional<std::uint64_t>> values_;
};

// The operand that names the lanes: the last one of every .sync warp operation.
bool has_mask(Exec exec) {
  switch (exec) {
    case Exec::shfl: case Exec::vote: case Exec::match: case Exec::redux: case Exec::elect: case Exec::bar_warp_sync: return true;
    default: return false;
  }
}

}  // namespace

std::vector<TargetIssue> check_target(const Module& module, std::uint32_t sm) {
  std::vector<TargetIssue> issues;
  std::set<std::tuple<std::string, std::uint32_t, std::uint32_t>> seen;
  for (const Function& function : module.functions)
    for (const Instruction& instruction : function.instructions) {
      TargetIssue issue = needs_of(instruction);
      const bool lacks_suffix = issue.needs_suffix && module.target_suffix == 0;
      if (issue.needed_sm <= sm && issue.needed_ptx <= module.version && !lacks_suffix) continue;
      issue.line = instruction.line;
      issue.location = instruction.location;
      issue.function = function.name;
      issue.opcode = spelling_of(instruction);
      if (seen.emplace(issue.opcode, issue.location, issue.location ? 0 : issue.line).second) issues.push_back(std::move(issue));
    }
  return issues;
}

std::vector<MaskFinding> find_partial_masks(const Module& module) {
  std::vector<MaskFinding> findings;
  for (const Function& function : module.functions) {
    const ConstantRegisters constants(function);
    for (const Instruction& instruction : function.instructions) {
      if (!has_mask(compiled_form(instruction.form).form->exec) || instruction.operands.empty()) continue;
      const Operand& operand = instruction.operands.back();
      std::optional<std::uint64_t> mask;
      if (operand.kind == Operand::Kind::immediate) mask = operand.bits;
      else if (operand.kind == Operand::Kind::reg) mask = constants.value(operand.reg);
      if (!mask || static_cast<std::uint32_t>(*mask) == 0xFFFFFFFFu) continue;
      findings.push_back({instruction.line, instruction.location, function.name, spelling_of(instruction), static_cast<std::uint32_t>(*mask)});
    }
  }
  return findings;
}

}  // namespace kforge::ptx
