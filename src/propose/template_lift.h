// What a C++ reference computes, lifted out of its loops by executing them once with symbols in place of numbers.
//
// Loops over constant ranges of at most 16 steps are unrolled; any other loop becomes an index variable, and what it carries from one
// step to the next must be a reduction or a scan that this file knows, else the lifting fails: nothing is guessed. Flat indices are taken
// apart by the tensors' strides, so that `x[r * cols + c]` is element (r, c) of x. That the indices stay inside is the reference's
// promise; what is made from a lifted computation is judged like any other candidate.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "propose/template_extent.h"
#include "propose/template_term.h"
#include "task/task.h"

namespace kforge::propose {

struct LiftedLoop {
  std::string variable;
  TermPtr extent;                 // it runs from 0 to extent - 1
};

struct LiftedStore {
  std::string tensor;
  std::vector<TermPtr> index;     // one a dimension
  TermPtr value;
  std::vector<LiftedLoop> loops;  // around it, outermost first
  bool adds = false;              // `value` is added to what is there: a scatter, whose index is no plain variable
};

struct Lifted {
  std::vector<LiftedStore> stores;  // in order
};

// Of a task's reference text. Nothing when it is outside of what can be lifted; `why` then says so.
std::optional<Lifted> lift_reference(const task::Task& task, std::string_view reference_text, std::string& why);

}  // namespace kforge::propose
