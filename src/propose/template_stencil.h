// What the binders of stencils share: how far from an element its neighbours are read, and what is read from the same place always.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "propose/template_binding.h"
#include "propose/template_term.h"

namespace kforge::propose {

constexpr std::int64_t kMaxStencilRadius = 16;

// stride and d of the index "stride * variable + d", also clamped to 0 and extent - 1; nothing for anything else.
struct StencilPlace {
  std::int64_t stride = 1, offset = 0;
};
std::optional<StencilPlace> stencil_place(const TermPtr& term, const std::string& variable, const TermPtr& extent);
// d where the stride is 1; nothing for anything else.
std::optional<std::int64_t> stencil_offset(const TermPtr& term, const std::string& variable, const TermPtr& extent);

// An element that all threads read, say a filter's weight: the variable that holds it, and the statement that defines it.
struct ConstantLoad { std::string name, definition; };
// Nothing where the tensor's strides depend on a size.
// REQUIRES: each index of the load is a whole number.
std::optional<ConstantLoad> constant_load(const task::Task& task, const FileNames& names, const TermPtr& load);

}  // namespace kforge::propose
