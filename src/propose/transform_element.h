// Kernels in which a thread has one element: `i = global index; if (i < n) work`, in any of its spellings, and the same work in a loop
// that strides over the grid.
#pragma once

#include "propose/transform_launch.h"

namespace kforge::propose {

struct ElementWork {
  syntax::Node declaration;      // of the index; null in a loop
  std::string index, type;       // "i", "int"
  std::string first;             // its value, as the user wrote it
  std::string bound;             // i < bound
  syntax::Node guard;            // the if_statement; null in a loop
  syntax::Node rest;             // further conditions that were joined to the bound by &&
  bool returns = false;          // the guard returns, and the work is all that follows
  syntax::Node loop;             // the loop over the grid; null otherwise
  syntax::Node body;             // of the work: consequence, loop body, or the kernel's body when the guard returns
  std::vector<syntax::Node> statements;  // the work
};
std::optional<ElementWork> element_work(const KernelView& view);

// Turns the work into a loop over the grid (nothing to do when it is one) and gives the place after it, where an epilogue may stand
// that all threads reach. The edits touch the guard and the index's declaration; the work's own text stays. `prologue` comes before.
std::size_t make_grid_loop(const KernelView& view, const ElementWork& work, const std::string& prologue, syntax::Edits& edits);

}  // namespace kforge::propose
