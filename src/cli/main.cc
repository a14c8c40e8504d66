// kforge: parses the command line, runs one command, returns its exit code.
#include <malloc.h>

#include <cstdio>
#include <exception>
#include <variant>

#include <fmt/format.h>

#include "cli/arguments.h"
#include "cli/commands.h"

namespace kforge::cli {

int run(const Finished& finished) {
  std::fputs(finished.out.c_str(), stdout);
  std::fputs(finished.err.c_str(), stderr);
  return finished.exit_code;
}

int report_error(const Error& error) {
  fmt::print(stderr, "kforge: {}\n", to_string(error));
  return error.code == ErrorCode::bad_input ? 2 : 3;
}

}  // namespace kforge::cli

int main(int argc, char** argv) {
  // A run handles tensors of some MiB again and again: their memory is kept, not given back and cleared anew by the system.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 512 << 20);
  try {
    const auto invocation = kforge::cli::parse_arguments(argc, argv);
    return std::visit([](const auto& arguments) { return kforge::cli::run(arguments); }, invocation);
  } catch (const std::exception& bug) {
    std::fprintf(stderr, "kforge: this is a bug in Kernel Forge: %s\n", bug.what());
    return 3;
  }
}
