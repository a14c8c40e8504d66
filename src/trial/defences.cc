#include "trial/defences.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"

namespace kforge::trial {
namespace {

constexpr std::array<DefenceRow, 25> kTable{{
    {Defence::files, "files", "the object and the system's libraries are all that can be read"},
    {Defence::privileges, "privileges", "there are no privileges and none to gain"},
    {Defence::calls, "calls", "system calls that a computation does not make end the process"},
    {Defence::symbols, "symbols", "the object offers no function of CUDA, the C library or the worker"},
    {Defence::imports, "imports", "the object asks for no function that reaches past the launcher's own work"},
    {Defence::libraries, "libraries", "kernels are the candidate's own"},
    {Defence::allow, "allow", "the launcher uses only what [interface] allow permits"},
    {Defence::order, "order", "all work is ordered before the given stream, and issued before the launcher returns"},
    {Defence::coverage, "coverage", "kernels write the outputs, not the host"},
    {Defence::inputs, "inputs", "inputs are compared after the call"},
    {Defence::poison, "poison", "outputs hold a pattern before each call"},
    {Defence::repeat, "repeat", "calls are repeated at the same addresses with other inputs"},
    {Defence::sizes, "sizes", "sizes beside the task's own are tried"},
    {Defence::seeds, "seeds", "some inputs are drawn from a seed that nobody can know before"},
    {Defence::degenerate, "degenerate", "an output that is zero, constant or a copy is wrong where the reference is not"},
    {Defence::precision, "precision", "the arithmetic is no narrower than agreed, whatever the tolerance"},
    {Defence::quiet, "quiet", "outputs are taken when the timed interval ends, and the device is quiet then"},
    {Defence::verify, "verify", "outputs of timed calls are compared"},
    {Defence::fresh, "fresh", "calls are timed on inputs that were never seen before"},
    {Defence::clock, "clock", "this process's clock confirms the events"},
    {Defence::witness, "witness", "outputs of bursts lie in another process, which reads them when the candidate's says that it is done"},
    {Defence::physics, "physics", "no time is below what the bytes that must move allow"},
    {Defence::persistence, "persistence", "nothing of a call stays in the L2 cache for the next"},
    {Defence::manners, "manners", "the given stream, the device and the processor's rounding are left as they were found"},
    {Defence::threads, "threads", "no thread of the candidate's is left when the launcher has returned"},
}};

}  // namespace

std::span<const DefenceRow> defence_table() { return kTable; }

Expected<Defences> Defences::without(std::string_view names) {
  Defences out;
  for (const std::string_view name : split(names, ',')) {
    if (name.empty()) continue;
    const auto row = std::find_if(kTable.begin(), kTable.end(), [&](const DefenceRow& r) { return r.name == name; });
    if (row == kTable.end()) return fail(ErrorCode::bad_input, fmt::format("'{}' is no defence", name), {}, "docs/honesty.md lists what KFORGE_DEFENCES_OFF takes");
    out.off_[static_cast<std::size_t>(row->defence)] = true;
  }
  return out;
}

std::vector<std::string> Defences::names_off() const {
  std::vector<std::string> out;
  for (const DefenceRow& row : kTable)
    if (!on(row.defence)) out.emplace_back(row.name);
  return out;
}

}  // namespace kforge::trial
