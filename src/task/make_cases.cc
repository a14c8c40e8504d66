// The cases of a check (contracts.md, "Cases"): few enough for a light kernel's check to take less than a second, and such that each
// kind of boundary appears.
//
// A built-in size sets one dimension to a special extent and the others to min(measure, 65). Where `where` forbids that, the
// next extent up to 64 above is tried ("cols % 4 == 0": 36 in place of 33), with other bases for the rest (64, 32, ... and at
// last the measured ones, if the tensors stay small), so that a constrained task keeps its boundaries. A size that
// no such step reaches is left out.
//
// Between the boundaries, and beyond them, two sizes are drawn with the fresh seed: no candidate knows them.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "task/adversarial.h"
#include "task/cases.h"
#include "task/expression.h"
#include "task/low_bits.h"
#include "task/random.h"
#include "task/values.h"

namespace kforge::task {
namespace {

constexpr std::array<std::int64_t, 6> kSpecialExtents{1, 2, 31, 32, 33, 127};  // 127: the prime
constexpr std::int64_t kUnmeasured = 65;                  // the most of a dimension that no measured size names
constexpr std::array<std::int64_t, 9> kOtherBases{64, 48, 32, 16, 128, 256, 1024, 4096, std::numeric_limits<std::int64_t>::max()};
constexpr std::int64_t kReach = 64;                       // how far above a forbidden extent an allowed one is looked for
constexpr std::int64_t kSmallElements = 1 << 22;          // of all tensors: what a built-in size may have off the usual base
constexpr std::int64_t kPoolElements = 32;
constexpr std::uint32_t kRepeats = 5, kMostPairs = 8;
// Adversarial values want one long dimension: only there does a thread meet two elements, a counter of 8 bits its end, a sum its cancellation.
constexpr std::array<std::int64_t, 5> kLongExtents{65537, 16411, 4099, 1057, 257};
constexpr std::int64_t kLongElements = 1 << 18;           // of all tensors

constexpr std::size_t kDrawn = 2;                         // sizes
constexpr std::int64_t kDrawnAbove = 128, kDrawnElements = 1 << 17;   // of the first one, as far as the measured sizes allow; of all tensors
constexpr std::uint64_t kDrawAttempts = 64, kOfOneGrain = 8;

}  // namespace

std::optional<std::int64_t> total_elements(const Task& task, const Sizes& sizes) {
  std::int64_t total = 0;
  for (const auto& tensor : task.tensors) {
    const auto placed = layout(tensor, sizes);
    if (!placed || placed->elements == 0 || __builtin_add_overflow(total, placed->elements, &total)) return std::nullopt;
    if (!arguments_at(tensor.values, sizes)) return std::nullopt;
  }
  return total;
}

namespace {

class CaseMaker {
 public:
  CaseMaker(const Task& task, const CaseOptions& options) : task_(task), options_(options), names_(task.size_names()) {
    for (const auto& condition : task.where)
      if (auto parsed = Expression::parse_condition(condition)) where_.push_back(std::move(*parsed));
    for (const auto& row : task.measure)
      for (const auto& [name, extent] : row) largest_[name] = std::max(largest_[name], extent);
  }

  std::vector<Case> run() {
    for (const auto& sizes : task_.verify) add(sizes, "declared");
    for (const auto& name : names_)
      for (const auto special : special_extents(name))
        if (const auto sizes = around(name, special)) add(*sizes, "declared");
    const auto base = base_sizes();
    for (const auto kind : kAdversarialKinds)
      if (base) {
        const auto sizes = with_long_dimension(*base);
        if (applies(kind, sizes)) add(sizes, kind);
      }
    if (base) add_pairs(*base);
    for (const auto& sizes : task_.measure)   // another path may be taken there
      if (usable(sizes, kDrawnElements)) add_pairs(sizes);
    if (base) add(*base, "declared", kRepeats);
    if (options_.fresh_seed != 0) add_drawn();
    if (options_.with_measure)
      for (const auto& sizes : task_.measure) add_measure(sizes);
    return std::move(cases_);
  }

 private:
  enum class Free : std::uint8_t { all, equal, one };   // of drawn sizes: each on its own, one extent for all, the others as measured

  std::vector<std::int64_t> special_extents(const std::string& name) const {
    std::vector<std::int64_t> extents(kSpecialExtents.begin(), kSpecialExtents.end());
    const auto tiles = options_.tile_sizes.find(name);
    if (tiles == options_.tile_sizes.end()) return extents;
    for (const auto tile : tiles->second)
      for (const auto extent : {tile - 1, tile, tile + 1, tile + tile / 2 + 1})   // the last: well inside a second tile
        if (extent > 0) extents.push_back(extent);
    return extents;
  }

