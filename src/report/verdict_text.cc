// The verdict as a terminal shows it. The order is that of a reader who wants to mend the kernel: what is wrong and
// where, then the contracts, then the cases, and the answer last, where the eye ends up.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "kforge/report.h"
#include "report/style.h"

namespace kforge {
namespace {

using report::Colour;
using report::Painter;
using report::printable;

Colour colour_of(Status status) {
  switch (status) {
    case Status::passed: return Colour::green;
    case Status::failed: return Colour::red;
    case Status::unknown: return Colour::yellow;
    case Status::off:
    case Status::skipped: return Colour::dim;
  }
  return Colour::dim;
}

std::string contracts_text(const Verdict& v, const TextOptions& options, const Painter& paint) {
  std::string text;
  for (const ContractReport& c : v.contracts) {
    const bool quiet = c.status == Status::passed || c.status == Status::off;
    if (quiet && !options.all_cases && c.measured.empty()) continue;
    text += fmt::format("  {} {:<22} {:<9} {}{}\n", paint(colour_of(c.status), fmt::format("{:<8}", name(c.status))), c.id,
                        name(c.level), printable(c.measured), c.required.empty() || quiet ? "" : " (" + printable(c.required) + ")");
  }
  return text.empty() ? text : paint(Colour::bold, "Contracts") + "\n" + text;
}

std::string size_text(const CaseReport& c) {
  std::string text;
  for (const auto& [key, value] : c.sizes) text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  if (c.values != "declared") text += " values=" + c.values;
  if (c.call > 0) text += fmt::format(" call {}", c.call + 1);
  return text;
}

std::string cases_text(const Verdict& v, const TextOptions& options, const Painter& paint) {
  const auto passed = std::count_if(v.cases.begin(), v.cases.end(), [](const CaseReport& c) { return c.status == Status::passed; });
  if (v.cases.empty()) return {};
  std::string text = fmt::format("{}  {} of {} passed\n", paint(Colour::bold, "Cases"), passed, v.cases.size());
  int shown = 0;
  for (const CaseReport& c : v.cases) {
    if (c.status == Status::passed && !options.all_cases) continue;
    if (++shown > 12 && !options.all_cases) continue;
    text += fmt::format("  {} {} {}\n", paint(colour_of(c.status), fmt::format("{:<8}", name(c.status))), printable(size_text(c)), printable(c.why));
    for (const TensorReport& t : c.tensors)
      if (t.mismatched > 0 || options.all_cases)
        text += fmt::format("           {}: {} of {} elements wrong, max abs {:.3g}, max rel {:.3g}, rel L2 {:.3g}, first worst at {}{}\n", printable(t.name),
                            t.mismatched, t.elements, t.max_abs, t.max_rel, t.rel_l2, t.worst_index,
                            t.undecided > 0 ? fmt::format("; {} hang on the inputs' last bits and were not compared", t.undecided) : "");
  }
  if (shown > 12 && !options.all_cases) text += fmt::format("  ... and {} more (--json shows all)\n", shown - 12);
  return text;
}

std::string measurement_text(const TimeReport& t) {
  std::string text = fmt::format("  {} L2, median of {} calls (95% interval {:.2f}%), spread {:.1f}%, p99 {:.4g} us, first call {:.4g} us, host {:.3g} us a call", t.warm ? "warm" : "cold", t.samples,
                                 100 * t.interval, 100 * t.spread, t.p99_us, t.first_call_us, t.launch_us);
  if (t.graph_us > 0) text += fmt::format(", in a graph {:.4g} us", t.graph_us);
  text += fmt::format("\n  {} calls verified, {:.4g} us a call in bursts by the parent's clock", t.verified, t.back_to_back_us);
  if (t.host_bound) text += "; the host's work takes longer than the kernels: its time counts";
  if (t.discarded > 0) text += fmt::format("; {} calls under heat or power brake dropped", t.discarded);
  if (t.floor_us > 0) text += fmt::format("\n  floor of physics {:.4g} us ({:.0f}% reached)", t.floor_us, 100 * t.floor_us / t.us);
  for (const BaselineTime& b : t.baselines) text += fmt::format("\n  {} {:.4g} us: {:.2f} times as fast", printable(b.name), b.us, b.us / t.us);
  const TimeConditions& c = t.conditions;
  return text + fmt::format("\n  {}, driver {}, CUDA {}, SM {:.0f} MHz, memory {:.0f} MHz, {:.0f} C, {:.0f} W{}\n", printable(c.gpu), printable(c.driver), printable(c.toolkit), c.sm_mhz, c.memory_mhz, c.temperature_c,
                            c.power_w, c.power_capped ? ", at its power cap" : "");
}

std::string answer_text(const Verdict& v, const Painter& paint) {
  const Colour colour = v.status == VerdictStatus::accepted ? Colour::green : v.status == VerdictStatus::rejected ? Colour::red : Colour::yellow;
  std::string text;
  for (const ResourceReport& r : v.resources)
    text += fmt::format("  {}: {} registers, {} bytes shared, {} bytes spilled, {} warps per SM (limited by {})\n", printable(r.kernel),
                        r.registers, r.shared_bytes, r.spill_bytes, r.warps_per_sm, printable(r.limiter));
  if (!text.empty()) text = paint(Colour::bold, "Kernels") + "\n" + text;
  if (v.time) {
    text += paint(Colour::bold, "Time") + fmt::format("  {:.4g} us, {}\n", v.time->us, printable(v.time->source));
    if (!v.time->bottleneck.empty()) text += fmt::format("  bound by {}\n", printable(v.time->bottleneck));
    if (v.time->source == "measured") text += measurement_text(*v.time);
  }
  if (!v.unproven.empty()) {
    text += paint(Colour::bold, "Unproven") + "\n";
    for (const std::string& item : v.unproven) text += "  " + printable(item) + "\n";
  }
  text += fmt::format("{} {} on {}: {} ({:.1f} s)\n", paint(colour, name(v.status)), printable(v.candidate), printable(v.device), printable(v.why), v.seconds);
  return text;
}

}  // namespace

std::string to_text(const Verdict& verdict, const TextOptions& options) {
  const Painter paint(options.colour);
  return to_text(verdict.findings, options) + contracts_text(verdict, options, paint) + cases_text(verdict, options, paint) +
         answer_text(verdict, paint);
}

}  // namespace kforge
