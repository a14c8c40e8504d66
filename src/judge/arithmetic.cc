#include "judge/arithmetic.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "ptx/form.h"

namespace kforge::judge {
namespace {

// Bits of a significand, the hidden one counted; 0: no floating type.
int significand(ptx::Type type) {
  using ptx::Type;
  switch (type) {
    case Type::f64: return 53;
    case Type::f32: case Type::f32x2: return 24;
    case Type::tf32: case Type::f16: case Type::f16x2: return 11;
    case Type::bf16: case Type::bf16x2: return 8;
    case Type::e4m3: case Type::e4m3x2: return 4;
    case Type::e5m2: case Type::e5m2x2: return 3;
    default: return 0;
  }
}

int significand(task::Dtype dtype) {
  using task::Dtype;
  switch (dtype) {
    case Dtype::f64: return 53;
    case Dtype::f32: return 24;
    case Dtype::tf32: case Dtype::f16: return 11;
    case Dtype::bf16: return 8;
    case Dtype::e4m3: return 4;
    case Dtype::e5m2: return 3;
    default: return 0;
  }
}

constexpr std::array<std::string_view, 14> kArithmetic = {"add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt", "rsqrt", "ex2", "lg2", "tanh", "sin", "cos"};
constexpr std::array<std::string_view, 4> kMatrix = {"mma", "wmma", "wgmma", "tcgen05"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view word) { return std::find(words.begin(), words.end(), word) != words.end(); }

struct Agreed {
  int accumulate = 0;      // significand of results
  int widest = 0, narrowest = 99;   // of the tensors
};

Agreed agreed_by(const task::Task& task) {
  Agreed out;
  for (const task::Tensor& tensor : task.tensors) {
    const int bits = significand(tensor.dtype);
    if (bits == 0) continue;
    out.widest = std::max(out.widest, bits);
    out.narrowest = std::min(out.narrowest, bits);
  }
  out.accumulate = task.numerics.accumulate ? significand(*task.numerics.accumulate) : std::max(out.widest == 53 ? 53 : 24, 0);
  return out;
}

bool narrower(const ptx::Instruction& instruction, const Agreed& agreed) {
  const std::string_view opcode = ptx::compiled_form(instruction.form).form->opcode;
  const auto under = [](ptx::Type type, int bits) { return significand(type) != 0 && significand(type) < bits; };
  if (is_one_of(kArithmetic, opcode)) return under(instruction.type, agreed.accumulate);
  if (is_one_of(kMatrix, opcode)) return under(instruction.type, agreed.accumulate) || under(instruction.type2, agreed.widest) || under(instruction.type3, agreed.widest);
  return opcode == "cvt" && significand(instruction.type2) > significand(instruction.type) && under(instruction.type, agreed.narrowest);
}

constexpr double kFewestElements = 256;   // that a share of misrounded ones is judged by
constexpr double kMisrounded = 0.05;      // of them, beyond what the declared arithmetic misrounds

}  // namespace

std::optional<NarrowOperation> narrower_operation(const ptx::Module& module, const task::Task& task) {
  const Agreed agreed = agreed_by(task);
  if (agreed.widest == 0) return std::nullopt;
  for (const ptx::Function& function : module.functions)
    for (const ptx::Instruction& instruction : function.instructions) {
      if (!narrower(instruction, agreed)) continue;
      std::string text(ptx::compiled_form(instruction.form).form->opcode);
      for (const ptx::Type type : {instruction.type, instruction.type2, instruction.type3, instruction.type4})
        if (type != ptx::Type::none) text += fmt::format(".{}", ptx::name(type));
      return NarrowOperation{std::move(text), module.locations[instruction.location]};
    }
  return std::nullopt;
}

void ReachedPrecision::see(const std::string& output, const std::string& label, const TensorErrors& errors) {
  Seen& seen = seen_[output];
  const double times = errors.norm_bound > 0 ? errors.norm_error / errors.norm_bound : 0;
  if (times > seen.times) {
    seen.times = times;
    seen.error = errors.norm_error;
    seen.bound = errors.norm_bound;
    seen.label = label;
  }
  seen.elements += static_cast<double>(errors.rounded);
  seen.misrounded += static_cast<double>(errors.misrounded);
  seen.expected += errors.expected_misrounded;
}

std::optional<ReachedPrecision::Excess> ReachedPrecision::worst(const task::Task& task) const {
  std::optional<Excess> out;
  const auto take = [&](const std::string& output, double times, std::string why) {
    if (times > 1 && (!out || times > out->times)) out = Excess{output, std::move(why), times};
  };
  const std::string_view type = task.numerics.accumulate ? task::name(*task.numerics.accumulate) : "the agreed type";
  for (const auto& [output, seen] : seen_) {
    take(output, seen.times, fmt::format("||out - ref|| is {:.3g}, and arithmetic in {} stays below {:.3g} [{}]", seen.error, type, seen.bound, seen.label));
    const double allowed = 4 * seen.expected + kMisrounded * seen.elements;
    if (seen.elements >= kFewestElements)
      take(output, seen.misrounded / allowed, fmt::format("{:.1f}% of the elements are not the nearest value of their type, and arithmetic in {} misses {:.2g}%",
                                                          100 * seen.misrounded / seen.elements, type, 100 * seen.expected / seen.elements));
  }
  return out;
}

}  // namespace kforge::judge
