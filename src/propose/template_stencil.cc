#include "propose/template_stencil.h"

#include <map>

#include <fmt/format.h>

#include "propose/template_emit.h"
#include "propose/template_extent.h"

namespace kforge::propose {

using Kind = Term::Kind;

std::optional<std::int64_t> stencil_offset(const TermPtr& term, const std::string& variable, const TermPtr& extent) {
  if (term->kind == Kind::index && term->text == variable) return 0;
  if (term->kind == Kind::binary && (term->text == "+" || term->text == "-")) {
    const auto base = stencil_offset(term->args[0], variable, extent);
    const auto step = integer_of(term->args[1]);
    if (base && step) return *base + (term->text == "+" ? *step : -*step);
    const auto other = stencil_offset(term->args[1], variable, extent);
    const auto first = integer_of(term->args[0]);
    if (other && first && term->text == "+") return *first + *other;
    return std::nullopt;
  }
  if (term->kind != Kind::call) return std::nullopt;
  const auto is_last = [&](const TermPtr& t) { return same_extent(binary_term("+", t, number_term(1)), extent); };
  const auto is_zero = [](const TermPtr& t) { return integer_of(t) == std::optional<std::int64_t>(0); };
  if (term->text == "clamp" && is_zero(term->args[1]) && is_last(term->args[2])) return stencil_offset(term->args[0], variable, extent);
  if (term->text != "min" && term->text != "max") return std::nullopt;
  // min(max(v, 0), last), in either order and with either half alone.
  for (int own = 0; own < 2; ++own) {
    const TermPtr& bound = term->args[static_cast<std::size_t>(1 - own)];
    if (term->text == "min" ? is_last(bound) : is_zero(bound)) return stencil_offset(term->args[static_cast<std::size_t>(own)], variable, extent);
  }
  return std::nullopt;
}

std::optional<ConstantLoad> constant_load(const task::Task& task, const FileNames& names, const TermPtr& load) {
  const task::Tensor& tensor = tensor_of(task, load->text);
  std::map<std::string, TermPtr> atoms;
  const auto strides = strides_of(tensor, atoms);
  std::int64_t flat = 0;
  for (std::size_t k = 0; k < load->args.size(); ++k) {
    const auto stride = strides[k].as_constant();
    if (!stride) return std::nullopt;
    flat += *integer_of(load->args[k]) * *stride;
  }
  const std::string& pointer = names(load->text);
  const std::string name = fmt::format("{}_{}", pointer, flat);
  return ConstantLoad{name, fmt::format("const {} {} = {};", cuda_name(number_of(tensor.dtype)), name, loaded(fmt::format("{}[{}]", pointer, flat), tensor.dtype))};
}

}  // namespace kforge::propose
