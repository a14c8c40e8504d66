#include "cudart/memory_api.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/counted.h"
#include "cudart/bits.h"
#include "cudart/pool_api.h"
#include "cudart/workspace.h"
#include "emulator/shadow.h"

namespace kforge::cudart {
namespace {

using emulator::Address;
using emulator::Allocation;
using emulator::Footprint;
using emulator::MemoryKind;

constexpr std::size_t kPitchBytes = 512;             // cudaDevAttrTextureAlignment of every supported GPU
constexpr double kCopyStartUs = 2, kHostBytesPerUs = 25e3;   // PCIe 4 x16 in practice; a model, for event times only

Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }
bool looks_like_device(Address address) { return address >= emulator::kDeviceOffset; }
bool host_sees(MemoryKind kind) { return kind == MemoryKind::managed || kind == MemoryKind::pinned; }

// One side of a copy.
struct Place {
  Allocation* allocation = nullptr;     // null: pageable memory of the host
  std::uint64_t offset = 0;
  std::byte* bytes = nullptr;           // host address
  bool on_device() const { return allocation != nullptr; }
  bool on_host() const { return allocation == nullptr || host_sees(allocation->kind); }
};

// What is wrong with a range of memory that no live allocation holds, for people.
std::string describe(emulator::Memory& memory, Address address, std::uint64_t bytes) {
  const Allocation* near = memory.nearest(address);
  if (near == nullptr) return fmt::format("{} at {:#x}, where nothing is allocated", counted(bytes, "byte"), address);
  const std::string label = near->label.empty() ? "an allocation" : fmt::format("'{}'", near->label);
  const auto offset = static_cast<std::int64_t>(address - near->base);
  return fmt::format("{} at offset {} of {}{} ({} bytes)", counted(bytes, "byte"), offset, near->live ? "" : "the freed ", label, near->size);
}

// False when the range is neither one allocation's nor the host's; says so in the log.
bool locate(Context& context, const void* pointer, std::uint64_t bytes, Place& place) {
  emulator::Memory& memory = context.device()->memory();
  const Address address = address_of(pointer);
  Allocation* allocation = memory.find(address);
  if (allocation == nullptr && !looks_like_device(address)) {
    place = {nullptr, 0, static_cast<std::byte*>(const_cast<void*>(pointer))};
    return pointer != nullptr;
  }
  if (allocation == nullptr || bytes > allocation->size - (address - allocation->base)) {
    context.violate("safety.bounds", "copy-out-of-bounds", {},
                    fmt::format("a copy or fill by the host reaches outside: {}", describe(memory, address, bytes)));
    return false;
  }
  place = {allocation, address - allocation->base, allocation->data + (address - allocation->base)};
  return true;
}

// CUDA 13 on an H200 answers "invalid argument" for a pointer on the wrong side, and "invalid direction" for no such kind.
Status check_direction(const Place& to, const Place& from, int kind) {
  switch (kind) {
    case kHostToHost: return to.on_host() && from.on_host() ? cudaSuccess : cudaErrorInvalidValue;
    case kHostToDevice: return to.on_device() && from.on_host() ? cudaSuccess : cudaErrorInvalidValue;
    case kDeviceToHost: return to.on_host() && from.on_device() ? cudaSuccess : cudaErrorInvalidValue;
    case kDeviceToDevice: return to.on_device() && from.on_device() ? cudaSuccess : cudaErrorInvalidValue;
    case kCopyDefault: return cudaSuccess;
    default: return cudaErrorInvalidMemcpyDirection;
  }
}

void warn_unwritten(Context& context, const Place& from, std::uint64_t bytes) {
  if (!context.call.running || is_initialised(*from.allocation, from.offset, bytes)) return;
  const std::uint64_t first = first_clear(from.allocation->initialised, from.offset, bytes);
  const std::string label = from.allocation->label.empty() ? "an allocation" : fmt::format("'{}'", from.allocation->label);
  context.violate("safety.uninitialised", "copy-of-unwritten", {},
                  fmt::format("a copy to the host reads byte {} of {}, which nothing has written", first, label), true);
}

void move_bytes(Context& context, const Place& to, const Place& from, std::uint64_t bytes) {
  std::memmove(to.bytes, from.bytes, bytes);
  if (to.on_host() && !from.on_host()) context.call.bytes_to_host += bytes;
  if (to.on_device() && from.on_device() && !host_sees(from.allocation->kind)) {
    context.device()->global_shadow().copy_origins(*to.allocation, to.offset, *from.allocation, from.offset, bytes);
    copy_marks(*to.allocation, to.offset, *from.allocation, from.offset, bytes);
  } else if (to.on_device()) {
    mark_from_host(*to.allocation, to.offset, bytes);
  } else if (from.on_device()) {
    const std::string label = from.allocation->label.empty() ? "a copy to the host" : fmt::format("a copy of '{}' to the host", from.allocation->label);
    context.device()->check_read(*from.allocation, from.offset, bytes, label);
    warn_unwritten(context, from, bytes);
  }
}

double copy_us(Context& context, const Place& to, const Place& from, std::uint64_t bytes) {
  const bool inside = !to.on_host() && !from.on_host();
  const double per_us = inside ? std::max(1.0, context.device()->sheet().dram_bytes_per_s / 2e6) : kHostBytesPerUs;
  return kCopyStartUs + static_cast<double>(bytes) / per_us;
}

// Bytes from the first to past the last of a box of rows; false when that overflows.
bool span_of(const Side& side, std::size_t width, std::size_t height, std::size_t depth, std::size_t& span) {
  std::size_t rows = 0, planes = 0;
  return !__builtin_mul_overflow(side.pitch, height - 1, &rows) && !__builtin_mul_overflow(side.slice, depth - 1, &planes) &&
         !__builtin_add_overflow(rows, planes, &span) && !__builtin_add_overflow(span, width, &span);
}

Place at(const Place& place, const Side& side, std::size_t y, std::size_t z) {
  const std::size_t offset = y * side.pitch + z * side.slice;
  return {place.allocation, place.offset + offset, place.bytes + offset};
}

// The bytes of the device's memory that one side of a copy or fill touches.
void add_box(Footprint& footprint, Footprint::Touch touch, const Place& place, const Side& side, std::size_t width, std::size_t height, std::size_t depth) {
  if (!place.on_device()) return;
  const Address base = place.allocation->base + place.offset;
  for (std::size_t z = 0; z < depth; ++z)
    for (std::size_t y = 0; y < height; ++y) footprint.add(touch, base + y * side.pitch + z * side.slice, width, 0);
}

// Freed twice, or never allocated by this function's kind.
Status refuse_free(Context& context, Address address) {
  emulator::Memory& memory = context.device()->memory();
  const Allocation* near = memory.nearest(address);
  const bool inside = near != nullptr && address >= near->base && address - near->base < std::max<std::uint64_t>(1, near->size);
  const std::string label = near == nullptr || near->label.empty() ? "an allocation" : near->label;
  if (inside && !near->live)
    context.violate("safety.bounds", "double-free", {}, fmt::format("{} frees {} ({} bytes), which was freed before", context.running_name(), label, near->size));
  else if (inside && address == near->base)
    context.violate("safety.bounds", "wrong-free", {}, fmt::format("{} frees {} ({} bytes), which another function has to free", context.running_name(), label, near->size));
  else if (inside)
    context.violate("safety.bounds", "wrong-free", {}, fmt::format("{} frees offset {} of {} ({} bytes); only its start can be freed", context.running_name(), address - near->base, label, near->size));
  else
    context.violate("safety.bounds", "wrong-free", {}, fmt::format("{} frees address {:#x}, where nothing was allocated", context.running_name(), address));
  return cudaErrorInvalidValue;
}

VariableRecord* find_symbol(Context& context, const void* symbol, Status& status) {
  VariableRecord* variable = context.registry.find_variable(symbol);
  status = cudaErrorInvalidSymbol;
  if (variable == nullptr) return nullptr;
  status = context.registry.load(*variable->image, *context.device());
  if (status != cudaSuccess) {
    context.violate("portability", "no-image", {}, variable->image->error);
    return nullptr;
  }
  if (variable->allocation != nullptr) return variable;
  status = cudaErrorInvalidSymbol;
  return nullptr;
}

}  // namespace

