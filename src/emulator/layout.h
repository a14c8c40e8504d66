// Where the variables of a kernel live: static and dynamic shared memory, local memory and param space of each function.
#pragma once

#include <map>

#include "emulator/code.h"

namespace kforge::emulator {

// Functions that the kernel may run, the entry first; indices into Module::functions.
std::vector<std::uint32_t> reachable_functions(const ptx::Module& module, std::uint32_t entry);

struct SharedLayout {
  std::map<const ptx::Variable*, std::uint32_t> offsets;   // of static and extern variables that the kernel names
  std::uint32_t static_bytes = 0;
  std::uint32_t dynamic_offset = 0;                        // where extern shared memory starts
};
SharedLayout lay_out_shared(const ptx::Module& module, const std::vector<std::uint32_t>& functions);

struct FunctionLayout {
  std::vector<std::uint32_t> offsets;   // by variable: local, param (an entry's parameters: in its buffer)
  std::uint32_t local_bytes = 0, param_bytes = 0, entry_bytes = 0;
};
FunctionLayout lay_out_function(const ptx::Function& function);

// The variable that an operand names; null: none.
const ptx::Variable* variable_of(const ptx::Module& module, const ptx::Function& function, const ptx::Operand& operand);

}  // namespace kforge::emulator
