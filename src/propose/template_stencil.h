// What the binders of stencils share: how far from an element its neighbours are read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "propose/template_term.h"

namespace kforge::propose {

constexpr std::int64_t kMaxStencilRadius = 16;

// d of the index "variable + d", also clamped to 0 and extent - 1; nothing for anything else.
std::optional<std::int64_t> stencil_offset(const TermPtr& term, const std::string& variable, const TermPtr& extent);

}  // namespace kforge::propose
