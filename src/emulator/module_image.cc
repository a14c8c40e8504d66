#include "emulator/module_image.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>

namespace kforge::emulator {
namespace {

std::optional<std::uint64_t> address_of_symbol(const LoadedModule& loaded, const std::string& symbol) {
  const ptx::Module& module = *loaded.module;
  for (std::size_t i = 0; i < module.variables.size(); ++i)
    if (module.variables[i].name == symbol && loaded.variables[i] != nullptr) return loaded.variables[i]->base;
  for (std::size_t i = 0; i < module.functions.size(); ++i)
    if (module.functions[i].name == symbol) return kFunctionTag + i;
  return std::nullopt;
}

Expected<void> initialise(const LoadedModule& loaded, const ptx::Variable& variable, Allocation& allocation) {
  if (!variable.initial.empty()) std::memcpy(allocation.data, variable.initial.data(), std::min<std::size_t>(variable.initial.size(), allocation.size));
  for (const ptx::Variable::Relocation& relocation : variable.relocations) {
    const auto address = address_of_symbol(loaded, relocation.symbol);
    if (!address.has_value())
      return fail(ErrorCode::bad_input, fmt::format("the initial value of `{}` names `{}`, which the module does not define", variable.name, relocation.symbol));
    if (relocation.offset + relocation.bytes > allocation.size) return fail(ErrorCode::bad_input, fmt::format("an address in `{}` lies outside it", variable.name));
    const std::uint64_t value = *address + static_cast<std::uint64_t>(relocation.addend);
    std::memcpy(allocation.data + relocation.offset, &value, std::min<std::size_t>(relocation.bytes, sizeof value));
  }
  return {};
}

}  // namespace

Expected<void> create_variables(LoadedModule& loaded, Memory& memory) {
  const ptx::Module& module = *loaded.module;
  loaded.variables.assign(module.variables.size(), nullptr);
  for (std::size_t i = 0; i < module.variables.size(); ++i) {
    const ptx::Variable& variable = module.variables[i];
    if (variable.space != ptx::Space::global && variable.space != ptx::Space::constant) continue;
    const MemoryKind kind = variable.space == ptx::Space::constant ? MemoryKind::constant : MemoryKind::module_variable;
    loaded.variables[i] = memory.allocate(variable.size_bytes, kind, variable.name);
    if (loaded.variables[i] == nullptr)
      return fail(ErrorCode::limit, fmt::format("no device memory left for the module's variable `{}` of {} bytes", variable.name, variable.size_bytes));
  }
  for (std::size_t i = 0; i < module.variables.size(); ++i)
    if (loaded.variables[i] != nullptr)
      if (auto done = initialise(loaded, module.variables[i], *loaded.variables[i]); !done) return done;
  return {};
}

}  // namespace kforge::emulator
