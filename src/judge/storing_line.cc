#include "judge/storing_line.h"

#include <algorithm>

namespace kforge::judge {
namespace {

// 0: the line stored the byte, or others beside it where it is not known which.
std::uint64_t distance(const evidence::StoreRange& range, std::uint64_t offset) {
  if (offset < range.first) return range.first - offset;
  if (offset >= range.end) return offset - range.end + 1;
  const bool is_known = offset / 64 < range.written.size();
  return is_known && (range.written[offset / 64] >> offset % 64 & 1) == 0 ? 1 : 0;
}

}  // namespace

StoringLines::StoringLines(const evidence::LaunchLog& log, std::string_view tensor) {
  const auto collect = [&](const auto& wanted) {
    for (const evidence::KernelProfile& kernel : log.kernels)
      for (const evidence::LineProfile& line : kernel.lines)
        for (const evidence::StoreRange& range : line.stores)
          if (wanted(range.tensor)) entries_.push_back({{line.position, kernel.kernel}, range});
    return !entries_.empty();
  };
  const auto is_output = [&](const std::string& name) {
    return std::any_of(log.coverage.begin(), log.coverage.end(), [&](const evidence::Coverage& c) { return c.tensor == name; });
  };
  own_ = collect([&](const std::string& name) { return name == tensor; });
  if (!own_) collect([&](const std::string& name) { return !is_output(name); });
}

StoringLine StoringLines::nearest(std::uint64_t offset) const {
  if (!own_) return busiest();
  const Entry* best = nullptr;
  for (const Entry& entry : entries_) {
    const std::uint64_t far = distance(entry.range, offset), least = best == nullptr ? ~std::uint64_t{0} : distance(best->range, offset);
    if (best == nullptr || far < least || (far == least && entry.range.bytes >= best->range.bytes)) best = &entry;
  }
  return best == nullptr ? StoringLine{} : best->line;
}

StoringLine StoringLines::busiest() const {
  const auto most = std::max_element(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.range.bytes < b.range.bytes; });
  return most == entries_.end() ? StoringLine{} : most->line;
}

std::size_t byte_offset(const task::TensorLayout& layout, std::size_t element, task::Dtype dtype) {
  std::size_t at = 0;
  for (std::size_t d = layout.shape.size(); d-- > 0;) {
    const auto extent = static_cast<std::size_t>(layout.shape[d]);
    if (extent == 0) return 0;
    at += element % extent * static_cast<std::size_t>(layout.strides[d]);
    element /= extent;
  }
  return at * task::size_bytes(dtype);
}

}  // namespace kforge::judge
