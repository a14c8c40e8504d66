// Inputs and expected outputs that were computed once, for the next candidates of the same task. They stay in this process.
//
// REQUIRES: one task and one reference for the life of a store.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "trial/references.h"

namespace kforge::trial {

// Thread-safe.
class PreparedStore {
 public:
  explicit PreparedStore(std::uint64_t max_bytes = 768ull << 20) : max_bytes_(max_bytes) {}

  // `quick`: of a run whose numbers nobody judges (make_inputs).
  std::optional<Prepared> find(const Job& job, bool quick);
  // What takes more than a quarter of the room is not kept; what was used least recently gives way. Errors are not kept.
  void keep(const Job& job, bool quick, const Prepared& prepared);

 private:
  struct Entry { Prepared prepared; std::uint64_t bytes = 0, used = 0; };
  const std::uint64_t max_bytes_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  std::uint64_t bytes_ = 0, uses_ = 0;
};

}  // namespace kforge::trial
