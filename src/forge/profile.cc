// `profile`: what a check counted, as values for people and programs.
#include "kforge/profile.h"

#include "base/files.h"
#include "build/disassembler.h"
#include "forge/judge_call.h"
#include "forge/kernel_figures.h"
#include "gpu/counter_sets.h"

namespace kforge {

Expected<Profile> profile(const CheckOptions& options) {
  if (options.device.starts_with("cmd:"))
    return fail(ErrorCode::unsupported, "a worker elsewhere answers with its verdict alone", {}, "profile on this machine: without --device, or with --device gpu:N");
  CheckOptions call = options;
  call.counters = options.device.starts_with("gpu");   // where warps wait
  auto judged = forge::judge_call(call);
  if (!judged) return Unexpected(judged.error());
  Profile out;
  out.verdict = std::move(judged->verdict);
  out.task = out.verdict.task;
  out.candidate = out.verdict.candidate;
  out.gpu = out.verdict.gpu;
  out.device = out.verdict.device;
  out.ptx = std::move(judged->ptx);
  if (auto text = read_file(out.candidate, 4 << 20)) out.candidate_text = std::move(*text);
  out.kernels = forge::figures_of(judged->profiles, out.candidate);
  for (const trial::CounterProfile& counted : judged->counters) {
    forge::add_stalls(out.kernels, counted.stalls, out.candidate);
    for (const gpu::CounterRow& row : counted.kernels)
      out.counters.push_back({row.kernel, counted.label, counted.suspect ? std::string(gpu::counter_set(*counted.suspect).name) : "", row.metrics});
  }
  return out;
}

Expected<std::string> machine_code(std::string_view ptx) { return build::disassemble(ptx); }

}  // namespace kforge
