// mma.sp: A with structured zeros (PTX manual, 9.7.14.6). Its registers hold the elements that are not zero, laid out as a dense A of
// k/2 columns; metadata say which columns they are. Of each four metadata bits the low two are the place of the first element (or pair
// of 4-bit elements) of a chunk, the high two that of the second; tf32 has chunks of two, whose element is 0b0100 or 0b1110.
// Which lane of a quad holds which chunk, from the manual's figures and CUTLASS's reordering (not compared with a GPU yet):
//   4 chunks a row    lane `selector`: row g in the low half, row g + 8 in the high
//   8, 16 or 32 bits  lane 2 selector + chunk / 4, halves as above
//   8, 8 or 4 bits    lane 2 selector for row g, the next for row g + 8
//   16                lanes 0 and 1 (rows g and g + 8) for chunks 0 to 7, lanes 2 and 3 for the others
#pragma once

#include "emulator/handlers.h"

namespace kforge::emulator {

bool is_sparse(const ptx::Instruction& instruction);
Handler sparse_mma_handler();

}  // namespace kforge::emulator
