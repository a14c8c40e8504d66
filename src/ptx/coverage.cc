#include "ptx/coverage.h"

#include <fmt/format.h>

#include "ptx/table.h"

namespace kforge::ptx {
namespace {

constexpr std::string_view kExecNames[] = {
#define KFORGE_EXEC(name) #name,
#include "ptx/exec.def"
#undef KFORGE_EXEC
};

std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out.empty() ? " " : "`" + out + "`";
}

}  // namespace

std::string coverage_document() {
  std::size_t executed = 0;
  for (const Form& form : instruction_table()) executed += form.exec != Exec::unsupported;
  std::string out = "# PTX coverage\n\nWritten from `src/ptx/instructions.def` by `ptx_test` (set `KFORGE_REBASE=1`); do not edit.\n\n";
  out += fmt::format("{} forms are read and checked; {} of them have an execution family, the others (`unsupported`) are read only.\n"
                     "The head of `src/ptx/instructions.def` explains the syntax, types and operands columns.\n\n",
                     instruction_table().size(), executed);
  out += "| manual | opcode | syntax | types | operands | PTX | sm | execution |\n|---|---|---|---|---|---|---|---|\n";
  for (const Form& form : instruction_table())
    out += fmt::format("| {} | `{}` | {} | {} | {} | {}.{} | {} | {} |\n", form.section, form.opcode, cell(form.syntax), cell(form.types), cell(form.operands),
                       form.ptx_version / 10, form.ptx_version % 10, form.sm, kExecNames[static_cast<std::size_t>(form.exec)]);
  return out;
}

}  // namespace kforge::ptx
