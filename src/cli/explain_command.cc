// `kforge explain`: a run told step by step, for those who learn.
#include <cstdio>

#include <unistd.h>

#include "cli/commands.h"
#include "cli/documents.h"
#include "cli/report_arguments.h"
#include "cli/terminal.h"
#include "kforge/report.h"

namespace kforge::cli {

int run(const ExplainArguments& arguments) {
  const auto record = read_run_document(arguments.run, arguments.store);
  if (!record) return report_error(record.error());
  TextOptions text;
  text.colour = wants_colour(STDOUT_FILENO);
  std::fputs(explain_text(*record, text).c_str(), stdout);
  return 0;
}

}  // namespace kforge::cli
