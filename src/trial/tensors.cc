#include "trial/tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>
#include <utility>

#include "task/dtype_convert.h"
#include "task/random.h"

namespace kforge::trial {
namespace {

constexpr std::int64_t kTileElements = 1 << 20;

std::uint32_t reference_bytes(task::Dtype dtype) {
  if (!task::is_float(dtype)) return task::size_bytes(dtype);
  return dtype == task::Dtype::f64 ? 8 : 4;
}

bool same_in_reference(task::Dtype dtype) {
  return !task::is_float(dtype) || dtype == task::Dtype::f32 || dtype == task::Dtype::tf32 || dtype == task::Dtype::f64;
}

std::uint64_t aligned(std::uint64_t offset) { return (offset + 255) & ~std::uint64_t{255}; }

bool may_repeat(const task::Tensor& tensor, std::string_view values) {
  return values == "declared" && tensor.strides.empty() && (tensor.values.kind == "normal" || tensor.values.kind == "uniform");
}

Expected<Bytes> repeated_tile(const task::Task& task, const task::Tensor& tensor, const task::Case& run, std::uint64_t bytes) {
  task::Tensor small = tensor;
  small.shape = {std::to_string(kTileElements)};
  auto tile = task::make_input(task, small, run.sizes, run.values, run.seed);
  if (!tile || tile->empty()) return tile;
  Bytes out(bytes);
  for (std::uint64_t at = 0; at < bytes; at += tile->size()) std::memcpy(out.data() + at, tile->data(), std::min<std::uint64_t>(tile->size(), bytes - at));
  return out;
}

double reference_element(const TensorPlace& place, const std::byte* at) {
  if (!task::is_float(place.tensor->dtype)) return task::load_element(place.tensor->dtype, at);
  if (place.element_bytes == 8) {
    double value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  float value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// A value in the form in which it is passed, in the low bytes of a 64-bit word.
std::uint64_t passed(task::Dtype dtype, double value, bool for_reference) {
  std::uint64_t word = 0;
  auto* bytes = reinterpret_cast<std::byte*>(&word);
  const bool as_float = for_reference && task::is_float(dtype) && dtype != task::Dtype::f64;
  if (as_float) task::store_element(task::Dtype::f32, bytes, task::round_to(dtype, value));
  else task::store_element(dtype, bytes, value);
  return word;
}

}  // namespace

Expected<CaseLayout> lay_out(const task::Task& task, const task::Sizes& sizes, bool for_reference) {
  CaseLayout out;
  out.for_reference = for_reference;
  for (const task::Tensor& tensor : task.tensors) {
    auto layout = task::layout(tensor, sizes);
    if (!layout) return Unexpected(layout.error());
    TensorPlace place;
    place.tensor = &tensor;
    place.element_bytes = for_reference ? reference_bytes(tensor.dtype) : task::size_bytes(tensor.dtype);
    place.bytes = layout->bytes / task::size_bytes(tensor.dtype) * place.element_bytes;
    place.layout = std::move(*layout);
    place.in = out.arena_bytes;
    out.arena_bytes = aligned(out.arena_bytes + place.bytes);
    place.out = out.arena_bytes;
    out.arena_bytes = aligned(out.arena_bytes + place.bytes);
    out.places.push_back(std::move(place));
  }
  out.arena_bytes = std::max<std::uint64_t>(out.arena_bytes, 4096);
  return out;
}

Expected<std::vector<Bytes>> make_inputs(const task::Task& task, const task::Case& run, bool quick) {
  std::vector<Bytes> out;
  for (const task::Tensor& tensor : task.tensors) {
    if (tensor.role == task::Role::out) continue;
    const auto layout = task::layout(tensor, run.sizes);
    if (!layout) return Unexpected(layout.error());
    const bool repeat = quick && layout->elements > kTileElements && may_repeat(tensor, run.values);
    auto bytes = repeat ? repeated_tile(task, tensor, run, layout->bytes) : task::make_input(task, tensor, run.sizes, run.values, run.seed);
    if (!bytes) return Unexpected(bytes.error());
    out.push_back(std::move(*bytes));
  }
  return out;
}

Expected<std::vector<Bytes>> turned_inputs(const task::Task& task, const task::Case& run, std::span<const SharedBytes> known) {
  std::mt19937_64 random(run.seed);
  std::vector<Bytes> out;
  for (const task::Tensor& tensor : task.tensors) {
    if (tensor.role == task::Role::out) continue;
    const auto layout = task::layout(tensor, run.sizes);
    if (!layout) return Unexpected(layout.error());
    const SharedBytes& old = known[out.size()];
    const std::uint64_t size = task::size_bytes(tensor.dtype), elements = old.size() / size;
    if (layout->elements > kTileElements && may_repeat(tensor, run.values) && elements > 1) {
      const auto turn = static_cast<std::ptrdiff_t>((1 + random() % (elements - 1)) * size);
      std::rotate_copy(old.begin(), old.begin() + turn, old.end(), std::back_inserter(out.emplace_back()));
      continue;
    }
    auto bytes = task::make_input(task, tensor, run.sizes, run.values, run.seed);
    if (!bytes) return Unexpected(bytes.error());
    out.push_back(std::move(*bytes));
  }
  return out;
}

void store_for_reference(const TensorPlace& place, std::span<const std::byte> input, std::byte* to) {
  const task::Dtype dtype = place.tensor->dtype;
  if (same_in_reference(dtype)) {
    std::memcpy(to, input.data(), std::min<std::uint64_t>(input.size(), place.bytes));
    return;
  }
  const std::uint32_t size = task::size_bytes(dtype);
  for (std::uint64_t i = 0; i < input.size() / size; ++i) {
    const auto value = static_cast<float>(task::load_element(dtype, input.data() + i * size));
    std::memcpy(to + 4 * i, &value, 4);
  }
}

void nudge_for_reference(const TensorPlace& place, double unit, std::uint64_t seed, std::byte* at) {
  if (!task::is_float(place.tensor->dtype) || place.tensor->values.kind != "normal") return;
  const task::CounterRandom random(seed);
  const auto nudge = [&]<class T>(T) {
    for (std::uint64_t i = 0; i < place.bytes / sizeof(T); ++i) {
      T value;
      std::memcpy(&value, at + i * sizeof(T), sizeof(T));
      value = static_cast<T>(value * (1 + ((random.bits(i) & 1) != 0 ? 2 : -2) * unit));
      std::memcpy(at + i * sizeof(T), &value, sizeof(T));
    }
  };
  if (place.element_bytes == 8) nudge(double{});
  else nudge(float{});
}

std::vector<double> gather_reference(const TensorPlace& place, const std::byte* from) {
  const task::TensorLayout& layout = place.layout;
  std::vector<double> out(static_cast<std::size_t>(std::max<std::int64_t>(layout.elements, 0)));
  std::vector<std::int64_t> index(layout.shape.size(), 0);
  std::int64_t at = 0;
  for (double& value : out) {
    value = reference_element(place, from + static_cast<std::uint64_t>(at) * place.element_bytes);
    for (std::size_t d = index.size(); d-- > 0;) {   // the next index, like an odometer
      at += layout.strides[d];
      if (++index[d] < layout.shape[d]) break;
      at -= layout.strides[d] * layout.shape[d];
      index[d] = 0;
    }
  }
  return out;
}

// By hand: there are some thirty requests a candidate, and a tree of JSON took longer to make than all else that the parent does for one. Names of
// tensors are identifiers.
std::string request_text(const task::Task& task, const CaseLayout& layout, const task::Sizes& sizes, const CallOptions& options) {
  std::string out = "{\"tensors\":[";
  const auto add = [&](fmt::string_view format, const auto&... parts) { fmt::vformat_to(std::back_inserter(out), format, fmt::make_format_args(parts...)); };   // no constant: GCC 12 takes none from a pack
  for (const TensorPlace& place : layout.places) {
    if (&place != layout.places.data()) out += ',';
    add(R"({{"name":"{}","role":{},"bytes":{},"element_bytes":{},"in":{},"out":{})", place.tensor->name, static_cast<int>(place.tensor->role), place.bytes, place.element_bytes, place.in, place.out);
    if (!place.tensor->strides.empty()) add(R"(,"shape":[{}],"strides":[{}])", fmt::join(place.layout.shape, ","), fmt::join(place.layout.strides, ","));
    out += '}';
  }
  std::vector<std::uint64_t> values;
  for (const std::string& name : task.size_names()) values.push_back(static_cast<std::uint64_t>(sizes.at(name)));
  for (const task::Scalar& scalar : task.scalars) values.push_back(passed(scalar.dtype, scalar.value, layout.for_reference));
  add(R"(],"values":[{}],"arena_bytes":{},"sealed_bytes":{},"reset":{},"new_case":{},"serial":{},"thread_instructions":{},"seconds":{},"sampled_blocks":{},"outputs":{},"schedule_seed":{}}})",
      fmt::join(values, ","), options.sealed_bytes != 0 ? 0 : layout.arena_bytes, options.sealed_bytes, options.reset, options.new_case, options.serial, options.thread_instructions, options.seconds,
      options.sampled_blocks, options.outputs, options.schedule_seed);
  return out;
}

}  // namespace kforge::trial
