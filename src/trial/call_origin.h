// Where a system call may come from: code that was there before the candidate's object was loaded.
//
// The list of system calls (sandbox.h) cannot tell the worker's own messages from those that a candidate sends with an instruction of its own, without asking
// for a function by name. The kernel knows the address that a call comes from, and code of the candidate's lies in none of the ranges that were there before.
// Waiting and waking (futex) may be called from anywhere: thread libraries have the instruction in their own code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kforge::trial {

struct CodeRange { std::uint64_t begin = 0, end = 0; };   // [begin, end)
// Executable segments of the objects that are loaded now, the kernel's own page included; of one of them alone where `object` names its file.
std::vector<CodeRange> loaded_code(const std::string& object = {});

// Where the loader is going to put the object, when nothing else is mapped before: its place was asked for and given back. Empty when that cannot be known.
CodeRange next_place(const std::string& object);

enum class Origin { only, never };
inline constexpr int kOwnInstruction = 1;   // SIGSYS tells it as si_errno where this filter is what stopped a call
// From now on a system call raises SIGSYS unless it comes from one of `ranges` (only), or when it does (never). Empty, or what could not be set up.
// Needs no_new_privs.
std::string restrict_origin(Origin origin, const std::vector<CodeRange>& ranges);

}  // namespace kforge::trial
