// A timing loop that is none of ours, given turns between the contestants of the rung "time" (`kforge bench --beside`): that two harnesses give one figure
// shows when both look at the same GPU in the same seconds, and not before.
//
// The program is the caller's own and is trusted as such: no sandbox. It reads lines "CALLS name=value..." (the sizes) from its standard input, makes so many
// calls by its own rules, and answers each with one line: CALLS times in microseconds, separated by blanks. At the end of its input it ends.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"
#include "trial/trial.h"

namespace kforge::trial {

class OutsideLoop {
 public:
  // `command`: words, no shell. Errors: missing (no such program), failed.
  static Expected<std::unique_ptr<OutsideLoop>> start(const std::string& command, const task::Sizes& sizes);
  ~OutsideLoop();                // ends it
  OutsideLoop(const OutsideLoop&) = delete;
  OutsideLoop& operator=(const OutsideLoop&) = delete;

  // Microseconds of `calls` calls. Errors: failed (it ended, says something else, or takes more than `seconds`).
  Expected<std::vector<double>> block(std::size_t calls, double seconds);

  // As a contestant's (timed_worker.h): blocks of 20 ms, the first ones for nothing. What goes wrong ends its turns and is the timing's failure.
  void warm_up();
  void sample_block();
  bool failed() const { return !failure_.empty(); }
  bool known(double interval) const;   // the median is
  Timing finish() const;

 private:
  OutsideLoop() = default;
  Unexpected wrong(const std::string& what) const;
  std::string command_, sizes_, pending_;
  pid_t pid_ = -1;
  std::size_t block_size_ = 0;
  std::vector<double> us_;
  std::string failure_;
  UniqueFd to_, from_;
};

}  // namespace kforge::trial
