#include "propose/template_stencil.h"

#include <map>

#include <fmt/format.h>

#include "propose/template_emit.h"
#include "propose/template_extent.h"

namespace kforge::propose {

using Kind = Term::Kind;

namespace {

// "stride * variable + d" without a clamp around any part of it.
std::optional<StencilPlace> plain_place(const TermPtr& term, const std::string& variable) {
  if (term->kind == Kind::index && term->text == variable) return StencilPlace{};
  if (term->kind != Kind::binary || term->args.size() != 2) return std::nullopt;
  for (std::size_t own = 0; own < 2; ++own) {
    const auto place = plain_place(term->args[own], variable);
    const auto number = integer_of(term->args[1 - own]);
    if (!place || !number) continue;
    if (term->text == "*") return StencilPlace{place->stride * *number, place->offset * *number};
    if (term->text == "+") return StencilPlace{place->stride, place->offset + *number};
    if (term->text == "-" && own == 0) return StencilPlace{place->stride, place->offset - *number};
  }
  return std::nullopt;
}

}  // namespace

std::optional<StencilPlace> stencil_place(const TermPtr& term, const std::string& variable, const TermPtr& extent) {
  if (const auto plain = plain_place(term, variable)) return plain->stride > 0 ? plain : std::nullopt;
  if (term->kind != Kind::call) return std::nullopt;
  const auto is_last = [&](const TermPtr& t) { return same_extent(binary_term("+", t, number_term(1)), extent); };
  const auto is_zero = [](const TermPtr& t) { return integer_of(t) == std::optional<std::int64_t>(0); };
  if (term->text == "clamp" && is_zero(term->args[1]) && is_last(term->args[2])) return stencil_place(term->args[0], variable, extent);
  if (term->text != "min" && term->text != "max") return std::nullopt;
  // min(max(v, 0), last), in either order and with either half alone.
  for (int own = 0; own < 2; ++own) {
    const TermPtr& bound = term->args[static_cast<std::size_t>(1 - own)];
    if (term->text == "min" ? is_last(bound) : is_zero(bound)) return stencil_place(term->args[static_cast<std::size_t>(own)], variable, extent);
  }
  return std::nullopt;
}

std::optional<std::int64_t> stencil_offset(const TermPtr& term, const std::string& variable, const TermPtr& extent) {
  const auto place = stencil_place(term, variable, extent);
  return place && place->stride == 1 ? std::optional(place->offset) : std::nullopt;
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
