// Inputs: from (task, tensor, sizes, kind of values, seed) to bytes.
//
// Each element's value is a function of its row-major index; it is rounded to the tensor's type and stored where the strides put
// it. Bytes between elements are 0xff (NaN, or -1), so that a kernel which ignores the strides is wrong and seen to be.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <thread>

#include <fmt/format.h>

#include "task/adversarial.h"
#include "task/cases.h"
#include "task/dtype_convert.h"
#include "task/low_bits.h"
#include "task/random.h"
#include "task/values.h"

namespace kforge::task {
namespace {

bool is_row_major(const TensorLayout& layout) {
  std::int64_t expected = 1;
  for (std::size_t i = layout.shape.size(); i-- > 0; expected *= layout.shape[i])
    if (layout.shape[i] != 1 && layout.strides[i] != expected) return false;
  return true;
}

// Writes elements [first, last) of a contiguous run whose values `value(index)` gives.
template <class Value>
void store_run(Dtype dtype, std::byte* at, std::uint64_t first, std::uint64_t last, const Value& value) {
  if (dtype == Dtype::f32) {  // the common one, without a call per element
    for (auto i = first; i < last; ++i, at += 4) {
      const auto number = static_cast<float>(value(i));
      std::memcpy(at, &number, 4);
    }
    return;
  }
  const auto bytes = size_bytes(dtype);
  for (auto i = first; i < last; ++i, at += bytes) store_element(dtype, at, value(i));
}

// Values that a run of indices is drawn for at once: `draw(first, numbers)` draws, `value(number)` makes a value of each.
template <class Draw, class Value>
struct Drawn {
  Draw draw;
  Value value;
  double operator()(std::uint64_t i) const {
    double number = 0;
    draw(i, std::span(&number, 1));
    return value(number);
  }
};
template <class Draw, class Value>
Drawn(Draw, Value) -> Drawn<Draw, Value>;

template <class Draw, class Value>
void store_run(Dtype dtype, std::byte* at, std::uint64_t first, std::uint64_t last, const Drawn<Draw, Value>& values) {
  std::array<double, 1024> numbers{};
  for (auto start = first; start < last; start += numbers.size()) {
    const auto count = std::min<std::uint64_t>(numbers.size(), last - start);
    values.draw(start, std::span(numbers.data(), count));
    store_run(dtype, at + (start - first) * size_bytes(dtype), 0, count, [&](std::uint64_t i) { return values.value(numbers[i]); });
  }
}

class Filler {
 public:
  Filler(const Tensor& tensor, const TensorLayout& layout, std::span<std::byte> out) : dtype_(tensor.dtype), layout_(layout), out_(out) {}

  template <class Value>
  void fill(const Value& value) {
    const auto count = static_cast<std::uint64_t>(layout_.elements);
    if (!is_row_major(layout_)) return fill_strided(value);
    const std::uint64_t threads = count < (1u << 20) ? 1 : std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
    std::vector<std::thread> helpers;
    for (std::uint64_t t = 1; t < threads; ++t)
      helpers.emplace_back([&, t] { run(count / threads * t, t + 1 == threads ? count : count / threads * (t + 1), value); });
    run(0, count / threads, value);
    for (auto& helper : helpers) helper.join();
  }

 private:
  template <class Value>
  void run(std::uint64_t first, std::uint64_t last, const Value& value) {
    store_run(dtype_, out_.data() + first * size_bytes(dtype_), first, last, value);
  }

  template <class Value>
  void fill_strided(const Value& value) {
    const auto bytes = size_bytes(dtype_);
    std::vector<std::int64_t> index(layout_.shape.size(), 0);
    for (std::int64_t i = 0; i < layout_.elements; ++i) {
      const auto offset = std::inner_product(index.begin(), index.end(), layout_.strides.begin(), std::int64_t{0});
      store_element(dtype_, out_.data() + static_cast<std::uint64_t>(offset) * bytes, value(static_cast<std::uint64_t>(i)));
      for (std::size_t d = index.size(); d-- > 0;) {
        if (++index[d] < layout_.shape[d]) break;
        index[d] = 0;
      }
    }
  }

