// Running another program to its end, under limits, and leaving nothing behind.
//
// Never a shell: a program and its arguments. Between us and the program stands a small supervisor
// process (a subreaper), so that everything the program started, even what left its process group or
// session, is killed when the program ends, when a limit is reached, or when we die. Nothing of ours
// but the three standard descriptors reaches the program; stdin is a text or empty.
//
// Thread-safe. For hostile candidates the trial room adds a sandbox of its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace kforge {

struct ProcessLimits {
  std::optional<double> wall_seconds = {};         // then the whole tree is killed
  std::optional<std::uint64_t> cpu_seconds = {};   // each process of the tree (RLIMIT_CPU)
  std::optional<std::uint64_t> memory_bytes = {};  // address space of each process of the tree (RLIMIT_AS)
  std::uint64_t output_bytes = 64ull << 20;        // kept of stdout and of stderr each; the rest is dropped
};

struct ProcessRequest {
  std::vector<std::string> arguments;  // [0] is the program: a name for PATH, or a path (from working_directory)
  std::optional<std::vector<std::string>> environment;  // "NAME=value"; by default ours
  std::filesystem::path working_directory;              // by default ours
  std::string stdin_text;
  bool merge_output = false;  // stderr goes where stdout goes, in order
  ProcessLimits limits;
};

struct ProcessResult {
  int exit_status = 0;             // valid if signal is 0
  int signal = 0;                  // that ended the program, or 0
  bool timed_out = false;          // the wall limit was reached
  bool cpu_limit_reached = false;  // ended by SIGXCPU, or by SIGKILL with the CPU limit used up
  bool output_truncated = false;
  std::string out;
  std::string err;
  double wall_seconds = 0;
  double cpu_seconds = 0;  // user and system, with the children it waited for

  bool succeeded() const { return signal == 0 && exit_status == 0 && !timed_out; }
};

// Whatever the program does is a result; an error is that it could not be started: not found or not executable
// (missing), a working directory that cannot be entered (bad_input), no process to be had (failed).
Expected<ProcessResult> run_process(const ProcessRequest& request);

// "exit status 3", "killed by signal 11 (Segmentation fault)", "stopped after 20.0 s": for messages.
std::string describe_end(const ProcessResult& result);

}  // namespace kforge
