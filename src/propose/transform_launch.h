// Edits of a launch: block extents, and grids that divide a size by the block's extent, rounding up.
#pragma once

#include "propose/transform_kernel.h"

namespace kforge::propose {

// Sets the extents of every launch's block. False (nothing edited) unless each launch's block is its own to edit.
bool set_block(const KernelView& view, const std::vector<std::int64_t>& extents, syntax::Edits& edits);
// Makes every grid's extent along `axis` divide by `divisor` where it divided by the block's extent (or `divided`). False unless all are such
// divisions that can be edited.
bool set_grid_divisor(const KernelView& view, std::size_t axis, std::int64_t divisor, syntax::Edits& edits);
bool can_set_grid_divisor(const KernelView& view, std::size_t axis);
// Multiplies the first extent of every grid, or divides its divisor. False unless every grid is its own to edit.
bool multiply_grid(const KernelView& view, std::int64_t factor, syntax::Edits& edits);
// At most `blocks` blocks along x. False unless every grid is its own to edit.
bool cap_grid(const KernelView& view, std::int64_t blocks, syntax::Edits& edits);

}  // namespace kforge::propose
