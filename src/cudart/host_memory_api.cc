// Memory functions that are neither plain allocations nor copies: registered host memory, 3-D allocations, batches of copies.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "cudart/memory_api.h"

namespace kforge::cudart {
namespace {

using emulator::Address;
using emulator::Allocation;
using emulator::MemoryKind;

constexpr unsigned kPortable = 1, kMapped = 2;

Allocation* find(Context& context, const void* pointer) { return context.device()->memory().find(reinterpret_cast<Address>(pointer)); }

}  // namespace

Status register_host(Context& context, void* pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned kAllFlags = 1 | 2 | 4 | 8;   // portable, mapped, I/O memory, read-only
  if (pointer == nullptr || bytes == 0 || (flags & ~kAllFlags) != 0) return cudaErrorInvalidValue;
  if (context.device() == nullptr) return cudaErrorInitializationError;
  emulator::Memory& memory = context.device()->memory();
  if (memory.find(reinterpret_cast<Address>(pointer)) != nullptr) return cudaErrorHostMemoryAlreadyRegistered;
  return memory.adopt(static_cast<std::byte*>(pointer), bytes, "registered host memory") != nullptr ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
}

Status unregister_host(Context& context, void* pointer) {
  if (context.device() == nullptr) return cudaErrorInitializationError;
  const Allocation* allocation = find(context, pointer);
  if (allocation == nullptr || !allocation->foreign || allocation->base != reinterpret_cast<Address>(pointer)) return cudaErrorHostMemoryNotRegistered;
  context.device()->memory().free(allocation->base);
  return cudaSuccess;
}

Status host_flags(Context& context, unsigned* flags, void* pointer) {
  if (flags == nullptr || context.device() == nullptr) return cudaErrorInvalidValue;
  const Allocation* allocation = find(context, pointer);
  if (allocation == nullptr || allocation->kind != MemoryKind::pinned) return cudaErrorInvalidValue;
  *flags = kMapped | (allocation->foreign ? kPortable : 0);
  return cudaSuccess;
}

Status allocate_3d(Context& context, PitchedPtr* pointer, Extent extent) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  std::size_t rows = 0;
  if (__builtin_mul_overflow(std::max<std::size_t>(1, extent.height), std::max<std::size_t>(1, extent.depth), &rows)) return cudaErrorMemoryAllocation;
  *pointer = {nullptr, 0, extent.width, extent.height};
  return allocate_pitch(context, &pointer->ptr, &pointer->pitch, extent.width, rows);
}

Status fill_3d(Context& context, PitchedPtr to, int value, Extent extent, void* stream) {
  if (extent.depth > 1 && to.ysize < extent.height) return cudaErrorInvalidValue;
  if (extent.height > 1 && extent.width > to.pitch) return cudaErrorInvalidValue;
  return fill(context, {{to.ptr, to.pitch, to.pitch * to.ysize}, static_cast<unsigned>(value) & 0xff, 1, extent.width, extent.height, extent.depth}, stream);
}

Status copy_batch(Context& context, void* const* to, const void* const* from, const std::size_t* bytes, std::size_t count, void* stream) {
  if (to == nullptr || from == nullptr || bytes == nullptr || count == 0) return cudaErrorInvalidValue;
  for (std::size_t i = 0; i < count; ++i)
    if (const Status status = copy(context, to[i], from[i], bytes[i], kCopyDefault, stream, Wait::no); status != cudaSuccess) return status;
  return cudaSuccess;
}

}  // namespace kforge::cudart
