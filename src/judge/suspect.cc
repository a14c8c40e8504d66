#include "judge/suspect.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "ptx/table.h"

namespace kforge::judge {
namespace {

using evidence::Metric;
using gpu::Suspect;

struct TermSuspect { std::string_view term; Suspect suspect; };
constexpr TermSuspect kTerms[] = {{"dram", Suspect::memory}, {"l2", Suspect::memory}, {"l1", Suspect::memory}, {"atomics", Suspect::memory}, {"lsu", Suspect::memory},
                                  {"shared", Suspect::shared}, {"latency", Suspect::latency}, {"launch", Suspect::latency}, {"tensor", Suspect::tensor}};   // all others: pipes

bool has_matrix_instructions(const ptx::Module& module) {
  return std::any_of(module.functions.begin(), module.functions.end(), [](const ptx::Function& function) {
    return std::any_of(function.instructions.begin(), function.instructions.end(),
                       [](const ptx::Instruction& one) { return ptx::instruction_table()[one.form].klass == ptx::InstructionClass::matrix; });
  });
}

bool conflicts_double(const std::vector<evidence::KernelProfile>& kernels) {
  double wavefronts = 0, ideal = 0;
  for (const evidence::KernelProfile& kernel : kernels) {
    wavefronts += static_cast<double>(kernel.totals[Metric::shared_wavefronts]);
    ideal += static_cast<double>(kernel.totals[Metric::shared_wavefronts_ideal]);
  }
  return ideal > 0 && wavefronts >= 2 * ideal;
}

}  // namespace

std::optional<Suspect> suspected(const hardware::ModelledTime& time, const std::vector<evidence::KernelProfile>& kernels, const ptx::Module* module) {
  if (module && has_matrix_instructions(*module)) return Suspect::tensor;
  if (conflicts_double(kernels)) return Suspect::shared;
  if (time.terms.empty()) return std::nullopt;
  const auto known = std::find_if(std::begin(kTerms), std::end(kTerms), [&](const TermSuspect& one) { return one.term == time.terms.front().name; });
  return known == std::end(kTerms) ? Suspect::compute : known->suspect;
}

}  // namespace kforge::judge