Status allocate(Context& context, void** pointer, std::size_t bytes, MemoryKind kind) {
  context.stream_races.forget();
  return allocate_in_order(context, pointer, bytes, kind);
}

Status allocate_in_order(Context& context, void** pointer, std::size_t bytes, MemoryKind kind) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  emulator::Device* device = context.device();
  if (device == nullptr) return cudaErrorInitializationError;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  const bool by_candidate = context.call.running;
  Allocation* allocation = device->memory().allocate(bytes, kind, by_candidate ? kWorkspaceLabel : context.next_label());
  context.note(fmt::format("{} bytes", bytes));
  if (allocation == nullptr) return cudaErrorMemoryAllocation;
  if (!by_candidate) context.session.remember(allocation->label);
  if (host_sees(kind)) allocation->all_initialised = true;   // the host writes it unseen
  if (by_candidate) context.call.allocated.emplace(allocation->base, fmt::format("{} bytes", bytes));
  *pointer = reinterpret_cast<void*>(allocation->base);
  return cudaSuccess;
}

Status allocate_pitch(Context& context, void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  if (pointer == nullptr || pitch == nullptr) return cudaErrorInvalidValue;
  if (width > SIZE_MAX - kPitchBytes) return cudaErrorMemoryAllocation;
  *pitch = (width + kPitchBytes - 1) / kPitchBytes * kPitchBytes;
  if (height != 0 && *pitch > SIZE_MAX / height) return cudaErrorMemoryAllocation;
  return allocate(context, pointer, *pitch * height, MemoryKind::device);
}

