#include "cli/terminal.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace kforge::cli {

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

bool wants_colour(int descriptor) {
  const char* none = std::getenv("NO_COLOR");
  return is_terminal(descriptor) && (none == nullptr || *none == '\0');
}

int columns(int descriptor) {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

Progress::Progress() : terminal_(is_terminal(STDERR_FILENO)) {}

Progress::~Progress() {
  if (terminal_ && shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::step(std::string_view text) {
  const int room = terminal_ ? columns(STDERR_FILENO) : 0;
  int width = room > 1 ? std::min(static_cast<int>(text.size()), room - 1) : static_cast<int>(text.size());
  // Not within a character of UTF-8.
  while (width > 0 && width < static_cast<int>(text.size()) && (static_cast<unsigned char>(text[static_cast<std::size_t>(width)]) & 0xc0) == 0x80) --width;
  if (terminal_) std::fprintf(stderr, "\r\x1b[K%.*s", width, text.data());
  else std::fprintf(stderr, "%.*s\n", width, text.data());
  std::fflush(stderr);
  shown_ = true;
}

}  // namespace kforge::cli
