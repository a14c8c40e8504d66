// Where unwritten bytes meet the executor: loads that bring them into registers, registers that carry them, stores that put
// them back, and the uses that make them a fault. The rules are in shadow.h; this is their wiring.
//
// Everything here returns at once while the warp holds no undefined byte (Warp::tainted is false) and memory is written.
#pragma once

#include <functional>

#include "emulator/access.h"

namespace kforge::emulator {

void load_global_shadow(Warp& warp, const Op& op, const Allocation& allocation, const Request& request, std::uint32_t lanes);
void load_shared_shadow(Warp& warp, const Op& op, const Request& request);
void load_local_shadow(Warp& warp, const Op& op, const Request& request);
void store_global_shadow(Warp& warp, const Op& op, Allocation& allocation, const Request& request, std::uint32_t lanes);
void store_shared_shadow(Warp& warp, const Op& op, const Request& request);
void store_local_shadow(Warp& warp, const Op& op, const Request& request);
// Param space: a kernel's own parameters (`entry`) are all written; what passes through calls keeps its undefined bytes.
void load_param_shadow(Warp& warp, const Op& op, const Request& request, bool entry);
void store_param_shadow(Warp& warp, const Op& op, const Request& request);
void copy_param_shadow(Frame& from, Frame& to, const ParamCopy& copy, std::uint32_t mask);
// Before the atomic is performed. It reads its location: what it returns, and what it leaves, are undefined where that was.
void atomic_global_shadow(Warp& warp, const Op& op, Allocation& allocation, const Request& request);
void atomic_shared_shadow(Warp& warp, const Op& op, const Request& request);
// cp.async lands: the destination is as written as the source. `bytes` of each lane come from the source, the rest are zeros.
void land_copy_shadow(Warp& warp, const PendingCopy& copy, std::uint32_t lane, const Allocation* from);
// Reports undefined bytes in the address register r[k].
void check_address(Warp& warp, const Op& op, std::size_t k, std::uint32_t mask);

// For instructions that carry undefined bytes by rules of their own (matrices). Null: all defined.
const UndefinedBytes* undefined_operand(const Warp& warp, const ptx::Operand& operand);
void assign_undefined(Warp& warp, const ptx::Operand& operand, const UndefinedBytes& value, std::uint32_t mask);
// All registers of the running frame whose undefined bytes `defines` knows to be written now.
void clear_undefined(Warp& warp, const std::function<bool(const UndefinedBytes&)>& defines);
OriginId undefined_origin(Warp& warp, const Op& op, ShadowSpace space, std::uint64_t address, std::uint32_t lane);
// Whether the first unwritten byte is one that a copy is on its way to: then that is reported.
bool report_read_in_flight(Warp& warp, const Op& op, const Request& request);

// Runs one instruction of a tainted warp: reports an undefined guard, executes, and carries undefined bytes to the result.
Flow run_tainted(Warp& warp, const Op& op, std::uint32_t mask, Handler handler);
// Registers of the entry that may be read before they are written start undefined.
void start_shadow(Warp& warp);

}  // namespace kforge::emulator
