// The matrix instructions that move data: ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store. See matrix_ops.h.
#pragma once

#include "emulator/handlers.h"

namespace kforge::emulator {

Handlers select_matrix_memory(const ptx::Instruction& instruction, ptx::Exec exec);
bool gather_warp(Warp& warp, const Op& op, std::uint32_t mask);

}  // namespace kforge::emulator
