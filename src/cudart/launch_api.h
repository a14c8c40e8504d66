// Launches: the configuration is checked as CUDA checks it, the arguments are laid out as the kernel's parameters, and the
// grid runs. CUDA 13 answers "invalid argument" for every configuration that the device can never run, and 701 for registers
// (seen on an H200); the log says in words what was wrong (contract launch.limits).
#pragma once

#include "cudart/abi.h"
#include "cudart/context.h"

namespace kforge::cudart {

struct LaunchShape {
  Dim3 grid, block;
  Dim3 cluster{0, 0, 0};                 // zeros: none asked for
  std::size_t dynamic_shared_bytes = 0;
  bool cooperative = false;
  bool programmatic = false;             // may begin before the work before it has ended (programmatic dependent launch)
  bool has_event = false;                // that is recorded when its blocks let dependents start: what it orders is not followed
};

// Takes one launch attribute, of cudaLaunchKernelEx or cuLaunchKernelEx.
void take_attribute(const LaunchAttribute& attribute, LaunchShape& shape);

// `kernel` is a host function's address or a cudaKernel_t.
Status launch(Context& context, const void* kernel, const LaunchShape& shape, void** arguments, void* stream, void** extra = nullptr);
Status launch_ex(Context& context, const LaunchConfig* config, const void* kernel, void** arguments, void* stream);

// <<<...>>> is a push, then the stub's pop and launch.
Status push_configuration(Dim3 grid, Dim3 block, std::size_t shared, void* stream);
Status pop_configuration(Dim3* grid, Dim3* block, std::size_t* shared, void** stream);

// The kernel with its image loaded. cudaErrorInvalidDeviceFunction for null, cudaErrorInvalidResourceHandle for a stranger.
Status find_kernel(Context& context, const void* kernel, KernelRecord*& record);
const ptx::Function* function_of(const KernelRecord& record);
// Dynamic shared bytes that a launch may ask for: what cudaFuncSetAttribute allowed, else the default less the static bytes.
std::uint64_t dynamic_shared_limit(const Context& context, const KernelRecord& record);

}  // namespace kforge::cudart