Status host_allocate(Context& context, void** pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned kAllFlags = 1 | 2 | 4;    // portable, mapped, write-combined
  return (flags & ~kAllFlags) != 0 ? cudaErrorInvalidValue : allocate(context, pointer, bytes, MemoryKind::pinned);
}

Status allocate_managed(Context& context, void** pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned kGlobal = 1, kHost = 2;
  return flags != kGlobal && flags != kHost ? cudaErrorInvalidValue : allocate(context, pointer, bytes, MemoryKind::managed);
}

Status release(Context& context, void* pointer) {
  context.stream_races.forget();
  return release_in_order(context, pointer);
}

Status release_in_order(Context& context, void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  if (context.device() == nullptr) return cudaErrorInitializationError;
  emulator::Memory& memory = context.device()->memory();
  const Address address = address_of(pointer);
  if (Status status = cudaSuccess; release_pooled(context, pointer, status)) return status;
  const Allocation* allocation = memory.find(address);
  const bool ours = allocation != nullptr && allocation->base == address &&
                    (allocation->kind == MemoryKind::device || allocation->kind == MemoryKind::managed);
  if (!ours) return refuse_free(context, address);
  if (const auto tensor = context.tensors.find(address); tensor != context.tensors.end()) {
    if (context.call.running)
      context.violate("interface", "freed-tensor", {}, fmt::format("the launcher frees '{}', which belongs to its caller", tensor->second.name));
    context.tensors.erase(tensor);
  }
  context.call.allocated.erase(address);
  memory.free(address);
  return cudaSuccess;
}

Status host_release(Context& context, void* pointer) {
  if (pointer == nullptr) return cudaSuccess;
  if (context.device() == nullptr) return cudaErrorInitializationError;
  emulator::Memory& memory = context.device()->memory();
  const Address address = address_of(pointer);
  const Allocation* allocation = memory.find(address);
  const bool ours = allocation != nullptr && allocation->base == address && allocation->kind == MemoryKind::pinned && !allocation->foreign;
  if (!ours) return refuse_free(context, address);
  context.call.allocated.erase(address);
  context.stream_races.forget();
  memory.free(address);
  return cudaSuccess;
}

Status copy(Context& context, void* to, const void* from, std::size_t bytes, int kind, void* stream, Wait wait) {
  return copy_rows(context, to, from, {bytes, bytes, bytes, 1}, kind, stream, wait);
}

Status copy_rows(Context& context, void* to, const void* from, const Rows& rows, int kind, void* stream, Wait wait) {
  if (rows.height > 1 && (rows.width > rows.to_pitch || rows.width > rows.from_pitch)) return cudaErrorInvalidPitchValue;
  CopyWork work;
  work.to = {to, rows.to_pitch, rows.to_pitch * rows.height};
  work.from = {const_cast<void*>(from), rows.from_pitch, rows.from_pitch * rows.height};
  work.width = rows.width, work.height = rows.height, work.kind = kind;
  return copy(context, std::move(work), stream, wait);
}

