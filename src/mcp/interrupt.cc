#include "mcp/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <initializer_list>

namespace kforge::mcp {
namespace {

int write_end = -1;   // a signal handler reaches nothing but a global

void on_signal(int) {
  const char byte = 0;
  static_cast<void>(!::write(write_end, &byte, 1));
}

}  // namespace

int interrupt_descriptor() {
  static const int read_end = [] {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
    write_end = ends[1];
    struct sigaction action {};
    action.sa_handler = on_signal;
    for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
    ::signal(SIGPIPE, SIG_IGN);   // a client that went away is seen by the write that fails
    return ends[0];
  }();
  return read_end;
}

}  // namespace kforge::mcp
