// The command line as values: one struct a command. Only arguments.cc knows the parser library.
#pragma once

#include <string>
#include <variant>

#include "kforge/check.h"

namespace kforge::cli {

struct CheckArguments {
  CheckOptions options;
  bool json = false;
  bool all = false;          // also what passed
};

struct GpusArguments {
  std::string name;          // one GPU; "" lists all
  bool json = false;
};

struct DoctorArguments {
  bool json = false;
};

struct Finished {            // --help, --version, or a wrong call: already answered
  int exit_code = 0;
  std::string out, err;
};

using Invocation = std::variant<CheckArguments, GpusArguments, DoctorArguments, Finished>;

// `kforge TASK.toml ...` is `kforge check TASK.toml ...`.
Invocation parse_arguments(int argc, const char* const* argv);

}  // namespace kforge::cli
