// From a candidate's source to what is run and judged: a shared object with a trampoline, its PTX, cubin and resources.
//
// Everything is kept under one content-addressed cache entry (key: source and every file it includes, flags, target, compiler, and our
// version), written atomically, safe under concurrent use and under a kill in mid-write. A broken entry is rebuilt, never trusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/costs.h"
#include "base/error.h"

namespace kforge::build {

enum class Severity : std::uint8_t { note, warning, error };

struct Diagnostic {
  std::string file;
  int line = 0, column = 0;
  Severity severity = Severity::error;
  std::string message;
  std::string tool;          // "nvcc", "ptxas", "nvrtc", "c++", "ld"
};

// What ptxas reports for one kernel.
struct KernelReport {
  std::string kernel;        // mangled
  int registers = 0;
  int static_shared_bytes = 0, constant_bytes = 0, stack_bytes = 0, barriers = 0;
  int spill_store_bytes = 0, spill_load_bytes = 0;
};

// The launcher's parameters as the task declares them: compiled into the trampoline and checked against the
// candidate's own declaration by static assertions.
struct Parameter {
  enum class Kind : std::uint8_t { pointer, size, scalar } kind = Kind::pointer;
  std::string name;
  std::string cuda_type;     // "float", "__half", "int", "long long"
  bool is_const = false;     // pointer to an `in` tensor
};

struct Interface {
  std::string function;
  std::vector<Parameter> parameters;   // without the stream
};

struct Limits {
  double seconds = 120;                      // of the processor, for each process of a build; the clock on the wall is the machine's affair (compile.h)
  std::uint64_t memory_bytes = 8ull << 30;   // address space of each of them
};

class CompileServer;

struct CandidateRequest {
  std::string source;                 // path of the .cu
  Interface interface;
  int sm = 90;
  std::string target;                 // build_candidate fills it in: target.h
  std::vector<std::string> flags;     // of the task, added to -O3 -std=c++17 -lineinfo
  Limits limits;
  CompileServer* server = nullptr;    // makes the same of it in less time, where many candidates of a kind are built
  CostLedger* costs = nullptr;        // takes what the compilers used; may be null
};

struct Artefact {
  bool ok = false;                    // false: `diagnostics` says why (the candidate's fault)
  std::string failure;                // "", "compile", "interface", "limit", "crash" (of the compiler): which contract it is (build or interface)
  std::string shared_object;          // path; exports kforge_call(void** arguments, void* stream) -> int
  std::string ptx_path, cubin_path;
  std::vector<KernelReport> kernels;
  std::vector<Diagnostic> diagnostics;
  std::vector<std::string> forbidden_symbols;   // defined by the object, but belonging to CUDA, libc or the worker
  std::vector<std::string> forbidden_imports;   // asked for by the object, and reaching past a launcher's work: "mprotect (changes what memory may be used for)"
  bool starts_threads = false;                  // the object asks for a function that does
  std::string key;
  bool from_cache = false;
  double seconds = 0;
};

// Errors (not the candidate's fault): missing (no nvcc), failed (cache folder full, a compiler that was killed, ...), bad_input (no such file; flags that the compilers refuse).
Expected<Artefact> build_candidate(const CandidateRequest& request);

struct ReferenceRequest {
  std::string source;                 // path of the .cpp
  Interface interface;                // same arguments on host pointers, no stream, returns nothing; f32 and narrower float tensors are `float`
  Limits limits;
  CostLedger* costs = nullptr;        // as above
};
// Same trampoline, built by the host compiler. A reference that does not compile is bad_input with its first diagnostic.
Expected<Artefact> build_reference(const ReferenceRequest& request);

// PTX of device code alone by NVRTC (0.1 s where nvcc takes 2). Errors: missing when there is no NVRTC.
struct NvrtcResult { bool ok = false; std::string ptx; std::vector<Diagnostic> diagnostics; };
Expected<NvrtcResult> compile_device_code(const std::string& source, int sm, const std::vector<std::string>& flags);

std::vector<Diagnostic> parse_diagnostics(std::string_view tool_output);
std::vector<KernelReport> parse_ptxas_report(std::string_view tool_output);

struct Toolchain { std::string nvcc, version, host_compiler, nvrtc; };
// Where the tools are. Errors: missing, with how to get them.
Expected<Toolchain> find_toolchain();

}  // namespace kforge::build
