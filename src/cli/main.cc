// kforge: parses the command line, runs one command, returns its exit code.
#include <malloc.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <system_error>
#include <variant>

#include <fmt/format.h>

#include "base/held_directory.h"
#include "cli/arguments.h"
#include "cli/commands.h"

namespace kforge::cli {

int run(const Finished& finished) {
  std::fputs(finished.out.c_str(), stdout);
  std::fputs(finished.err.c_str(), stderr);
  return finished.exit_code;
}

// Whether all that was printed has been taken; says so where it was not.
bool output_arrived() {
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return true;
  fmt::print(stderr, "kforge: stdout takes no more{}{}: the output is not complete\n", errno ? ": " : "", errno ? std::strerror(errno) : "");
  return false;
}

int report_error(const Error& error) {
  fmt::print(stderr, "kforge: {}\n", to_string(error));
  return error.code == ErrorCode::bad_input ? 2 : 3;
}

}  // namespace kforge::cli

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);   // where files may not grow, writes fail and are told (EFBIG)
  // A run handles tensors of some MiB again and again: their memory is kept, not given back and cleared anew by the system.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 512 << 20);
  try {
    const auto invocation = kforge::cli::parse_arguments(argc, argv);
    kforge::sweep_held_directories();   // of runs that were killed
    const int code = std::visit([](const auto& arguments) { return kforge::cli::run(arguments); }, invocation);
    return kforge::cli::output_arrived() || std::holds_alternative<kforge::cli::RunArguments>(invocation) ? code : 3;
  } catch (const std::system_error& failed) {   // what {fmt} throws where a stream takes no more
    if (std::ferror(stdout) && !kforge::cli::output_arrived()) return 3;
    std::fprintf(stderr, "kforge: %s\n", failed.what());
    return 3;
  } catch (const std::exception& bug) {
    std::fprintf(stderr, "kforge: this is a bug in Kernel Forge: %s\n", bug.what());
    return 3;
  }
}
