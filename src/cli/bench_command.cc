// `kforge bench`: times kernels against each other on a real GPU.
#include <algorithm>
#include <cstdio>

#include "cli/commands.h"
#include "cli/terminal.h"

namespace kforge::cli {

int run(const BenchArguments& arguments) {
  BenchOptions options = arguments.options;
  const auto report = [&] {
    Progress progress;
    options.progress = [&](std::string_view text) { progress.step(text); };
    return bench(options);
  }();
  if (!report) return report_error(report.error());
  std::fputs((arguments.json ? to_json(*report) : arguments.csv ? to_csv(*report) : to_text(*report)).c_str(), stdout);
  const bool clean = std::all_of(report->rows.begin(), report->rows.end(), [](const BenchRow& row) { return row.failure.empty() && row.dishonest.empty() && row.right != "wrong"; });
  return clean ? 0 : 1;
}

}  // namespace kforge::cli