Status copy(Context& context, CopyWork work, void* handle, Wait wait) {
  if (work.kind < kHostToHost || work.kind > kCopyDefault) return cudaErrorInvalidMemcpyDirection;
  Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (context.device() == nullptr) return cudaErrorInitializationError;
  if (work.width == 0 || work.height == 0 || work.depth == 0) return cudaSuccess;
  if (const Status status = submit(context, *stream, std::move(work)); status != cudaSuccess) return status;
  if (wait == Wait::yes) context.timeline.host_waits_for(stream->index);
  return cudaSuccess;
}

Status perform(Context& context, Stream& stream, const CopyWork& work) {
  std::size_t to_span = 0, from_span = 0;
  if (!span_of(work.to, work.width, work.height, work.depth, to_span) || !span_of(work.from, work.width, work.height, work.depth, from_span)) return cudaErrorInvalidValue;
  Place to, from;
  if (!locate(context, work.to.pointer, to_span, to) || !locate(context, work.from.pointer, from_span, from)) return cudaErrorInvalidValue;
  if (const Status status = check_direction(to, from, work.kind); status != cudaSuccess) return status;
  const std::size_t bytes = work.width * work.height * work.depth;
  const double us = copy_us(context, to, from, bytes);
  const bool dense = work.to.pitch == work.width && work.from.pitch == work.width && work.depth == 1;
  if (dense) {
    move_bytes(context, to, from, bytes);
  } else {
    for (std::size_t z = 0; z < work.depth; ++z)
      for (std::size_t y = 0; y < work.height; ++y)
        move_bytes(context, at(to, work.to, y, z), at(from, work.from, y, z), work.width);
  }
  std::string what = "a copy of " + counted(bytes, "byte");
  context.issue(stream, what, us);
  if (!StreamRaces::wanted(context)) return cudaSuccess;
  Footprint footprint;
  add_box(footprint, Footprint::Touch::read, from, work.from, work.width, work.height, work.depth);
  add_box(footprint, Footprint::Touch::write, to, work.to, work.width, work.height, work.depth);
  context.stream_races.add_work(context, stream, std::move(what), std::move(footprint));
  return cudaSuccess;
}

Status fill(Context& context, void* to, int value, std::size_t bytes, void* stream) {
  return fill_rows(context, to, bytes, value, bytes, 1, stream);
}

Status fill_rows(Context& context, void* to, std::size_t pitch, int value, std::size_t width, std::size_t height, void* stream) {
  if (height > 1 && width > pitch) return cudaErrorInvalidValue;
  return fill(context, {{to, pitch, pitch * height}, static_cast<unsigned>(value) & 0xff, 1, width, height, 1}, stream);
}

Status fill(Context& context, const FillWork& work, void* handle) {
  Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (context.device() == nullptr) return cudaErrorInitializationError;
  if (work.width == 0 || work.height == 0 || work.depth == 0) return cudaSuccess;
  return submit(context, *stream, work);
}

Status perform(Context& context, Stream& stream, const FillWork& work) {
  const std::size_t width = work.width * work.element_bytes;
  std::size_t span = 0;
  if (!span_of(work.to, width, work.height, work.depth, span)) return cudaErrorInvalidValue;
  Place place;
  if (!locate(context, work.to.pointer, span, place) || !place.on_device()) return cudaErrorInvalidValue;
  for (std::size_t z = 0; z < work.depth; ++z) {
    for (std::size_t y = 0; y < work.height; ++y) {
      const Place row = at(place, work.to, y, z);
      if (work.element_bytes == 1) std::memset(row.bytes, static_cast<int>(work.value), width);
      else for (std::size_t x = 0; x < work.width; ++x) std::memcpy(row.bytes + x * work.element_bytes, &work.value, work.element_bytes);
      mark_from_device(*row.allocation, row.offset, width);
    }
  }
  const std::size_t bytes = width * work.height * work.depth;
  std::string what = "a fill of " + counted(bytes, "byte");
  context.issue(stream, what, copy_us(context, place, place, bytes));
  if (!StreamRaces::wanted(context)) return cudaSuccess;
  Footprint footprint;
  add_box(footprint, Footprint::Touch::write, place, work.to, width, work.height, work.depth);
  context.stream_races.add_work(context, stream, std::move(what), std::move(footprint));
  return cudaSuccess;
}

