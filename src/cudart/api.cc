// The exported functions: api.def's rows, and the few that are not calls of the API proper (error queries, what nvcc's host
// code calls to register its images). Dim3 by value and pointers are passed as CUDA's own types are (x86-64 ABI).
#include "cudart/api_macros.h"

using namespace kforge;
using namespace kforge::cudart;

#include "cudart/api.def"
#undef KFORGE_API
#undef KFORGE_API_ON
#undef KFORGE_API_STREAM

// ---- errors: they must not set the last error themselves

KFORGE_EXPORTED int cudaGetLastError() { return std::exchange(Context::last_error(), cudaSuccess); }
KFORGE_EXPORTED int cudaPeekAtLastError() { return Context::last_error(); }
KFORGE_EXPORTED const char* cudaGetErrorName(int error) { return error_name(error); }
KFORGE_EXPORTED const char* cudaGetErrorString(int error) { return error_text(error); }

KFORGE_EXPORTED ChannelDesc cudaCreateChannelDesc(int x, int y, int z, int w, int kind) { return {x, y, z, w, kind}; }

// ---- what nvcc's host code calls

KFORGE_EXPORTED int __cudaPushCallConfiguration(Dim3 grid, Dim3 block, std::size_t shared, void* stream) {
  return push_configuration(grid, block, shared, stream);
}

KFORGE_EXPORTED int __cudaPopCallConfiguration(Dim3* grid, Dim3* block, std::size_t* shared, void** stream) {
  return pop_configuration(grid, block, shared, stream);
}

KFORGE_EXPORTED void** __cudaRegisterFatBinary(void* wrapper) {
  Context& context = Context::get();
  const std::lock_guard lock(context.mutex);
  return reinterpret_cast<void**>(context.registry.add(wrapper));
}

KFORGE_EXPORTED void __cudaRegisterFatBinaryEnd(void**) {}

KFORGE_EXPORTED void __cudaUnregisterFatBinary(void** handle) {
  Context& context = Context::get();
  const std::lock_guard lock(context.mutex);
  Image* image = reinterpret_cast<Image*>(handle);
  if (context.registry.known(image)) context.registry.remove(image, context.device_if_any());
}

KFORGE_EXPORTED void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, void*, void*, void*, void*, int*) {
  Context& context = Context::get();
  const std::lock_guard lock(context.mutex);
  Image* image = reinterpret_cast<Image*>(handle);
  if (name != nullptr && context.registry.known(image)) context.registry.add_kernel(image, host, name);
}

KFORGE_EXPORTED void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, std::size_t size, int constant, int) {
  Context& context = Context::get();
  const std::lock_guard lock(context.mutex);
  Image* image = reinterpret_cast<Image*>(handle);
  if (name == nullptr || !context.registry.known(image)) return;
  VariableRecord variable;
  variable.name = name;
  variable.size = size;
  variable.constant = constant != 0;
  context.registry.add_variable(image, host, std::move(variable));
}

KFORGE_EXPORTED void __cudaRegisterManagedVar(void** handle, void** host_pointer, char*, const char* name, int, std::size_t size, int, int) {
  Context& context = Context::get();
  const std::lock_guard lock(context.mutex);
  Image* image = reinterpret_cast<Image*>(handle);
  if (name == nullptr || !context.registry.known(image)) return;
  VariableRecord variable;
  variable.name = name;
  variable.size = size;
  variable.managed_pointer = host_pointer;
  context.registry.add_variable(image, host_pointer, std::move(variable));
}

// Called before a program first touches a __managed__ variable: its bytes must be there.
KFORGE_EXPORTED char __cudaInitModule(void** handle) {
  Context& context = Context::get();
  const std::lock_guard lock(context.mutex);
  Image* image = reinterpret_cast<Image*>(handle);
  if (!context.registry.known(image) || context.device() == nullptr) return 0;
  return context.registry.load(*image, *context.device()) == cudaSuccess;
}
