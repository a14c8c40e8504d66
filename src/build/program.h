// Whole CUDA programs: sources that belong together become one executable that links the shared CUDA runtime, so that ours can take
// its place. Kept in the cache of builds, keyed by every file that was read.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "build/builder.h"

namespace kforge::build {

struct ProgramRequest {
  std::vector<std::string> sources;   // .cu, .cpp, .cc, .cxx, .c; objects (.o) and libraries (.a, .so) are linked
  std::vector<std::string> flags;     // the user's, for compiling and linking; relative paths mean the current folder
  int sm = 90;
  Limits limits{.seconds = 600};
};

struct Program {
  bool ok = false;
  std::string path;                   // of the executable
  std::string output;                 // of the compilers when it did not build
  bool from_cache = false;
  double seconds = 0;
};

bool is_program_source(const std::string& path);

// Errors: bad_input (no such file), missing (no nvcc), failed (the cache cannot be written).
Expected<Program> build_program(const ProgramRequest& request);

// What a finished executable or library says about the CUDA that it uses.
struct BinaryFacts {
  bool elf = false;                   // a 64-bit ELF file at all; scripts are none
  int runtime = 0;                    // 13 for libcudart.so.13; 0: it does not name one
  bool driver = false;                // names libcuda.so.1
  bool device_code = false;           // has a fatbin
  bool static_runtime = false;        // libcudart_static.a is inside
  std::vector<std::string> libraries; // DT_NEEDED
};
// Errors: bad_input (no such file).
Expected<BinaryFacts> inspect_binary(const std::string& path);

}  // namespace kforge::build
