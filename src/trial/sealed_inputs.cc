#include "trial/sealed_inputs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "base/writable.h"

namespace kforge::trial {
namespace {

bool write_at(int fd, const std::byte* from, std::uint64_t bytes, std::uint64_t at) {
  while (bytes > 0) {
    const ssize_t n = ::pwrite(fd, from, bytes, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    from += n;
    at += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::uint64_t>(n);
  }
  return true;
}

}  // namespace

Expected<std::shared_ptr<const SealedInputs>> SealedInputs::of(const CaseLayout& layout, std::span<const Bytes> inputs) {
  std::uint64_t held = 0;
  const std::uint64_t bytes = std::max<std::uint64_t>(layout.arena_bytes, 1);
  UniqueFd fd(::memfd_create("kforge-inputs", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  bool ok = fd && ::ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0;
  std::size_t next_input = 0;
  for (const TensorPlace& place : layout.places) {
    if (!place.has_input()) continue;
    const Bytes& input = inputs[next_input++];
    const std::uint64_t size = std::min<std::uint64_t>(input.size(), place.bytes);
    ok = ok && write_at(fd.get(), input.data(), size, place.in);
    held += size;
  }
  ok = ok && ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  if (!ok) return fail(ErrorCode::failed, fmt::format("no {} of memory can be had for inputs: {}", human_bytes(static_cast<double>(bytes)), std::strerror(errno)), {}, errno == EFBIG ? kFileLimitHint : "");
  return std::shared_ptr<const SealedInputs>(new SealedInputs(std::move(fd), bytes, held));
}

}  // namespace kforge::trial
