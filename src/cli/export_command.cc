// `kforge export`: a winner as a folder that builds and tests itself.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/report_arguments.h"
#include "kforge/export.h"

namespace kforge::cli {

int run(const ExportArguments& arguments) {
  std::vector<RunRecord> runs;
  for (const std::string& name : arguments.runs) {
    auto record = read_run_document(name, arguments.store);
    if (!record) return report_error(record.error());
    runs.push_back(std::move(*record));
  }
  const auto done = export_runs(runs, arguments.options);
  if (!done) return report_error(done.error());
  if (arguments.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"folder", done->folder}, {"files", done->files}, {"has_test", done->has_test}}.dump(2));
    return 0;
  }
  for (const std::string& file : done->files) fmt::print("{}/{}\n", done->folder, file);
  fmt::print("build and test: cmake -S {0} -B {0}/build && cmake --build {0}/build{1}\n", done->folder, done->has_test ? fmt::format(" && ctest --test-dir {}/build", done->folder) : "");
  return 0;
}

}  // namespace kforge::cli
