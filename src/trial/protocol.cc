#include "trial/protocol.h"

#include <seccomp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>

namespace kforge::trial {
namespace {

// send and recv, not write and read: the sandbox reserves them for this socket.
bool send_all(int fd, const void* data, std::size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int fd, void* data, std::size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = ::recv(fd, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

bool send_frame(int fd, const FrameHeader& header, std::string_view text) {
  FrameHeader sent = header;
  sent.bytes = text.size();
  return send_all(fd, &sent, sizeof sent) && send_all(fd, text.data(), text.size());
}

bool receive_frame(int fd, FrameHeader& header, std::string& text) {
  if (!receive_all(fd, &header, sizeof header) || header.magic != kFrameMagic || header.bytes > kMaxFrameBytes) return false;
  text.resize(header.bytes);
  return receive_all(fd, text.data(), text.size());
}

std::string system_call_name(std::uint64_t number) {
  char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, static_cast<int>(number));
  std::string out = name ? std::string(name) : "call " + std::to_string(number);
  std::free(name);
  return out;
}

}  // namespace kforge::trial
