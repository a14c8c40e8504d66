// A file as a text that is not copied. For files that nobody shortens while they are looked at: what is mapped and no longer there is a fault of the process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "base/error.h"

namespace kforge {

class MappedFile {
 public:
  // The whole content of a regular file. Errors: bad_input (it cannot be opened), limit (more than `max_bytes`), failed.
  static Expected<MappedFile> open(const std::filesystem::path& path, std::uint64_t max_bytes);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::string_view text() const { return {data_, size_}; }

 private:
  MappedFile(const char* data, std::size_t size) : data_(data), size_(size) {}
  const char* data_;
  std::size_t size_;
};

}  // namespace kforge
