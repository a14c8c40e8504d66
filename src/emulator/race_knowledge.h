// What a thread knows of others' pasts: a vector clock whose entries cover sets of threads. An entry says "accesses by these
// threads at or before this time happened before me". Times are one count per launch. A block whose threads met at a barrier
// takes one entry, a warp (or some of its lanes) another; threads that know the same share one object, and an object that is
// shared is never changed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace kforge::emulator {

using RaceTime = std::uint32_t;

struct KnowledgeEntry {
  std::uint32_t block = 0;
  std::uint32_t warp = 0;    // kWholeBlock: all threads of the block; then `lanes` says nothing
  std::uint32_t lanes = 0;
  RaceTime time = 0;
  static constexpr std::uint32_t kWholeBlock = 0;  // warps are numbered from 1 here: sorts first
  bool operator==(const KnowledgeEntry&) const = default;
};

// A counted pointer to sorted entries; null knows nothing. Not for use by several host threads.
class Knowledge {
 public:
  Knowledge() = default;
  Knowledge(const Knowledge& other) : body_(other.body_) {
    if (body_ != nullptr) ++body_->users;
  }
  Knowledge(Knowledge&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  Knowledge& operator=(Knowledge other) noexcept {
    std::swap(body_, other.body_);
    return *this;
  }
  ~Knowledge() {
    if (body_ != nullptr && --body_->users == 0) delete body_;
  }
  static Knowledge of(KnowledgeEntry entry) { return Knowledge(new Body{{entry}, 1}); }

  bool empty() const { return body_ == nullptr; }
  bool same_as(const Knowledge& other) const { return body_ == other.body_; }

  // Lanes of `lanes` in `warp` (from 0) of `block` whose accesses up to `time` are known.
  std::uint32_t known(std::uint32_t block, std::uint32_t warp, std::uint32_t lanes, RaceTime time) const;
  // Adds what `other` knows.
  void join(const Knowledge& other);
  void add(KnowledgeEntry entry) { join(of(entry)); }

 private:
  struct Body {
    std::vector<KnowledgeEntry> entries;  // by block and warp; of one warp the latest first, each lane once
    std::uint32_t users = 1;
  };
  explicit Knowledge(Body* body) : body_(body) {}
  Body* body_ = nullptr;
};

}  // namespace kforge::emulator
