#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/unique_fd.h"

namespace kforge {

Expected<MappedFile> MappedFile::open(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!fd || ::fstat(fd.get(), &info) != 0) return fail(ErrorCode::bad_input, "cannot open this file: " + std::generic_category().message(errno), Where{path.string()});
  if (!S_ISREG(info.st_mode)) return fail(ErrorCode::bad_input, "this is no regular file", Where{path.string()});
  const auto bytes = static_cast<std::uint64_t>(info.st_size);
  if (bytes > max_bytes) return fail(ErrorCode::limit, "the file is larger than the limit of " + std::to_string(max_bytes) + " bytes", Where{path.string()});
  if (bytes == 0) return MappedFile(nullptr, 0);
  void* data = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd.get(), 0);
  if (data == MAP_FAILED) return fail(ErrorCode::failed, "cannot map this file: " + std::generic_category().message(errno), Where{path.string()});
  return MappedFile(static_cast<const char*>(data), bytes);
}

MappedFile::MappedFile(MappedFile&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace kforge
