// Stream-ordered allocation: pools, and the memory of graphs. A pool counts what it gave out; the bytes are ordinary allocations.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>

#include "cudart/abi_graph.h"
#include "cudart/abi_memory.h"
#include "cudart/context.h"

namespace kforge::cudart {

struct MemoryPool {
  PoolProps props{};
  std::uint64_t release_threshold = 0;
  int reuse[3] = {1, 1, 1};              // follow events, opportunistic, internal dependencies
  std::uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
  void take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes);
  void trim(std::uint64_t keep);
};

// Memory of a graph's allocation node: its address belongs to the node, whether it is allocated or not.
struct GraphMemory { std::uint64_t bytes = 0; bool live = false; };

class PoolStore {
 public:
  PoolStore();
  MemoryPool* add(const PoolProps& props);
  MemoryPool* find(const void* handle) const;
  bool remove(const void* handle);
  MemoryPool* default_pool() const { return default_; }
  MemoryPool* current() const { return current_; }
  void set_current(MemoryPool* pool) { current_ = pool; }

  struct Piece { MemoryPool* pool; std::uint64_t bytes; };
  std::map<emulator::Address, Piece> pieces;             // given out by pools
  std::map<emulator::Address, GraphMemory> graph_memory;
  MemoryPool graphs;                                     // counts graph memory

 private:
  std::unordered_map<const void*, std::unique_ptr<MemoryPool>> pools_;
  MemoryPool* default_ = nullptr;
  MemoryPool* current_ = nullptr;
};

// From the current pool, or from `pool`.
Status allocate_async(Context& context, void** pointer, std::size_t bytes, void* stream);
Status allocate_from_pool(Context& context, void** pointer, std::size_t bytes, MemoryPool* pool, void* stream);
Status release_async(Context& context, void* pointer, void* stream);
// cudaFree of memory that a pool or a graph gave out; false when it is neither's.
bool release_pooled(Context& context, void* pointer, Status& status);

Status create_pool(Context& context, MemoryPool** pool, const PoolProps* props);
Status destroy_pool(Context& context, MemoryPool* pool);
Status get_pool(Context& context, MemoryPool** pool, int device, bool is_default);
Status set_pool(Context& context, int device, MemoryPool* pool);
Status trim_pool(Context& context, MemoryPool* pool, std::size_t keep);
Status set_pool_attribute(Context& context, MemoryPool* pool, int attribute, const void* value);
Status get_pool_attribute(Context& context, MemoryPool* pool, int attribute, void* value);
Status set_pool_access(Context& context, MemoryPool* pool, const MemAccessDesc* access, std::size_t count);
Status get_pool_access(Context& context, int* flags, MemoryPool* pool, const MemLocation* location);

// A graph's allocation node is made: its address is fixed from now on.
Status reserve_graph_memory(Context& context, AllocNodeParams& params);
Status trim_graph_memory(Context& context, int device);
Status get_graph_memory_attribute(Context& context, int device, int attribute, void* value);
Status set_graph_memory_attribute(Context& context, int device, int attribute, const void* value);

}  // namespace kforge::cudart
