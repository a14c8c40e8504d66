// Any CUDA program on the emulated GPU: `kforge run` as a function.
//
// The program runs in a process of its own with our standard input and outputs; it is trusted as any program that a user starts.
// Sources are built by nvcc against the shared CUDA runtime and kept in the cache; an existing program must link the shared
// libcudart.so.13 or .12 (or the driver's libcuda.so.1), whose place ours takes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kforge/error.h"
#include "kforge/verdict.h"

namespace kforge {

struct ProgramOptions {
  std::vector<std::string> files;        // sources, or one program
  std::vector<std::string> build_flags;  // for nvcc: -I, -D, -std=, ...
  std::vector<std::string> arguments;    // the program's own
  std::string gpu = "h200";              // data sheet by name or path
  std::string checks = "fast";           // none, fast, all, or names of program_checks(), comma-separated
  bool profile = false;
  std::uint64_t seed = 1;                // of the warp schedule
  std::uint64_t limit_instructions = 0;  // thread-instructions on the device; 0: none
  double limit_seconds = 0;              // of the program, build not counted; 0: none
};

struct ProgramCheck {
  std::string name;                      // "bounds"
  std::string what;                      // one line for people
  bool fast = false;                     // part of "fast": costs next to nothing
};
const std::vector<ProgramCheck>& program_checks();

struct ProgramRun {
  int exit_code = 0;                     // what `kforge run` answers: the program's (128 + N after signal N), 86 after errors among the findings, 125
  bool started = false;                  // false: it did not build, and `build_output` says why
  std::string build_output;
  std::string unsupported;               // an instruction that the emulated GPU cannot execute and the program ran into; "" when none
  std::vector<std::string> notes;        // for people: how it ended, what went unchecked
  std::vector<Finding> findings;
  std::uint64_t launches = 0, thread_instructions = 0;
  std::uint64_t kernels = 0;             // distinct
  double device_seconds = 0;             // in launches
  double program_seconds = 0, build_seconds = 0;
  std::string profile_json;              // schema kforge.profile/1, with `profile`
};

// Errors: bad_input (no such file, GPU or check), missing, unsupported (a program that links the runtime statically), failed. What the
// program does wrong is no error.
Expected<ProgramRun> run_program(const ProgramOptions& options);

}  // namespace kforge
