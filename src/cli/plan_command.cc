// `kforge plan`: what a task computes, what bounds it and what would be tried.
#include <cstdio>

#include <fmt/format.h>

#include "base/files.h"
#include "base/writable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "kforge/plan.h"

namespace kforge::cli {
namespace {

std::string sizes_text(const PlanSize& size) {
  std::string out;
  for (const auto& [name, value] : size.sizes) out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value);
  return out.empty() ? "the one size" : out;
}

void print(const Plan& plan) {
  fmt::print("{} on {}: {} ({:.0f}% sure: {})\n\nSizes\n", plan.task, plan.gpu, plan.guess.pattern, plan.guess.confidence * 100, plan.guess.why);
  for (const PlanSize& size : plan.sizes) {
    fmt::print("  {}\n    {} operations, {} in, {} out; bound by {}\n", sizes_text(size), human_count(size.operations), human_bytes(size.read_bytes),
               human_bytes(size.write_bytes), size.bound.empty() ? "nothing" : size.bound);
    fmt::print("    floor {:.4g} us, target {:.4g} us\n", size.floor_us, size.target_us);
  }
  fmt::print("\nSteps, in the order of trying\n");
  int number = 0;
  for (const PlanStep& step : plan.steps) {
    fmt::print("  {:>2}. {}  [{}]{}\n", ++number, step.title, step.id, step.enabled ? "" : "  off");
    fmt::print("      {}; up to {:.3g} times{}\n", step.why, step.expected_gain, step.rule.empty() ? "" : fmt::format(" (rule {})", step.rule));
  }
  if (plan.notes.empty()) return;
  fmt::print("\nNotes\n");
  for (const std::string& note : plan.notes) fmt::print("  - {}\n", note);
}

}  // namespace

int run(const PlanArguments& arguments) {
  if (!arguments.output.empty())
    if (const auto writable = can_be_written(arguments.output); !writable) return report_error(writable.error());
  const auto made = plan(arguments.task, arguments.gpu);
  if (!made) return report_error(made.error());
  if (!arguments.output.empty()) {
    if (const auto written = write_file_atomic(arguments.output, to_toml(*made)); !written) return report_error(written.error());
    fmt::print(stderr, "wrote {}: edit it, then kforge optimize {} --plan {}\n", arguments.output, arguments.task, arguments.output);
  }
  if (arguments.json) fmt::print("{}", to_json(*made));
  else if (arguments.output.empty()) print(*made);
  return 0;
}

}  // namespace kforge::cli
