#include "cudart/pool_api.h"

#include <algorithm>

#include "cudart/device_api.h"
#include "cudart/memory_api.h"
#include "cudart/work.h"
#include "emulator/shadow.h"

namespace kforge::cudart {
namespace {

constexpr std::uint64_t kChunk = 32u << 20;              // pools take memory from the device in such pieces (seen on an H200)
constexpr int kLocationDevice = 1, kAllocPinned = 1;     // cudaMemLocationTypeDevice, cudaMemAllocationTypePinned

std::uint64_t in_chunks(std::uint64_t bytes) { return (bytes + kChunk - 1) / kChunk * kChunk; }

std::uint64_t MemoryPool::* pool_counter(int attribute) {
  switch (attribute) {
    case 4: return &MemoryPool::release_threshold;
    case 5: return &MemoryPool::reserved;
    case 6: return &MemoryPool::reserved_high;
    case 7: return &MemoryPool::used;
    case 8: return &MemoryPool::used_high;
    default: return nullptr;
  }
}

std::uint64_t MemoryPool::* graph_counter(int attribute) {
  static constexpr std::uint64_t MemoryPool::* kCounters[] = {&MemoryPool::used, &MemoryPool::used_high, &MemoryPool::reserved, &MemoryPool::reserved_high};
  return attribute >= 0 && attribute < 4 ? kCounters[attribute] : nullptr;
}

emulator::Address address_of(const void* pointer) { return reinterpret_cast<emulator::Address>(pointer); }

// Memory comes and goes in the stream's order: whoever touches it without being ordered after the one and before the other has no such memory.
void issue(Context& context, const Stream& stream, std::string what, const void* pointer, std::uint64_t bytes, std::string deed) {
  context.issue(stream, what, 0);
  if (!StreamRaces::wanted(context) || bytes == 0) return;
  emulator::Footprint all;
  all.add(emulator::Footprint::Touch::write, address_of(pointer), bytes, 0);
  context.stream_races.add_work(context, stream, std::move(what), std::move(all), std::move(deed));
}

std::uint64_t size_of(Context& context, const void* pointer) {
  const emulator::Allocation* allocation = context.device() == nullptr ? nullptr : context.device()->memory().find(address_of(pointer));
  return allocation == nullptr ? 0 : allocation->size;
}

}  // namespace

void MemoryPool::take(std::uint64_t bytes) {
  used += bytes;
  used_high = std::max(used_high, used);
  reserved = std::max(reserved, in_chunks(used));
  reserved_high = std::max(reserved_high, reserved);
}

void MemoryPool::give_back(std::uint64_t bytes) {
  used -= std::min(used, bytes);
}

void MemoryPool::trim(std::uint64_t keep) { reserved = std::min(reserved, std::max(in_chunks(used), in_chunks(keep))); }

PoolStore::PoolStore() {
  default_ = add({kAllocPinned, 0, {kLocationDevice, 0}, nullptr, 0, 0, {}});
  current_ = default_;
}

MemoryPool* PoolStore::add(const PoolProps& props) {
  auto pool = std::make_unique<MemoryPool>();
  pool->props = props;
  MemoryPool* handle = pool.get();
  pools_.emplace(handle, std::move(pool));
  return handle;
}

MemoryPool* PoolStore::find(const void* handle) const {
  const auto found = pools_.find(handle);
  return found == pools_.end() ? nullptr : found->second.get();
}

bool PoolStore::remove(const void* handle) {
  if (handle == default_) return false;
  if (handle == current_) current_ = default_;
  std::erase_if(pieces, [&](const auto& piece) { return piece.second.pool == handle; });
  return pools_.erase(handle) != 0;
}

Status allocate_async(Context& context, void** pointer, std::size_t bytes, void* stream) {
  return allocate_from_pool(context, pointer, bytes, context.pools->current(), stream);
}

Status allocate_from_pool(Context& context, void** pointer, std::size_t bytes, MemoryPool* pool, void* handle) {
  Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (pointer == nullptr || context.pools->find(pool) == nullptr) return cudaErrorInvalidValue;
  if (stream->capture) {
    AllocWork work;
    work.params.poolProps = pool->props;
    work.params.bytesize = bytes;
    if (const Status status = reserve_graph_memory(context, work.params); status != cudaSuccess) return status;
    *pointer = work.params.dptr;
    return submit(context, *stream, work);
  }
  if (const Status status = allocate_in_order(context, pointer, bytes, emulator::MemoryKind::device); status != cudaSuccess) return status;
  if (bytes != 0) {
    pool->take(bytes);
    context.pools->pieces[address_of(*pointer)] = {pool, bytes};
  }
  issue(context, *stream, "cudaMallocAsync", *pointer, bytes, "allocates");
  return cudaSuccess;
}

Status release_async(Context& context, void* pointer, void* handle) {
  Stream* stream = context.find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (stream->capture) return submit(context, *stream, FreeWork{pointer});
  return perform(context, *stream, FreeWork{pointer});
}

bool release_pooled(Context& context, void* pointer, Status& status) {
  PoolStore& pools = *context.pools;
  if (const auto piece = pools.pieces.find(address_of(pointer)); piece != pools.pieces.end()) {
    piece->second.pool->give_back(piece->second.bytes);
    pools.pieces.erase(piece);
    return false;                        // the allocation itself is freed like any other
  }
  const auto memory = pools.graph_memory.find(address_of(pointer));
  if (memory == pools.graph_memory.end()) return false;
  status = memory->second.live ? cudaSuccess : cudaErrorInvalidValue;
  if (memory->second.live) pools.graphs.give_back(memory->second.bytes);
  memory->second.live = false;
  return true;
}

Status create_pool(Context& context, MemoryPool** pool, const PoolProps* props) {
  if (pool == nullptr || props == nullptr || props->allocType != kAllocPinned) return cudaErrorInvalidValue;
  if (props->location.type != kLocationDevice) return cudaErrorNotSupported;
  if (props->location.id != 0) return cudaErrorInvalidDevice;
  if (props->handleTypes != 0) return cudaErrorNotSupported;
  *pool = context.pools->add(*props);
  return cudaSuccess;
}

Status destroy_pool(Context& context, MemoryPool* pool) {
  return context.pools->find(pool) != nullptr && context.pools->remove(pool) ? cudaSuccess : cudaErrorInvalidValue;
}

Status get_pool(Context& context, MemoryPool** pool, int device, bool is_default) {
  if (pool == nullptr) return cudaErrorInvalidValue;
  if (const Status status = check_device(context, device); status != cudaSuccess) return status;
  *pool = is_default ? context.pools->default_pool() : context.pools->current();
  return cudaSuccess;
}

Status set_pool(Context& context, int device, MemoryPool* pool) {
  if (const Status status = check_device(context, device); status != cudaSuccess) return status;
  if (context.pools->find(pool) == nullptr) return cudaErrorInvalidValue;
  context.pools->set_current(pool);
  return cudaSuccess;
}

Status trim_pool(Context& context, MemoryPool* pool, std::size_t keep) {
  if (context.pools->find(pool) == nullptr) return cudaErrorInvalidValue;
  pool->trim(keep);
  return cudaSuccess;
}

// Attributes 1 to 3 are ints, the others 64 bits; the high-water marks can be set to zero only.
Status set_pool_attribute(Context& context, MemoryPool* pool, int attribute, const void* value) {
  if (context.pools->find(pool) == nullptr || value == nullptr) return cudaErrorInvalidValue;
  if (attribute >= 1 && attribute <= 3) {
    pool->reuse[attribute - 1] = *static_cast<const int*>(value);
    return cudaSuccess;
  }
  const auto counter = pool_counter(attribute);
  const auto wanted = *static_cast<const std::uint64_t*>(value);
  const bool is_mark = attribute == 6 || attribute == 8;
  if (counter == nullptr || (is_mark ? wanted != 0 : attribute != 4)) return cudaErrorInvalidValue;
  pool->*counter = !is_mark ? wanted : attribute == 6 ? pool->reserved : pool->used;
  return cudaSuccess;
}

Status get_pool_attribute(Context& context, MemoryPool* pool, int attribute, void* value) {
  if (context.pools->find(pool) == nullptr || value == nullptr) return cudaErrorInvalidValue;
  if (attribute >= 1 && attribute <= 3) {
    *static_cast<int*>(value) = pool->reuse[attribute - 1];
    return cudaSuccess;
  }
  const auto counter = pool_counter(attribute);
  if (counter == nullptr) return cudaErrorInvalidValue;
  *static_cast<std::uint64_t*>(value) = pool->*counter;
  return cudaSuccess;
}

Status set_pool_access(Context& context, MemoryPool* pool, const MemAccessDesc* access, std::size_t count) {
  if (context.pools->find(pool) == nullptr || (access == nullptr && count != 0)) return cudaErrorInvalidValue;
  for (std::size_t i = 0; i < count; ++i)
    if (access[i].location.type != kLocationDevice || access[i].location.id != 0) return cudaErrorInvalidDevice;
  return cudaSuccess;
}

Status get_pool_access(Context& context, int* flags, MemoryPool* pool, const MemLocation* location) {
  constexpr int kReadWrite = 3;
  if (flags == nullptr || location == nullptr || context.pools->find(pool) == nullptr) return cudaErrorInvalidValue;
  *flags = location->type == kLocationDevice && location->id == 0 ? kReadWrite : 0;
  return cudaSuccess;
}

Status reserve_graph_memory(Context& context, AllocNodeParams& params) {
  if (params.bytesize == 0) return cudaErrorInvalidValue;
  if (params.poolProps.location.type != kLocationDevice || params.poolProps.location.id != 0) return cudaErrorInvalidValue;
  if (context.device() == nullptr) return cudaErrorInitializationError;
  emulator::Allocation* allocation = context.device()->memory().allocate(params.bytesize, emulator::MemoryKind::device, "graph memory");
  if (allocation == nullptr) return cudaErrorMemoryAllocation;
  params.dptr = reinterpret_cast<void*>(allocation->base);
  context.pools->graph_memory[allocation->base] = {params.bytesize, false};
  return cudaSuccess;
}

Status perform(Context& context, Stream& stream, const AllocWork& work) {
  const auto memory = context.pools->graph_memory.find(address_of(work.params.dptr));
  if (memory == context.pools->graph_memory.end() || memory->second.live) return cudaErrorInvalidValue;
  memory->second.live = true;
  context.pools->graphs.take(memory->second.bytes);
  if (emulator::Allocation* allocation = context.device()->memory().find(memory->first))
    context.device()->global_shadow().mark_range(*allocation, 0, allocation->size, false);
  issue(context, stream, "an allocation node", work.params.dptr, memory->second.bytes, "allocates");
  return cudaSuccess;
}

Status perform(Context& context, Stream& stream, const FreeWork& work) {
  const std::uint64_t bytes = size_of(context, work.pointer);
  const Status status = release_in_order(context, work.pointer);
  if (status == cudaSuccess) issue(context, stream, "cudaFreeAsync", work.pointer, bytes, "frees");
  return status;
}

Status trim_graph_memory(Context& context, int device) {
  if (const Status status = check_device(context, device); status != cudaSuccess) return status;
  context.pools->graphs.trim(0);
  return cudaSuccess;
}

Status get_graph_memory_attribute(Context& context, int device, int attribute, void* value) {
  if (const Status status = check_device(context, device); status != cudaSuccess) return status;
  const auto counter = graph_counter(attribute);
  if (counter == nullptr || value == nullptr) return cudaErrorInvalidValue;
  *static_cast<std::uint64_t*>(value) = context.pools->graphs.*counter;
  return cudaSuccess;
}

Status set_graph_memory_attribute(Context& context, int device, int attribute, const void* value) {
  if (const Status status = check_device(context, device); status != cudaSuccess) return status;
  if (value == nullptr || (attribute != 1 && attribute != 3) || *static_cast<const std::uint64_t*>(value) != 0) return cudaErrorInvalidValue;
  MemoryPool& pool = context.pools->graphs;
  if (attribute == 1) pool.used_high = pool.used;
  else pool.reserved_high = pool.reserved;
  return cudaSuccess;
}

}  // namespace kforge::cudart
