// How the worker steers the emulated runtime: a few C functions that libkforge_cudart exports beside CUDA's. The worker finds
// them with dlsym; where they are absent (NVIDIA's libcudart) it knows that a real GPU is in use. Strings are UTF-8, owned by the
// library and valid until the next call of the same function. Not thread-safe: called by the worker's main thread only.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// JSON: {"sheet": NAME or PATH, "safety": bool, "profile": bool, "seed": N}. Returns null, or the error.
const char* kforge_cudart_configure(const char* json);

// Names an allocation made with cudaMalloc for messages and coverage ("x", "y"); role: 0 in, 1 out, 2 inout.
// element_bytes is for coverage in elements. Returns 0 when the pointer is no live allocation.
int kforge_cudart_describe(const void* device_pointer, const char* name, int role, std::uint64_t element_bytes);

// The shape of a described tensor whose rows have gaps between them (strides in elements): coverage counts its elements only.
int kforge_cudart_describe_layout(const void* device_pointer, const std::int64_t* shape, const std::int64_t* strides, std::size_t rank);

// Between these two the worker loads the candidate's object: what its constructors ask for belongs to the first call.
void kforge_cudart_load(int begins);

// Starts a call: clears logs, coverage and write bits; poisons nothing (the worker does). The stream that the launcher is
// given. instruction and second limits of this call (both must be exceeded); sampled_blocks 0 means all.
void kforge_cudart_begin_call(void* stream, std::uint64_t thread_instructions, double seconds, std::uint64_t sampled_blocks);

// Marks the bytes as never written (fresh outputs and workspaces).
void kforge_cudart_mark_uninitialised(const void* device_pointer, std::size_t bytes);

// Where the thread-instructions of the running call are kept from now on, for a watcher in another process (shared memory); null: nowhere.
void kforge_cudart_show_progress(std::uint64_t* thread_instructions);

// Ends the call: runs what is still queued, checks that all work was ordered before the given stream, and returns evidence::to_bytes(LaunchLog), of
// `bytes` bytes, which stay until the next call ends.
const char* kforge_cudart_end_call(int returned, std::size_t* bytes);

// After a fatal device error or a hang: a fresh context with no allocations, errors cleared.
void kforge_cudart_reset();
}
