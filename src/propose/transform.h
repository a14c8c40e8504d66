// Transformations: named changes of a kernel that somebody wrote, made on its syntax tree.
//
// A transformation reads a file and what is known about its run, and answers with changed files: comments, names, formatting and all that
// it does not understand stay as they were. It answers with nothing unless its precondition holds as far as the text can tell; what the
// text cannot tell (do two pointers overlap? is this size a multiple of four?) is either asked at run time by the code it writes or left to
// the judge, before whom every candidate comes. The table is the whole list: proposer, tests and documentation walk it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/profile.h"
#include "kforge/verdict.h"
#include "syntax/program.h"

namespace kforge::propose {

struct KernelView;

// What is known of a program besides its text. All of it may be empty.
struct Known {
  std::span<const Finding> findings;
  std::span<const evidence::KernelProfile> profiles;
  std::span<const ResourceReport> resources;
  std::uint32_t multiprocessors = 132;      // of the target
  std::uint32_t registers_per_sm = 65536;
  // Elements of the launcher's pointer parameters whose tensors have the same size in every case ({"bins", 256}).
  std::vector<std::pair<std::string, std::int64_t>> fixed_elements;
  // Left by the first transformation that looked at the kernels (kernel_views) for those that follow.
  mutable std::shared_ptr<const std::vector<KernelView>> kernels;
};

struct Rewrite {
  std::string source;
  std::vector<std::string> flags;           // of nvcc, added to the candidate's
  std::string title;                        // "row is a warp's: 32 lanes read consecutive elements"
  double expected_gain = 1;
};

struct Transformation {
  std::string_view id;                      // "transform.warp-per-row"
  std::string_view summary, precondition;   // for people: docs/transformations.md repeats them
  std::string_view answers;                 // contract whose finding it answers, or ""
  std::string_view rule;                    // of data/knowledge
  std::vector<Rewrite> (*apply)(const syntax::Program& program, const Known& known);
};

std::span<const Transformation> transformations();

// Each row's function, one file each.
std::vector<Rewrite> add_restrict(const syntax::Program& program, const Known& known);
std::vector<Rewrite> add_launch_bounds(const syntax::Program& program, const Known& known);
std::vector<Rewrite> cap_registers(const syntax::Program& program, const Known& known);
std::vector<Rewrite> change_block_shape(const syntax::Program& program, const Known& known);
std::vector<Rewrite> unroll_loops(const syntax::Program& program, const Known& known);
std::vector<Rewrite> vectorise(const syntax::Program& program, const Known& known);
std::vector<Rewrite> pad_shared(const syntax::Program& program, const Known& known);
std::vector<Rewrite> swap_axes(const syntax::Program& program, const Known& known);
std::vector<Rewrite> swap_flat_order(const syntax::Program& program, const Known& known);
std::vector<Rewrite> interleave_chunks(const syntax::Program& program, const Known& known);
std::vector<Rewrite> tile_product(const syntax::Program& program, const Known& known);
std::vector<Rewrite> stage_transpose(const syntax::Program& program, const Known& known);
std::vector<Rewrite> give_row_to_warp(const syntax::Program& program, const Known& known);
std::vector<Rewrite> reduce_before_atomic(const syntax::Program& program, const Known& known);
std::vector<Rewrite> shuffle_last_warp(const syntax::Program& program, const Known& known);
std::vector<Rewrite> privatise_histogram(const syntax::Program& program, const Known& known);
std::vector<Rewrite> stride_over_grid(const syntax::Program& program, const Known& known);
std::vector<Rewrite> add_cache_hints(const syntax::Program& program, const Known& known);
std::vector<Rewrite> hoist_divisions(const syntax::Program& program, const Known& known);
std::vector<Rewrite> multiply_out_powers(const syntax::Program& program, const Known& known);
std::vector<Rewrite> make_literals_float(const syntax::Program& program, const Known& known);
std::vector<Rewrite> drop_barriers(const syntax::Program& program, const Known& known);

}  // namespace kforge::propose
