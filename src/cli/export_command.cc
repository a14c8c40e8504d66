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
    if (record->winner.empty()) {   // rightly asked, and the answer is no (design.md, "Verdict")
      static_cast<void>(report_error({ErrorCode::failed, "run " + record->id + " has no winner", {}, "only an accepted candidate is delivered; kforge report shows why none was"}));
      return 1;
    }
    runs.push_back(std::move(*record));
  }
  const auto done = export_runs(runs, arguments.options);
  if (!done) return report_error(done.error());
  if (arguments.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"folder", done->folder}, {"files", done->files}, {"has_test", done->has_test}, {"build", done->build_command}, {"test", done->test_command}, {"test_emulated", done->emulated_test_command}}.dump(2));
    return 0;
  }
  for (const std::string& file : done->files) fmt::print("{}/{}\n", done->folder, file);
  fmt::print("build it:          {}\n", done->build_command);
  if (done->has_test) fmt::print("test it on a GPU:  {}\n", done->test_command);
  if (!done->emulated_test_command.empty()) fmt::print("test it without:   {}\n", done->emulated_test_command);
  return 0;
}

}  // namespace kforge::cli
