// The sizes of an export's test: small, and such that every path of a kernel is entered that was tuned for large ones. Each dimension is in turn 1, 2, and around
// the widths of vectors, warps and tiles, once with the others at 64 (all rows aligned) and once at 65 (none); and the tuned extent and its neighbours, with the others at 8
// and at 9.
#include <algorithm>

#include "export/parcel.h"
#include "task/cases.h"

namespace kforge::exporting {
namespace {

constexpr std::int64_t kAligned = 64, kShort = 8;
constexpr std::int64_t kVector = 4, kTile = 128;
constexpr std::int64_t kMaxElements = 1 << 20;
constexpr double kMaxWork = 1 << 23;   // of the reference, as the product of all sizes, for every draw that a small output is judged by

bool is_light(const task::Task& task, const task::Sizes& sizes) {
  const auto elements = task::total_elements(task, sizes);
  double work = elements ? task::draws_to_pool(task, sizes) : 0;
  for (const auto& [name, extent] : sizes) work *= static_cast<double>(extent);
  return elements && *elements <= kMaxElements && work <= kMaxWork;
}

// Halved until the neighbours above it are light, too: what is odd, even or a multiple near it stays near a multiple of a large power of two.
std::int64_t light_extent(const task::Task& task, const std::string& name, std::int64_t tuned, const task::Sizes& largest) {
  task::Sizes sizes;
  for (const auto& [other, extent] : largest) sizes[other] = std::min(extent, kShort + 1);
  while (tuned > 1 && (sizes[name] = tuned + tuned / 2 + 1, !is_light(task, sizes))) tuned /= 2;
  return tuned;
}

class SizeList {
 public:
  explicit SizeList(const task::Task& task) : task_(task) {}
  void add(const task::CaseOptions& options, std::int64_t least) {
    const auto cases = task::make_cases(task_, options);
    if (!cases) return;
    for (const task::Case& c : *cases) {
      const bool wanted = least == 0 || std::any_of(c.sizes.begin(), c.sizes.end(), [&](const auto& size) { return size.second >= least; });
      if (wanted && is_light(task_, c.sizes) && std::find(out_.begin(), out_.end(), c.sizes) == out_.end()) out_.push_back(c.sizes);
    }
  }
  std::vector<task::Sizes> take() { return std::move(out_); }

 private:
  const task::Task& task_;
  std::vector<task::Sizes> out_;
};

}  // namespace

std::vector<task::Sizes> test_sizes(const Parcel& parcel) {
  const task::Task& task = parcel.task;
  SizeList list(task);
  task::CaseOptions options;
  options.with_measure = false;
  for (const std::string& name : task.size_names()) options.tile_sizes[name] = {kVector, kTile};
  for (const std::int64_t base : {kAligned + 1, kAligned}) {
    options.base = base;
    list.add(options, 0);
  }
  task::Sizes largest;
  for (const Winner& winner : parcel.winners)
    for (const auto& [name, extent] : winner.sizes) largest[name] = std::max(largest[name], extent);
  options.tile_sizes.clear();
  for (const Winner& winner : parcel.winners)
    for (const auto& [name, extent] : winner.sizes)
      if (extent > kTile) options.tile_sizes[name].push_back(light_extent(task, name, extent, largest));
  for (const std::int64_t base : {kShort + 1, kShort}) {
    options.base = base;
    if (!options.tile_sizes.empty()) list.add(options, kTile);
  }
  return list.take();
}

}  // namespace kforge::exporting
