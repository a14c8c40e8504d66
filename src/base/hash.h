// Content hashes: XXH3 with 128 bits, as 32 lower-case hexadecimal digits.
//
// They name cache entries and artefacts. They are no defence against somebody who wants a
// collision; nothing here relies on that.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace kforge {

class Hasher {
 public:
  Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  ~Hasher();

  // Appends raw bytes: update("ab"), update("c") is update("abc").
  Hasher& update(std::string_view bytes);
  // Appends one field with its length, so that ("ab", "c") and ("a", "bc") differ. For cache keys.
  Hasher& field(std::string_view bytes);
  // The hash of all that was appended so far.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string hash_hex(std::string_view bytes);
// Streams the file: no limit on its size.
Expected<std::string> hash_file(const std::filesystem::path& path);

}  // namespace kforge
