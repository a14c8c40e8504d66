// What the parent and the worker say to each other: frames over a socket pair, tensors in a shared memory file (the arena).
//
// A frame is a header and a text: a line of JSON, and after a call the log of the emulated runtime (evidence/launch_log.h). Each request carries a fresh nonce that its reply repeats, so that bytes which a
// candidate writes to the socket are not taken for a reply. Both sides bound the size of what they read.
#pragma once

#include <signal.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace kforge::trial {

// What the kernel sends for nothing that a program itself does: a worker that one of these ends or stops was ended or stopped from outside.
inline constexpr int kSignalsOfOthers[] = {SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM, SIGUSR1, SIGUSR2, SIGPWR, SIGSTKFLT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};

inline constexpr int kSocketFd = 3, kArenaFd = 4, kInputsFd = 5;    // of the worker; the last is sealed_inputs.h's file, or nothing
// The arena starts with words of 8 bytes: the thread-instructions of the running call (kept by the emulated runtime), and whether the worker waits
// for a real GPU to finish (1) or the launcher runs (0). Tensors come after.
inline constexpr std::uint64_t kArenaHeaderBytes = 4096;
inline constexpr int kProgressWord = 0, kWaitingWord = 1;
inline constexpr std::uint32_t kFrameMagic = 0x4b46524d;
inline constexpr std::uint64_t kMaxFrameBytes = 256ull << 20;

inline constexpr std::uint64_t kByOwnInstruction = 1ull << 63;

enum class FrameKind : std::uint32_t {
  start = 1,      // parent: what to load
  call = 2,       // parent: run the launcher once
  reply = 3,      // worker: answer to start or call
  forbidden = 4,  // worker: `detail` is the number of the system call that the sandbox stopped; from bit 32 on the signal that it was to send to the worker itself; bit 63: the call was made by an instruction outside the libraries
  crashed = 5,    // worker: `detail` is the signal; a text "memory" says that no memory was left
};

struct FrameHeader {
  std::uint32_t magic = kFrameMagic;
  FrameKind kind = FrameKind::reply;
  std::uint64_t nonce = 0;
  std::uint64_t detail = 0;
  std::uint64_t bytes = 0;     // of the text that follows
};

// Blocking; false when the other side is gone.
bool send_frame(int fd, const FrameHeader& header, std::string_view text);
// Blocking; false at the end of the stream or when it is no frame.
bool receive_frame(int fd, FrameHeader& header, std::string& text);

// Name of a system call by its number, "call 123" when unknown.
std::string system_call_name(std::uint64_t number);

}  // namespace kforge::trial
