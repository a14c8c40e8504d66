// `kforge export dataset`: records and preferences for those who train models.
#include <cstdio>

#include "base/files.h"
#include "base/writable.h"
#include "cli/commands.h"
#include "cli/report_arguments.h"
#include "kforge/learn.h"

namespace kforge::cli {

int run(const DatasetArguments& arguments) {
  if (arguments.output != "-")
    if (const auto writable = can_be_written(arguments.output); !writable) return report_error(writable.error());
  const auto lines = arguments.preferences ? dataset_preferences(arguments.store, arguments.runs) : dataset_records(arguments.store, arguments.runs);
  if (!lines) return report_error(lines.error());
  if (arguments.output == "-") {
    const bool written = std::fwrite(lines->data(), 1, lines->size(), stdout) == lines->size() && std::fflush(stdout) == 0;
    return written ? 0 : report_error({ErrorCode::failed, "the records could not be written", {"stdout", 0, 0}, ""});
  }
  const auto written = write_file_atomic(arguments.output, *lines);
  return written ? 0 : report_error(written.error());
}

}  // namespace kforge::cli