  bool allowed(const Sizes& sizes) const {
    return std::all_of(where_.begin(), where_.end(), [&](const Expression& condition) {
      const auto value = condition.value(sizes);
      return value && *value != 0;
    });
  }

  // Allowed, and each tensor has elements.
  bool usable(const Sizes& sizes, std::int64_t most_elements) const {
    if (!allowed(sizes)) return false;
    const auto elements = total_elements(task_, sizes);
    return elements && *elements <= most_elements;
  }

  Sizes with_base(std::int64_t base) const {
    Sizes sizes;
    for (const auto& name : names_) {
      const auto found = largest_.find(name);
      sizes[name] = std::min(found == largest_.end() ? base : found->second, base);
    }
    return sizes;
  }

  std::optional<Sizes> around(const std::string& name, std::int64_t special) const {
    auto usual = with_base(options_.base);
    usual[name] = special;
    if (usable(usual, std::numeric_limits<std::int64_t>::max())) return usual;
    std::vector<std::int64_t> bases{options_.base, special};
    bases.insert(bases.end(), kOtherBases.begin(), kOtherBases.end());
    for (std::int64_t extent = special; extent <= special + kReach; ++extent)
      for (const auto base : bases) {
        auto sizes = with_base(base == special ? extent : base);
        sizes[name] = extent;
        if (usable(sizes, kSmallElements)) return sizes;
      }
    return std::nullopt;
  }

  // The base with its last dimension that can be longer as long as the elements allow, at most as measured; the base when none can.
  Sizes with_long_dimension(const Sizes& base) const {
    for (auto name = names_.rbegin(); name != names_.rend(); ++name) {
      const auto largest = largest_.find(*name);
      for (const auto extent : kLongExtents) {
        const auto from = std::min(extent, largest == largest_.end() ? extent : largest->second);
        auto sizes = base;
        for (auto& at = sizes[*name] = from; from > base.at(*name) && at <= from + kReach; ++at)
          if (usable(sizes, kLongElements)) return sizes;
      }
    }
    return base;
  }

  // The base of adversarial values, and the size of repeated calls.
  std::optional<Sizes> base_sizes() const {
    const auto usual = with_base(options_.base);
    if (usable(usual, std::numeric_limits<std::int64_t>::max())) return usual;
    for (const auto base : kOtherBases)
      if (const auto sizes = with_base(base); usable(sizes, kSmallElements)) return sizes;
    for (const auto& made : cases_)
      if (usable(made.sizes, kSmallElements)) return made.sizes;
    return std::nullopt;
  }

  bool applies(std::string_view kind, const Sizes& sizes) const {
    return std::any_of(task_.tensors.begin(), task_.tensors.end(), [&](const Tensor& tensor) {
      const auto arguments = arguments_at(tensor.values, sizes);
      return tensor.role != Role::out && arguments && adversarial(kind, tensor.values, *arguments, tensor.dtype);
    });
  }

  std::string label(const Sizes& sizes) const {
    std::string text;
    for (const auto& name : names_)
      if (const auto found = sizes.find(name); found != sizes.end()) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, found->second);
    return text.empty() ? "fixed size" : text;
  }

  void add(const Sizes& sizes, std::string_view values, std::uint32_t calls = 1) {
    const auto elements = total_elements(task_, sizes);
    if (!allowed(sizes) || !elements) return;
    const auto duplicate = std::find_if(cases_.begin(), cases_.end(), [&](const Case& made) { return made.sizes == sizes && made.values == values; });
    if (duplicate != cases_.end()) {
      duplicate->calls = std::max(duplicate->calls, calls);
      return;
    }
    // Seeds of neighbouring cases are far apart: a case's calls use seed, seed + 1, ...
    const auto known = mix64(options_.seed ^ mix64(cases_.size() + 1)), seed = options_.fresh_seed == 0 ? known : mix64(known ^ options_.fresh_seed);
    cases_.push_back({sizes, std::string(values), seed, calls, false, label(sizes)});
  }

  // Enough pairs for a judgement where an output has few elements.
  void add_pairs(const Sizes& sizes) {
    const std::uint32_t pairs = std::min(draws_to_pool(task_, sizes), kMostPairs);
    for (const std::string& kind : low_bits_kinds(task_)) {
      const std::size_t before = cases_.size();
      add(sizes, kind, 2 * pairs);
      if (cases_.size() > before) cases_.back().seed &= ~std::uint64_t{1};
    }
  }

