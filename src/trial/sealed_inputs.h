// The inputs of one call in a file in memory that nobody can change any more. A worker is handed the file itself at its start: nothing is copied for it,
// and what it does with them reaches no other worker.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/error.h"
#include "base/unique_fd.h"
#include "trial/tensors.h"

namespace kforge::trial {

class SealedInputs {
 public:
  // At the places where `layout` has them in an arena; what lies between takes no memory. Errors: failed (no memory).
  static Expected<std::shared_ptr<const SealedInputs>> of(const CaseLayout& layout, std::span<const Bytes> inputs);

  int fd() const { return fd_.get(); }
  std::uint64_t bytes() const { return bytes_; }      // of the file
  std::uint64_t held() const { return held_; }        // of the inputs in it

 private:
  SealedInputs(UniqueFd fd, std::uint64_t bytes, std::uint64_t held) : fd_(std::move(fd)), bytes_(bytes), held_(held) {}
  UniqueFd fd_;
  std::uint64_t bytes_, held_;
};

}  // namespace kforge::trial
