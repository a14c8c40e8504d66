// Which bytes of a block's shared memory ordinary instructions wrote and no proxy fence has handed over yet. Bulk copies and wgmma read shared memory
// through another proxy, the async one: between a write and such a read there must be a fence.proxy.async (PTX manual, "Async proxy"), in
// the writing thread after its write (CUDA programming guide), or, as the memory model has it, anywhere on the way from one to the other: in
// the thread that starts the read. Whether the two are ordered at all is the race detector's question.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace kforge::emulator {

struct UnfencedWrite {
  std::uint32_t thread = 0;      // that wrote, in its block
  std::uint32_t location = 0;    // of the write
  std::uint64_t offset = 0;      // in the shared window
};

class ProxyWatch {
 public:
  // `clock` is that of all blocks of the launch, and outlives them.
  ProxyWatch(std::uint32_t shared_bytes, std::uint32_t threads, std::uint64_t& clock) : cells_(shared_bytes / kGranule + 1), fenced_(threads), now_(&clock) {}

  // By a thread of the block that `writer` watches: another one of the cluster, which stays as long.
  void wrote(std::uint64_t offset, std::uint32_t bytes, const ProxyWatch& writer, std::uint32_t thread, std::uint32_t location);
  void wrote_by_async_proxy(std::uint64_t offset, std::uint64_t bytes);
  void fence(std::uint32_t thread);
  // The first byte of the range that `reader` may not read through the async proxy.
  std::optional<UnfencedWrite> find(std::uint64_t offset, std::uint64_t bytes, std::uint32_t reader) const;

 private:
  static constexpr std::uint64_t kGranule = 4;
  struct Cell {
    std::uint64_t time = 0;      // 0: nobody wrote
    const ProxyWatch* writer = nullptr;
    std::uint32_t thread = 0, location = 0;
  };
  std::vector<Cell> cells_;
  std::vector<std::uint64_t> fenced_;   // by thread: when it last fenced
  std::uint64_t* now_;
};

}  // namespace kforge::emulator
