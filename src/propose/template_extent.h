// Shapes and strides of tensors as terms and polynomials over the task's sizes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "propose/template_term.h"
#include "task/task.h"

namespace kforge::propose {

// A shape's expression ("rows + 1", task/expression.h) as a term; nothing when it cannot be read.
TermPtr extent_term(std::string_view expression);
// Strides of a tensor in elements, outermost first.
std::vector<syntax::Polynomial> strides_of(const task::Tensor& tensor, std::map<std::string, TermPtr>& atoms);

}  // namespace kforge::propose