Status symbol_address(Context& context, void** pointer, const void* symbol) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  if (context.device() == nullptr) return cudaErrorInitializationError;
  Status status;
  const VariableRecord* variable = find_symbol(context, symbol, status);
  if (variable == nullptr) return status;
  *pointer = reinterpret_cast<void*>(variable->allocation->base);
  return cudaSuccess;
}

Status symbol_size(Context& context, std::size_t* bytes, const void* symbol) {
  if (bytes == nullptr) return cudaErrorInvalidValue;
  const VariableRecord* variable = context.registry.find_variable(symbol);
  if (variable == nullptr) return cudaErrorInvalidSymbol;
  *bytes = variable->size;
  return cudaSuccess;
}

Status copy_to_symbol(Context& context, const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int kind,
                      void* stream, Wait wait) {
  if (kind != kHostToDevice && kind != kDeviceToDevice && kind != kCopyDefault) return cudaErrorInvalidMemcpyDirection;
  void* base = nullptr;
  if (const Status status = symbol_address(context, &base, symbol); status != cudaSuccess) return status;
  const std::size_t size = context.registry.find_variable(symbol)->allocation->size;
  if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
  return copy(context, reinterpret_cast<void*>(address_of(base) + offset), from, bytes, kind, stream, wait);
}

Status copy_from_symbol(Context& context, void* to, const void* symbol, std::size_t bytes, std::size_t offset, int kind,
                        void* stream, Wait wait) {
  if (kind != kDeviceToHost && kind != kDeviceToDevice && kind != kCopyDefault) return cudaErrorInvalidMemcpyDirection;
  void* base = nullptr;
  if (const Status status = symbol_address(context, &base, symbol); status != cudaSuccess) return status;
  const std::size_t size = context.registry.find_variable(symbol)->allocation->size;
  if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
  return copy(context, to, reinterpret_cast<const void*>(address_of(base) + offset), bytes, kind, stream, wait);
}

Status memory_info(Context& context, std::size_t* free_bytes, std::size_t* total_bytes) {
  if (context.device() == nullptr) return cudaErrorInitializationError;
  const std::uint64_t total = context.device()->sheet().memory_bytes, used = context.device()->memory().bytes_in_use();
  if (free_bytes != nullptr) *free_bytes = total - std::min(total, used);
  if (total_bytes != nullptr) *total_bytes = total;
  return cudaSuccess;
}

Status pointer_attributes(Context& context, PointerAttributes* attributes, const void* pointer) {
  constexpr int kUnregistered = 0, kHost = 1, kDevice = 2, kManaged = 3, kNoDevice = -2;
  if (attributes == nullptr) return cudaErrorInvalidValue;
  if (context.device() == nullptr) return cudaErrorInitializationError;
  *attributes = {};
  attributes->type = kUnregistered;
  attributes->device = kNoDevice;
  const Allocation* allocation = context.device()->memory().find(address_of(pointer));
  if (allocation == nullptr) return cudaSuccess;
  const bool host = host_sees(allocation->kind);
  attributes->type = allocation->kind == MemoryKind::pinned ? kHost : allocation->kind == MemoryKind::managed ? kManaged : kDevice;
  attributes->device = 0;
  attributes->devicePointer = const_cast<void*>(pointer);
  attributes->hostPointer = host ? const_cast<void*>(pointer) : nullptr;
  return cudaSuccess;
}

Status host_device_pointer(Context& context, void** device_pointer, void* host_pointer) {
  if (device_pointer == nullptr || context.device() == nullptr) return cudaErrorInvalidValue;
  const Allocation* allocation = context.device()->memory().find(address_of(host_pointer));
  if (allocation == nullptr || allocation->kind != MemoryKind::pinned) return cudaErrorInvalidValue;
  *device_pointer = host_pointer;
  return cudaSuccess;
}

}  // namespace kforge::cudart
