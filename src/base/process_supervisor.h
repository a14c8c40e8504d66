// The supervisor of run_process: a child that starts the program, waits for it, and kills all
// that descends from it. Internal to base.
//
// It is a program of its own (supervisor_main.cc) where that lies beside ours. Elsewhere it runs between fork and _exit
// in a copy of a program that may have many threads, so it uses system calls and its stack only (signal-safety(7)).
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace kforge::internal {

// Descriptors of the supervisor, once it has taken them; those of the program that it is are these from its start.
inline constexpr int kControl = 3, kReport = 4;

enum class LaunchStep : int { none, supervisor, limits, working_directory, program };

struct Launch {
  const char* program;            // full path
  char* const* arguments;         // null-terminated
  char* const* environment;       // null-terminated
  const char* working_directory;  // or null
  int in, out, err;               // become 0, 1, 2 of the program
  int control;                    // read end: closed by our parent (or its death) to end everything
  int report;                     // write end: takes one SupervisorReport
  std::uint64_t cpu_seconds;      // 0 is none
  std::uint64_t memory_bytes;     // 0 is none
};

struct SupervisorReport {
  LaunchStep failed_step = LaunchStep::none;  // what failed before the program ran
  int error_number = 0;                       // why
  int wait_status = 0;                        // as wait4 gives it
  rusage usage{};
};

[[noreturn]] void supervise(const Launch& launch);

}  // namespace kforge::internal
