// Each allocation is one mmap of its own: a page that no access may touch, the bytes, and another such page. Freed
// ranges keep their place in the address space without their bytes, so that an address never comes back and a
// stale pointer is told from a wild one. Byte-exact bounds are the executor's to check (size, not pages); the guard
// pages only stop an error of the emulator itself from reaching a neighbour.
#include "emulator/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace kforge::emulator {
namespace {

std::uint64_t page_bytes() {
  static const std::uint64_t bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::uint64_t in_pages(std::uint64_t size) { return (size + page_bytes() - 1) / page_bytes() * page_bytes(); }

bool host_visible(MemoryKind kind) { return kind == MemoryKind::managed || kind == MemoryKind::pinned; }

// Zeroed bytes between two guard pages; null when the system has no room.
std::byte* map_guarded(std::uint64_t size) {
  const std::uint64_t body = in_pages(size == 0 ? 1 : size);
  const std::uint64_t total = body + 2 * page_bytes();
  void* range = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return nullptr;
  std::byte* data = static_cast<std::byte*>(range) + page_bytes();
  if (mprotect(data, body, PROT_READ | PROT_WRITE) == 0) return data;
  munmap(range, total);
  return nullptr;
}

// The bytes go, the addresses stay taken.
void retire(std::byte* data, std::uint64_t size) {
  const std::uint64_t body = in_pages(size == 0 ? 1 : size);
  mmap(data, body, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void unmap_guarded(std::byte* data, std::uint64_t size) {
  const std::uint64_t body = in_pages(size == 0 ? 1 : size);
  munmap(data - page_bytes(), body + 2 * page_bytes());
}

// Bytes between an address and an allocation; 0 inside it.
std::uint64_t distance(const Allocation& allocation, Address address) {
  if (address < allocation.base) return allocation.base - address;
  const Address end = allocation.base + allocation.size;
  return address < end ? 0 : address - end + 1;
}

}  // namespace

struct Memory::Impl {
  std::map<Address, std::unique_ptr<Allocation>> all;   // live and freed; ranges never overlap
  std::vector<std::unique_ptr<Allocation>> forgotten;   // host memory that was known once; observers may still hold pointers to it
  std::uint64_t in_use = 0;
  std::uint64_t capacity = ~std::uint64_t{0};
  std::uint64_t next_serial = 1;
};

Memory::Memory() : impl_(std::make_unique<Impl>()) {}

Memory::~Memory() {
  for (auto& [base, allocation] : impl_->all)
    if (!allocation->foreign) unmap_guarded(allocation->data, allocation->size);
}

Allocation* Memory::allocate(std::uint64_t size, MemoryKind kind, std::string label) {
  if (size > impl_->capacity || impl_->in_use > impl_->capacity - size) return nullptr;
  std::byte* data = map_guarded(size);
  if (data == nullptr) return nullptr;
  auto allocation = std::make_unique<Allocation>();
  allocation->data = data;
  allocation->base = reinterpret_cast<Address>(data) + (host_visible(kind) ? 0 : kDeviceOffset);
  allocation->size = size;
  allocation->kind = kind;
  allocation->read_only = kind == MemoryKind::constant;
  allocation->all_initialised = kind == MemoryKind::constant || kind == MemoryKind::module_variable;
  allocation->label = std::move(label);
  allocation->serial = impl_->next_serial++;
  impl_->in_use += size;
  Allocation* result = allocation.get();
  impl_->all.emplace(result->base, std::move(allocation));
  return result;
}

Allocation* Memory::adopt(std::byte* data, std::uint64_t size, std::string label) {
  const auto base = reinterpret_cast<Address>(data);
  const auto after = impl_->all.upper_bound(base);
  if (after != impl_->all.end() && after->first - base < size) return nullptr;
  if (after != impl_->all.begin() && base - std::prev(after)->first < std::prev(after)->second->size) return nullptr;
  auto allocation = std::make_unique<Allocation>();
  allocation->data = data;
  allocation->base = base;
  allocation->size = size;
  allocation->kind = MemoryKind::pinned;
  allocation->foreign = true;
  allocation->all_initialised = true;
  allocation->label = std::move(label);
  allocation->serial = impl_->next_serial++;
  return impl_->all.emplace(base, std::move(allocation)).first->second.get();
}

bool Memory::free(Address base) {
  const auto found = impl_->all.find(base);
  if (found == impl_->all.end() || !found->second->live) return false;
  Allocation& allocation = *found->second;
  if (allocation.foreign) {   // the program may register a part of it, or more, next time
    allocation.live = false;
    impl_->forgotten.push_back(std::move(found->second));
    impl_->all.erase(found);
    return true;
  }
  retire(allocation.data, allocation.size);
  allocation.live = false;
  allocation.initialised = {};
  allocation.written = {};
  allocation.host_written = {};
  impl_->in_use -= allocation.size;
  return true;
}

Allocation* Memory::find(Address address) {
  auto after = impl_->all.upper_bound(address);
  if (after == impl_->all.begin()) return nullptr;
  Allocation& allocation = *std::prev(after)->second;
  return allocation.live && address - allocation.base < allocation.size ? &allocation : nullptr;
}

const Allocation* Memory::nearest(Address address) const {
  const auto after = impl_->all.upper_bound(address);
  const Allocation* above = after == impl_->all.end() ? nullptr : after->second.get();
  const Allocation* below = after == impl_->all.begin() ? nullptr : std::prev(after)->second.get();
  if (below == nullptr || above == nullptr) return below != nullptr ? below : above;
  return distance(*below, address) <= distance(*above, address) ? below : above;
}

std::vector<Allocation*> Memory::live() {
  std::vector<Allocation*> result;
  for (auto& [base, allocation] : impl_->all)
    if (allocation->live) result.push_back(allocation.get());
  return result;
}

std::uint64_t Memory::bytes_in_use() const { return impl_->in_use; }
void Memory::set_capacity(std::uint64_t bytes) { impl_->capacity = bytes; }

}  // namespace kforge::emulator
