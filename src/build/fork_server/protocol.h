// What a fork server (fork_server.h) and the library that is preloaded into its compiler (preload.cc) say to each other: one request is one
// packet over a socket of the kind SOCK_SEQPACKET, with one descriptor attached; the answers come over that descriptor.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace kforge::build {

inline constexpr int kForkServerFd = 3;                              // of the compiler: where requests come from
inline constexpr const char* kForkFileVariable = "KFORGE_FORK_FILE"; // the file, as the compiler names it, at which it stops
inline constexpr const char* kForkBytesVariable = "KFORGE_FORK_BYTES";   // of that stream's start, which are read before it stops; not set: it stops when it opens the descriptor
inline constexpr char kForkReady = 'r';                              // said once over kForkServerFd: the compiler has come to that place

struct ForkRequest {
  std::uint64_t memory_bytes = 0;   // address space of the process; 0: no limit
  std::uint64_t cpu_seconds = 0;    // of the processor from here on; 0: no limit
  char folder[1024] = {};           // its working directory: relative names of the compiler's arguments are looked up there from now on
  char file[1024] = {};             // what it reads in place of the file at which it stopped, from the same place on
  char output[256] = {};            // takes stdout and stderr
};

struct ForkReport {
  int wait_status = 0;
  rusage usage{};
};

}  // namespace kforge::build
