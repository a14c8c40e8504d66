// The candidates of tests/hostile/*/ and what their first lines say of them:
//
//   // kind: cached results                        of docs/honesty.md
//   // check: CONTRACT | words                     what `kforge check` on the emulated GPU must name
//   // check-off: defence,defence                  without these it is accepted there
//   // bench: words                                what `kforge bench` on a GPU must say ("wrong": its outputs are)
//   // bench-off: defence,defence                  without these nothing is said against it there
//   // fake: yes                                   the fake GPU of the tests shows it as well
#pragma once

#include <filesystem>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

namespace kforge::tests {

struct MarkedCandidate {
  std::filesystem::path source;
  std::map<std::string, std::string> marks;
  std::string mark(const std::string& key) const;
  std::string name() const;                       // "decay_cheat_by_pointer"
  std::filesystem::path task() const;             // honest ones may use all that a task can allow, where the folder has such a task
};
void PrintTo(const MarkedCandidate& candidate, std::ostream* out);

// Sorted; files of tests/hostile/*/ that start so.
std::vector<MarkedCandidate> marked_candidates(const std::string& start);

}  // namespace kforge::tests
