// What shuts the worker in before any code of a candidate runs, constructors of its object included.
//
// Layers, each of which works alone where another is not to be had: resource limits; no privileges and none to gain; a
// network namespace without a network; Landlock (only the object and the system's libraries can be read); a list of
// system calls. Calls that can only mean harm (fork, exec, kill, socket, opening a file to write, ...) raise SIGSYS, which
// names them to the parent and ends the process; any other call that is not on the list fails with EPERM. Where a call comes from counts, too (call_origin.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kforge::trial {

struct SandboxRequest {
  std::string object;               // the one file outside the system's libraries that may be read
  std::uint64_t memory_bytes = 0;   // address space beyond what is in use now
  std::uint64_t cpu_seconds = 0;
  bool real_gpu = false;            // NVIDIA's driver needs device files and ioctl: a list of forbidden calls instead of allowed ones
  bool own_calls = false;           // the object may make system calls by instructions of its own, as a reference's libraries do
  std::vector<std::string> libraries;       // of the real GPU, where they lie outside the system's folders
  std::vector<std::string> defences_off;    // "files", "privileges", "calls": for tests that show what a layer is for
};

// The layers that can stand before NVIDIA's driver starts its own threads, which then have them, too: privileges and files. enter_sandbox
// does the rest. Best effort, as both are anywhere.
void enter_sandbox_early(const SandboxRequest& request);

// Empty, or what could not be set up: then nothing may be loaded.
std::string enter_sandbox(const SandboxRequest& request);
// Right before the object is loaded, nothing in between. On a real GPU: its constructors make no system call by instructions of their own either, where its
// place can be foreseen.
std::string guard_object(const SandboxRequest& request);
// After the object was loaded. Emulated: no file at all can be opened any more. On a real GPU: no system call by an instruction of the object's own.
std::string close_sandbox(const SandboxRequest& request);

// From now on what the filter stops fails with EPERM and does not end the process: for CUPTI, which asks for a socket and can do without. It allows nothing.
void refuse_quietly();

// Reports SIGSYS and fatal signals to the parent. Before enter_sandbox.
void install_reporters();

}  // namespace kforge::trial
