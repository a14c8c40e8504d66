// Warp-wide matrix instructions: ldmatrix, stmatrix, movmatrix, mma.sync and wmma (PTX manual, 9.7.14). What decode.cc fills in:
//   list    the registers of all operands in written order, those in braces one by one; addresses are not in it
//   r[0]    the address, as for ld and st (+ immediate, flags kWideAddress)
//   r[2]    wmma's stride, r[4] a slot with all ones
//   target  MatrixShape::packed()
//   immediate  mma without sparsity, and wmma: 1 when no tile's D is another one's operand (writes_at_once)
//   bytes   registers of the first operand with registers; mma: of D
//   wide    of A (mma), and flags of B; wmma loads and stores: 1 by rows, + 2 x Fragment
#pragma once

#include <vector>

#include "emulator/handlers.h"

namespace kforge::emulator {

bool is_matrix(ptx::Exec exec);
// All null: not executed.
Handlers select_matrix(const ptx::Instruction& instruction, ptx::Exec exec);

// Whether D's registers, each the next of `list`, are no other tile's operands: A's and B's come next, then C's. A tile writes when it has read.
bool writes_at_once(const std::vector<Ref>& list, std::size_t of_d, std::size_t of_a_and_b, std::size_t tiles);

}  // namespace kforge::emulator
