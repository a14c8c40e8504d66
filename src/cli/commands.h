// The commands: one file each, one function each. They print, and they return the exit code (design.md, "Verdict").
#pragma once

#include "cli/arguments.h"
#include "kforge/error.h"

namespace kforge::cli {

int run(const OptimizeArguments& arguments);
int run(const CheckArguments& arguments);
int run(const ProfileArguments& arguments);
int run(const RunArguments& arguments);
int run(const BenchArguments& arguments);
int run(const WorkerArguments& arguments);
int run(const PlanArguments& arguments);
int run(const RunsArguments& arguments);
int run(const GpusArguments& arguments);
int run(const DoctorArguments& arguments);
int run(const EvalArguments& arguments);
int run(const DatasetArguments& arguments);
int run(const McpArguments& arguments);
int run(const Finished& finished);

// `check` with --watch; 0 when it was interrupted.
int watch_and_judge(const CheckArguments& arguments);

// Prints the error on stderr; the exit code of its kind: 2 for a wrong call or task, else 3.
int report_error(const Error& error);

}  // namespace kforge::cli
