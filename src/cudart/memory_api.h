// Memory: allocations, copies, fills. Each copy moves bytes at once, marks the shadows (bits.h) and takes its place in the
// order of its stream.
#pragma once

#include <cstddef>

#include "cudart/abi.h"
#include "cudart/context.h"
#include "cudart/work.h"

namespace kforge::cudart {

Status allocate(Context& context, void** pointer, std::size_t bytes, emulator::MemoryKind kind);
Status allocate_pitch(Context& context, void** pointer, std::size_t* pitch, std::size_t width, std::size_t height);
Status host_allocate(Context& context, void** pointer, std::size_t bytes, unsigned flags);
Status allocate_managed(Context& context, void** pointer, std::size_t bytes, unsigned flags);
Status release(Context& context, void* pointer);
// The same in the order of a stream (cudaMallocAsync, cudaFreeAsync): they wait for no other, so races are still looked for across them.
Status allocate_in_order(Context& context, void** pointer, std::size_t bytes, emulator::MemoryKind kind);
Status release_in_order(Context& context, void* pointer);
Status host_release(Context& context, void* pointer);

struct Rows { std::size_t to_pitch, from_pitch, width, height; };   // bytes
enum class Wait : bool { no, yes };
Status copy(Context& context, void* to, const void* from, std::size_t bytes, int kind, void* stream, Wait wait);
Status copy_rows(Context& context, void* to, const void* from, const Rows& rows, int kind, void* stream, Wait wait);
Status copy(Context& context, CopyWork work, void* stream, Wait wait);
Status fill(Context& context, void* to, int value, std::size_t bytes, void* stream);
Status fill(Context& context, const FillWork& work, void* stream);
Status fill_rows(Context& context, void* to, std::size_t pitch, int value, std::size_t width, std::size_t height, void* stream);

Status register_host(Context& context, void* pointer, std::size_t bytes, unsigned flags);
Status unregister_host(Context& context, void* pointer);
Status host_flags(Context& context, unsigned* flags, void* pointer);
Status allocate_3d(Context& context, PitchedPtr* pointer, Extent extent);
Status fill_3d(Context& context, PitchedPtr to, int value, Extent extent, void* stream);
Status copy_batch(Context& context, void* const* to, const void* const* from, const std::size_t* bytes, std::size_t count, void* stream);

Status symbol_address(Context& context, void** pointer, const void* symbol);
Status symbol_size(Context& context, std::size_t* bytes, const void* symbol);
Status copy_to_symbol(Context& context, const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int kind,
                      void* stream, Wait wait);
Status copy_from_symbol(Context& context, void* to, const void* symbol, std::size_t bytes, std::size_t offset, int kind,
                        void* stream, Wait wait);

Status memory_info(Context& context, std::size_t* free_bytes, std::size_t* total_bytes);
Status pointer_attributes(Context& context, PointerAttributes* attributes, const void* pointer);
Status host_device_pointer(Context& context, void** device_pointer, void* host_pointer);

}  // namespace kforge::cudart
