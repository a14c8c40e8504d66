// Room for the slots of a bank. It starts at a cache line: every slot but a predicate's is a multiple of a line, so that no wide access
// to one lies across two lines.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace kforge::emulator {

template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <class Other>
  LineAllocator(const LineAllocator<Other>&) {}

  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* from, std::size_t) { ::operator delete(from, kLine); }   // clang 14 has no sized one
  bool operator==(const LineAllocator&) const = default;
};

using SlotBytes = std::vector<std::byte, LineAllocator<std::byte>>;

}  // namespace kforge::emulator
