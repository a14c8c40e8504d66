#include "propose/transform.h"

#include <array>

namespace kforge::propose {
namespace {

// In the order in which they are worth trying when nothing is known: those that change who reads what come before those that polish.
constexpr std::array kTransformations = {
    Transformation{"transform.warp-per-row", "a warp in place of a thread walks along each row; sums end in shuffles",
                   "one thread per row; loops over consecutive elements whose iterations are independent or reduce, also under conditions that do not depend on what is reduced; "
                   "whole warps; no shared memory, no atomics",
                   "memory.coalescing", "coalesce-lanes", give_row_to_warp},
    Transformation{"transform.swap-axes", "x and y of the thread's index change places, so that lanes lie along rows",
                   "two-dimensional blocks; fewer sectors are touched along y than along x; no shared memory, no warp functions", "memory.coalescing", "swapped-axes", swap_axes},
    Transformation{"transform.flat-order", "the quotient and the remainder of a flat index change places",
                   "i / q and i % q of a guarded index below q * r; fewer sectors along the quotient", "memory.coalescing", "coalesce-lanes", swap_flat_order},
    Transformation{"transform.interleave-chunks", "threads take every n-th element in place of a chunk of neighbours",
                   "a loop over a thread's chunk, ceil(n / threads) long and cut at n, whose order does not matter", "memory.coalescing", "coalesce-lanes", interleave_chunks},
    Transformation{"transform.shared-product", "a product of matrices by tiles in shared memory, several elements a thread",
                   "sum += a[..] * b[..] over a counted loop from 0, a follows the row, b the column, a guard that can be split between them", "memory.reuse", "tile-in-registers", tile_product},
    Transformation{"transform.stage-through-shared", "a copy across axes goes through a padded tile in shared memory",
                   "one store and its reads, of which one side is contiguous along x and the other along y", "memory.coalescing", "stage-through-shared", stage_transpose},
    Transformation{"transform.reduce-before-atomic", "a warp adds up by shuffles and one lane does the atomic; threads stride over the grid",
                   "atomicAdd to one place whose old value is not used; whole warps", "", "shuffle-reduction", reduce_before_atomic},
    Transformation{"transform.private-histogram", "a block counts in shared memory and adds its counts at the end",
                   "atomicAdd to a scattered place of an array whose size is the same in every case and fits shared memory", "", "privatise-atomics", privatise_histogram},
    Transformation{"transform.shuffle-tree", "the last 32 partial sums of a tree in shared memory are added by shuffles",
                   "a tree that halves down to one, guarded by the thread's index, in a block of a power of two", "", "shuffle-reduction", shuffle_last_warp},
    Transformation{"transform.pad-shared", "rows of a shared array become longer by what the observed addresses demand",
                   "a line with extra wavefronts, whose request is known, reads a two-dimensional array of constant extents that nothing walks as flat", "shared.banks", "pad-shared-rows", pad_shared},
    Transformation{"transform.float-literals", "literals without f in code that knows no double get one", "no `double` in the function", "", "float-literals", make_literals_float},
    Transformation{"transform.multiply-powers", "powf(x, 2.0f) becomes x * x", "a constant exponent of 2 or 3 and a plain base", "", "fast-math", multiply_out_powers},
    Transformation{"transform.hoist-division", "a division by a value that the loop does not change becomes a product", "float operands; a loop that stands in a block", "", "fast-math", hoist_divisions},
    Transformation{"transform.vector-access", "four elements a thread by 16-byte accesses, the rest one by one",
                   "every access is to the thread's own element; types of 4 or 8 bytes; stores under no condition. Alignment is asked at run time", "memory.vector", "vector-access", vectorise},
    Transformation{"transform.grid-stride", "threads stride over a grid of at most eight blocks a multiprocessor", "one guarded element a thread; no barriers", "", "fill-waves", stride_over_grid},
    Transformation{"transform.unroll", "#pragma unroll before inner loops", "a loop that stands in a block and has none", "", "unroll-constant-bounds", unroll_loops},
    Transformation{"transform.drop-barriers", "barriers go that order nothing", "nothing that another thread sees is touched on one side, or threads share nothing at all", "", "superfluous-barriers", drop_barriers},
    Transformation{"transform.restrict", "__restrict__ on pointers, const on what is only read", "every launch passes different pointers that were not made from one another", "memory.reuse", "restrict-const", add_restrict},
    Transformation{"transform.cache-hints", "streaming loads and stores", "an array that is touched once a thread, element by element", "", "stream-stores", add_cache_hints},
    Transformation{"transform.block-shape", "other extents of the block", "the kernel asks for its extents at run time, and the grid divides by the block's", "occupancy", "occupancy-limiter", change_block_shape},
    Transformation{"transform.launch-bounds", "__launch_bounds__ of the block that is launched", "the block is the same constant in every launch", "occupancy", "launch-bounds", add_launch_bounds},
    Transformation{"transform.register-cap", "-maxrregcount at the next step where another block fits", "registers limit the resident warps, and nothing spills", "occupancy", "occupancy-limiter", cap_registers},
};

}  // namespace

std::span<const Transformation> transformations() { return kTransformations; }

}  // namespace kforge::propose
