// Edits of a launch: block extents, and grids that divide a size by the block's extent, rounding up.
#pragma once

#include "propose/transform_kernel.h"

namespace kforge::propose {

// A local that is a block's place plus a thread's along one axis: const int row = blockIdx.y * blockDim.y + threadIdx.y.
struct Coordinate {
  syntax::Node declarator;
  std::string name, type;
  std::size_t axis = 0;        // of the thread
  std::size_t grid_axis = 0;   // of the block's index: another one after an exchange of the threads' axes
};
// Of the kernel's own declarations, along x and y, that are never changed.
std::vector<Coordinate> coordinates(const KernelView& view);

// Sets the extents of every launch's block. False (nothing edited) unless each launch's block is its own to edit.
bool set_block(const KernelView& view, const std::vector<std::int64_t>& extents, syntax::Edits& edits);
// Makes every grid divide by `divisor` where it divided by the block's extent along `axis`. False unless all are such divisions that can be
// edited. The grid's axis is the one that the kernel's coordinates along the block's `axis` have.
bool set_grid_divisor(const KernelView& view, std::size_t axis, std::int64_t divisor, syntax::Edits& edits);
bool can_set_grid_divisor(const KernelView& view, std::size_t axis);
// The block may take any shape along its first axes: the kernel asks for it at run time, keeps nothing per thread elsewhere, and the grid divides by it.
bool block_shape_is_free(const KernelView& view, std::size_t axes);
// Multiplies the first extent of every grid, or divides its divisor. False unless every grid is its own to edit.
bool multiply_grid(const KernelView& view, std::int64_t factor, syntax::Edits& edits);
// At most `blocks` blocks along x. False unless every grid is its own to edit.
bool cap_grid(const KernelView& view, std::int64_t blocks, syntax::Edits& edits);

}  // namespace kforge::propose
