// What stdout and stderr are connected to, and the progress line.
#pragma once

#include <string>
#include <string_view>

namespace kforge::cli {

bool is_terminal(int descriptor);
// Colours are for terminals, unless NO_COLOR is set (no-color.org).
bool wants_colour(int descriptor);

// Of the terminal; 0 when it is none or does not say.
int columns(int descriptor);

// On a terminal one line, cut to its width, that is rewritten; else one plain line a step. Writes to stderr, so that stdout stays data.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void step(std::string_view text);

 private:
  bool terminal_;
  bool shown_ = false;
};

}  // namespace kforge::cli