  // The first is odd in all dimensions and above the boundaries. Where `where` or the elements forbid what is drawn, equal extents, all but one as measured, and
  // coarser multiples are tried.
  void add_drawn() {
    const CounterRandom random(options_.fresh_seed);
    for (std::uint64_t attempt = 0, found = 0; attempt < kDrawAttempts && found < kDrawn; ++attempt) {
      const Sizes sizes = drawn(random.stream(attempt), found == 0, std::int64_t{1} << attempt / kOfOneGrain, static_cast<Free>(attempt / 2 % 3));
      if (!usable(sizes, kDrawnElements)) continue;
      const std::size_t before = cases_.size();
      add(sizes, "declared");
      if (cases_.size() > before && found++ == 0) add_pairs(sizes);
    }
  }

  // Extents up to the measured ones: uniform above the boundaries, else with a uniform logarithm; with a `grain` of 1 odd, else multiples of it.
  Sizes drawn(const CounterRandom& random, bool above, std::int64_t grain, Free free) const {
    const auto highest = [&](const std::string& name) { return largest_.contains(name) ? largest_.at(name) : kUnmeasured; };
    const auto rounded = [&](std::int64_t extent) { return std::max<std::int64_t>(grain == 1 ? extent - 1 + extent % 2 : extent / grain * grain, 1); };
    std::int64_t common = std::numeric_limits<std::int64_t>::max();
    for (const auto& name : names_) common = std::min(common, highest(name));
    Sizes sizes;
    std::vector<std::string> drawn_names;
    const std::size_t only = free == Free::one && !names_.empty() ? random.below(names_.size(), names_.size()) : 0;
    for (std::size_t k = 0; k < names_.size(); ++k) {
      const auto& name = names_[k];
      if (free == Free::one && k != only && !task_.measure.empty() && task_.measure.front().contains(name)) {
        sizes[name] = task_.measure.front().at(name);
        continue;
      }
      drawn_names.push_back(name);
      const std::int64_t most = free == Free::equal ? common : highest(name), least = std::min(kDrawnAbove + 1, most);
      const double unit = random.unit(free == Free::equal ? 0 : k);
      sizes[name] = rounded(above ? least + std::llround(unit * static_cast<double>(most - least)) : std::llround(std::pow(static_cast<double>(most), unit)));
    }
    return shrunk(std::move(sizes), drawn_names, rounded);
  }

  // The longest of `names` are shortened until the tensors are small; what `rounded` leaves as it is ends it.
  template <class Rounded>
  Sizes shrunk(Sizes sizes, const std::vector<std::string>& names, Rounded rounded) const {
    const auto smaller = [&](const std::string& a, const std::string& b) { return sizes.at(a) < sizes.at(b); };
    while (!names.empty() && total_elements(task_, sizes).value_or(0) > kDrawnElements) {
      const std::int64_t largest = sizes.at(*std::max_element(names.begin(), names.end(), smaller)), next = rounded(largest * 5 / 8);
      if (next >= largest) break;
      for (const auto& name : names)
        if (sizes.at(name) == largest) sizes.at(name) = next;
    }
    return sizes;
  }

  // A measured size that was tried already is tried once: that case is the measured one.
  void add_measure(const Sizes& sizes) {
    add(sizes, "declared");
    for (auto& made : cases_)
      if (made.sizes == sizes && made.values == "declared") made.measure = true;
  }

  const Task& task_;
  const CaseOptions& options_;
  std::vector<std::string> names_;
  std::vector<Expression> where_;
  Sizes largest_;
  std::vector<Case> cases_;
};

}  // namespace

std::uint32_t draws_to_pool(const Task& task, const Sizes& sizes) {
  std::int64_t draws = 1;
  for (const auto& tensor : task.tensors) {
    if (tensor.role == Role::in || !is_float(tensor.dtype)) continue;
    const auto placed = layout(tensor, sizes);
    if (placed && placed->elements > 0) draws = std::max(draws, (kPoolElements + placed->elements - 1) / placed->elements);
  }
  return static_cast<std::uint32_t>(draws);
}

Expected<std::vector<Case>> make_cases(const Task& task, const CaseOptions& options) {
  auto cases = CaseMaker(task, options).run();
  if (!cases.empty()) return cases;
  return fail(ErrorCode::bad_input, "no size is left to try", {task.path, 0, 0},
              "`where` excludes every size and no verify or measure row gives one");
}

}  // namespace kforge::task
