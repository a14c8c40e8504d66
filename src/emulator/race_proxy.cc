#include "emulator/race_proxy.h"

#include <algorithm>

namespace kforge::emulator {

void ProxyWatch::wrote(std::uint64_t offset, std::uint32_t bytes, const ProxyWatch& writer, std::uint32_t thread, std::uint32_t location) {
  for (std::uint64_t i = offset / kGranule; i <= (offset + bytes - 1) / kGranule && i < cells_.size(); ++i) cells_[i] = {*now_, &writer, thread, location};
}

void ProxyWatch::wrote_by_async_proxy(std::uint64_t offset, std::uint64_t bytes) {
  const auto first = cells_.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(offset / kGranule, cells_.size()));
  const auto last = cells_.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>((offset + bytes + kGranule - 1) / kGranule, cells_.size()));
  std::fill(first, last, Cell{});
}

void ProxyWatch::fence(std::uint32_t thread) { fenced_[thread] = ++*now_; }

std::optional<UnfencedWrite> ProxyWatch::find(std::uint64_t offset, std::uint64_t bytes, std::uint32_t reader) const {
  for (std::uint64_t i = offset / kGranule; i <= (offset + bytes - 1) / kGranule && i < cells_.size(); ++i) {
    const Cell& cell = cells_[i];
    if (cell.time != 0 && cell.writer->fenced_[cell.thread] <= cell.time && fenced_[reader] <= cell.time) return UnfencedWrite{cell.thread, cell.location, i * kGranule};
  }
  return std::nullopt;
}

}  // namespace kforge::emulator
