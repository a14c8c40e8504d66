// kforge-supervisor: supervise() in a process of its own. run_process starts it in place of a copy of itself, whose pages would be copied to be thrown away.
//
//   kforge-supervisor CPU_SECONDS MEMORY_BYTES FOLDER PROGRAM ARGUMENT0...
//
// Descriptors: 0, 1, 2 of the program, 3 the control pipe, 4 the report. The environment is the program's.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "base/process_supervisor.h"

int main(int argc, char** argv) {
  ::signal(SIGXFSZ, SIG_IGN);   // the program starts with signals as they are by default
  constexpr int kOwnArguments = 5;   // before the program's
  if (argc <= kOwnArguments) return 2;   // started by Kernel Forge alone
  kforge::internal::supervise({
      .program = argv[4],
      .arguments = argv + kOwnArguments,
      .environment = environ,
      .working_directory = *argv[3] ? argv[3] : nullptr,
      .in = 0,
      .out = 1,
      .err = 2,
      .control = kforge::internal::kControl,
      .report = kforge::internal::kReport,
      .cpu_seconds = std::strtoull(argv[1], nullptr, 10),
      .memory_bytes = std::strtoull(argv[2], nullptr, 10),
  });
}
