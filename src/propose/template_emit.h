// Terms as text of CUDA. Templates say how a load or a reduction's result is named where the text stands; what is used more than once
// becomes a local. Reals are computed in `Real`, which the kernel defines as float, or double where a tensor is f64.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "propose/template_term.h"
#include "task/task.h"

namespace kforge::propose {

enum class Number { boolean, i32, u32, i64, real };
std::string_view cuda_name(Number number);   // "int", "Real"

// The type in which a value of this term is computed. Half and 8-bit floats compute in Real, narrow integers in int.
Number number_of(const TermPtr& term, const task::Task& task);
Number number_of(task::Dtype dtype);

struct EmitNames {
  std::function<std::string(const std::string&)> name;      // of a size or scalar in the file
  std::function<std::string(const TermPtr&)> place;         // of a load, reduction, scan or index: its text; "" when it has none
  std::string prefix = "t";                                 // of locals
};

struct EmittedTerms {
  std::vector<std::string> statements;   // "const Real t0 = ...;"
  std::vector<std::string> values;       // of the roots, in order
};

EmittedTerms emit(const std::vector<TermPtr>& roots, const task::Task& task, const EmitNames& names);

// `value` as an element of a tensor: "static_cast<__half>(v)".
std::string stored(const std::string& value, task::Dtype dtype);
// An element as a number: "Real(x)" or "static_cast<int>(x)".
std::string loaded(const std::string& element, task::Dtype dtype);

// Every a / b with a real b that `is_uniform` becomes a * (1 / b): one division a row in place of one an element.
TermPtr with_reciprocals(const TermPtr& term, const task::Task& task, const std::function<bool(const TermPtr&)>& is_uniform);

}  // namespace kforge::propose