  Dtype dtype_;
  const TensorLayout& layout_;
  std::span<std::byte> out_;
};

std::uint64_t last_axis(const TensorLayout& layout) { return layout.shape.empty() ? 1 : static_cast<std::uint64_t>(layout.shape.back()); }

// A random order of 0 .. n - 1 for each row of the last axis (Fisher and Yates).
std::vector<std::uint32_t> permutations(const TensorLayout& layout, const CounterRandom& random) {
  const auto n = last_axis(layout);
  std::vector<std::uint32_t> order(static_cast<std::uint64_t>(layout.elements));
  for (std::uint64_t start = 0; start < order.size(); start += n) {
    for (std::uint64_t i = 0; i < n; ++i) order[start + i] = static_cast<std::uint32_t>(i);
    for (std::uint64_t i = n; i-- > 1;) std::swap(order[start + i], order[start + random.below(start + i, i + 1)]);
  }
  return order;
}

// The value of the type nearest to `end` on the side of `towards`: rounding to a narrow type may step over an end of the range.
double inside(double end, double towards, Dtype dtype) {
  const double rounded = round_to(dtype, end);
  if ((towards < end) ? rounded <= end : rounded >= end) return rounded;
  const double relative = std::abs(end) * unit_roundoff(dtype) * 2;
  const double step = std::max(relative, is_float(dtype) ? smallest_subnormal(dtype) : 1.0);
  return round_to(dtype, towards < end ? end - step : end + step);
}

// The declared range, its ends values of the type.
ValueRange representable_range(const Tensor& tensor, const std::vector<double>& arguments) {
  const auto range = declared_range(tensor.values, arguments, tensor.dtype);
  const double low = inside(range.lowest, range.highest, tensor.dtype);
  return {low, std::max(low, inside(range.highest, range.lowest, tensor.dtype))};
}

Expected<void> fill_declared(const Tensor& tensor, const std::vector<double>& a, const TensorLayout& layout, const CounterRandom& random, Filler& filler) {
  const auto& kind = tensor.values.kind;
  const auto n = last_axis(layout);
  if (kind == "normal") {
    filler.fill(Drawn{[&](std::uint64_t first, std::span<double> out) { normals(random, first, out); }, [mean = a[0], deviation = a[1]](double x) { return mean + deviation * x; }});
  } else if (kind == "uniform") {
    const double low = a[0], width = a[1] - a[0];
    const auto ends = representable_range(tensor, a);
    filler.fill(Drawn{[&](std::uint64_t first, std::span<double> out) { units(random, first, out); }, [=](double x) { return std::clamp(low + width * x, ends.lowest, ends.highest); }});
  } else if (kind == "integers") {
    const auto count = static_cast<std::uint64_t>(std::min(a[1] - a[0], 0x1p63)) + 1;
    filler.fill([&](std::uint64_t i) { return a[0] + static_cast<double>(random.below(i, count)); });
  } else if (kind == "constant") {
    filler.fill([&](std::uint64_t) { return a[0]; });
  } else if (kind == "ramp") {
    filler.fill([&](std::uint64_t i) { return a[0] + a[1] * static_cast<double>(i); });
  } else if (kind == "one_hot") {
    filler.fill([&](std::uint64_t i) { return random.below(i / n, n) == i % n ? 1.0 : 0.0; });
  } else {
    if (n > 0 && static_cast<double>(n - 1) > max_finite(tensor.dtype))
      return fail(ErrorCode::bad_input, fmt::format("a permutation of {} does not fit {} ('{}')", n, name(tensor.dtype), tensor.name), {},
                  "use a wider integer type");
    const auto order = permutations(layout, random);
    filler.fill([&](std::uint64_t i) { return static_cast<double>(order[i]); });
  }
  return {};
}

std::uint64_t machine_memory_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

Expected<std::vector<std::byte>> make_input(const Task& task, const Tensor& tensor, const Sizes& sizes, std::string_view values, std::uint64_t seed) {
  if (tensor.role == Role::out) return fail(ErrorCode::bad_input, fmt::format("'{}' is an output and has no input values", tensor.name));
  const bool paired = values.starts_with(kLowBits), declared = values == "declared" || paired;
  if (!declared && !is_adversarial(values)) return fail(ErrorCode::bad_input, fmt::format("no kind of values '{}'", values));
  const auto placed = layout(tensor, sizes);
  if (!placed) return Unexpected(placed.error());
  const auto arguments = arguments_at(tensor.values, sizes);
  if (!arguments) return Unexpected(arguments.error());
  if (placed->bytes > machine_memory_bytes())
    return fail(ErrorCode::limit, fmt::format("tensor '{}' has {} bytes, more than this machine's memory", tensor.name, placed->bytes), {},
                "use smaller sizes");
  std::vector<std::byte> out(placed->bytes, is_row_major(*placed) ? std::byte{} : std::byte{0xff});
  if (placed->elements == 0) return out;
  const auto random_of = [&](std::uint64_t from) { return CounterRandom(mix64(from) ^ hash_text(task.name) ^ mix64(hash_text(tensor.name)) ^ mix64(hash_text(values) + 1)); };
  const CounterRandom random = random_of(paired ? seed / 2 : seed);
  Filler filler(tensor, *placed, out);
  if (!declared) {
    if (const auto generator = adversarial(values, tensor.values, *arguments, tensor.dtype)) {
      const auto ends = representable_range(tensor, *arguments);
      filler.fill([&](std::uint64_t i) { return std::clamp((*generator)(random, i), ends.lowest, ends.highest); });
      return out;
    }
  }
  if (auto done = fill_declared(tensor, *arguments, *placed, random, filler); !done) return Unexpected(done.error());
  if (paired && tensor.dtype == Dtype::f32) {
    const bool moved = values.substr(kLowBits.size()) == tensor.name;
    set_low_bits(out, random_of(moved ? seed : seed / 2).stream(1), representable_range(tensor, *arguments));
  }
  return out;
}

}  // namespace kforge::task
