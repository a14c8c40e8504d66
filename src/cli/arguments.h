// The command line as values: one struct a command. Only arguments.cc knows the parser library.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cli/report_arguments.h"
#include "kforge/bench.h"
#include "kforge/check.h"
#include "kforge/eval.h"
#include "kforge/optimize.h"
#include "kforge/program.h"
#include "mcp/mcp.h"

namespace kforge::cli {

struct CheckArguments {
  CheckOptions options;
  std::string out;           // where the candidate is a folder: of the verdicts
  std::uint64_t jobs = 0;
  bool json = false;
  bool all = false;          // also what passed
  bool watch = false;        // judge again whenever a file changes
};

struct ProfileArguments {
  CheckOptions options;
  std::string format = "text";   // or json, markdown, html
  bool all = false;          // every metric of every kernel
  std::string code;          // "ptx" or "sass": the code alone, no figures
};

struct BenchArguments {
  BenchOptions options;
  bool json = false, csv = false;
};

struct WorkerArguments {
  std::string device;
};

struct OptimizeArguments {
  OptimizeOptions options;
  bool json = false;
  std::string review;        // of plan, candidate, feedback, with commas between; "" none
  std::string output;        // the winner's file, too; ""
};

struct EvalArguments {
  EvalOptions options;
  bool json = false;
};

struct RunArguments {
  ProgramOptions options;
  std::string profile;       // file for the profile; ""
  bool stats = false;
};

struct RunsArguments {
  std::string run;           // one of them; "" lists all
  std::string store;
  std::string training_records;   // file to write them to; ""
  std::string messages;           // file to write its exchanges with language models to; ""
  bool tree = false, steps = false, costs = false, json = false;
};

struct GpusArguments {
  std::string name;          // one GPU; "" lists all
  bool here = false;         // the data sheet of this machine's GPU
  unsigned index = 0;        // which one
  bool json = false;
};

struct McpArguments {
  mcp::ServerOptions options;
  bool http = false;
  std::string token_file;
};

struct DoctorArguments {
  bool json = false;
};

struct PlanArguments {
  std::string task, gpu;
  std::string output;        // file for the plan as TOML; "" prints it for people
  bool json = false;
};

struct Finished {            // --help, --version, or a wrong call: already answered
  int exit_code = 0;
  std::string out, err;
};

using Invocation = std::variant<Finished, OptimizeArguments, CheckArguments, ProfileArguments, BenchArguments, WorkerArguments, RunArguments, PlanArguments, RunsArguments, GpusArguments, DoctorArguments, McpArguments, KnowledgeArguments, ReportArguments, ExplainArguments, ExportArguments, DatasetArguments, EvalArguments,
                                CiArguments>;

// `kforge TASK.toml ...` is `kforge optimize TASK.toml ...`.
Invocation parse_arguments(int argc, const char* const* argv);

}  // namespace kforge::cli
