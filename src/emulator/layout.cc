#include "emulator/layout.h"

#include <algorithm>
#include <functional>
#include <set>

#include "emulator/handlers.h"

namespace kforge::emulator {
namespace {

std::uint32_t aligned(std::uint32_t at, std::uint32_t align) { return align < 2 ? at : (at + align - 1) / align * align; }

using VisitOperand = std::function<void(const ptx::Operand&)>;
void visit_operands(const ptx::Instruction& in, const VisitOperand& visit) {
  for (const ptx::Operand& operand : in.operands) {
    visit(operand);
    for (const ptx::Operand& element : operand.elements) visit(element);
  }
}

// Functions whose address is a value somewhere.
std::vector<std::uint32_t> address_taken(const ptx::Module& module) {
  std::vector<std::uint32_t> result;
  const auto add_name = [&](const std::string& name) {
    for (std::uint32_t i = 0; i < module.functions.size(); ++i)
      if (module.functions[i].name == name) result.push_back(i);
  };
  for (const ptx::Variable& variable : module.variables)
    for (const auto& relocation : variable.relocations) add_name(relocation.symbol);
  for (const ptx::Function& function : module.functions)
    for (const ptx::Instruction& in : function.instructions)
      visit_operands(in, [&](const ptx::Operand& operand) {
        if (operand.kind == ptx::Operand::Kind::function) result.push_back(operand.target);
      });
  return result;
}

}  // namespace

std::vector<std::uint32_t> reachable_functions(const ptx::Module& module, std::uint32_t entry) {
  std::vector<std::uint32_t> result{entry};
  std::set<std::uint32_t> seen{entry};
  const auto add = [&](std::uint32_t index) {
    const ptx::Function& function = module.functions[index];
    if (function.is_entry || function.instructions.empty() || !seen.insert(index).second) return;
    result.push_back(index);
  };
  for (std::size_t k = 0; k < result.size(); ++k) {
    for (const ptx::Instruction& in : module.functions[result[k]].instructions) {
      if (in.call == nullptr) continue;
      if (in.call->function.has_value()) add(*in.call->function);
      else for (const std::uint32_t index : address_taken(module)) add(index);
    }
  }
  return result;
}

const ptx::Variable* variable_of(const ptx::Module& module, const ptx::Function& function, const ptx::Operand& operand) {
  if (!operand.variable.has_value()) return nullptr;
  return operand.variable->of_function ? &function.variables[operand.variable->index] : &module.variables[operand.variable->index];
}

SharedLayout lay_out_shared(const ptx::Module& module, const std::vector<std::uint32_t>& functions) {
  SharedLayout layout;
  std::vector<const ptx::Variable*> dynamic;
  std::uint32_t dynamic_align = 16;
  for (const std::uint32_t index : functions) {
    const ptx::Function& function = module.functions[index];
    for (const ptx::Instruction& in : function.instructions)
      visit_operands(in, [&](const ptx::Operand& operand) {
        const ptx::Variable* variable = variable_of(module, function, operand);
        if (variable == nullptr || variable->space != ptx::Space::shared || layout.offsets.contains(variable)) return;
        layout.offsets[variable] = 0;
        if (variable->is_extern || variable->size_bytes == 0) {
          dynamic.push_back(variable);
          dynamic_align = std::max(dynamic_align, variable->align);
          return;
        }
        layout.offsets[variable] = aligned(layout.static_bytes, variable->align);
        layout.static_bytes = layout.offsets[variable] + static_cast<std::uint32_t>(variable->size_bytes);
      });
  }
  layout.dynamic_offset = dynamic.empty() ? layout.static_bytes : aligned(layout.static_bytes, dynamic_align);
  for (const ptx::Variable* variable : dynamic) layout.offsets[variable] = layout.dynamic_offset;
  return layout;
}

FunctionLayout lay_out_function(const ptx::Function& function) {
  FunctionLayout layout;
  layout.offsets.assign(function.variables.size(), 0);
  for (std::size_t i = 0; i < function.variables.size(); ++i) {
    const ptx::Variable& variable = function.variables[i];
    const bool of_entry = function.is_entry && i < function.parameter_count;
    if (variable.space != ptx::Space::local && variable.space != ptx::Space::param) continue;
    std::uint32_t& at = of_entry ? layout.entry_bytes : variable.space == ptx::Space::local ? layout.local_bytes : layout.param_bytes;
    layout.offsets[i] = aligned(at, variable.align);
    at = layout.offsets[i] + static_cast<std::uint32_t>(variable.size_bytes);
  }
  layout.local_bytes = aligned(layout.local_bytes, 16);
  layout.param_bytes = aligned(layout.param_bytes, 16);
  return layout;
}

}  // namespace kforge::emulator
