#include "base/hash.h"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <system_error>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/unique_fd.h"

namespace kforge {
namespace {

std::string to_hex(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace

struct Hasher::State {
  XXH3_state_t xxh;
};

Hasher::Hasher() : state_(new State) { XXH3_128bits_reset(&state_->xxh); }
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
Hasher::~Hasher() = default;

Hasher& Hasher::update(std::string_view bytes) {
  XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
  return *this;
}

Hasher& Hasher::field(std::string_view bytes) {
  char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(static_cast<std::uint64_t>(bytes.size()) >> (8 * i));
  return update({length, sizeof length}).update(bytes);
}

std::string Hasher::hex() const { return to_hex(XXH3_128bits_digest(&state_->xxh)); }

std::string hash_hex(std::string_view bytes) { return to_hex(XXH3_128bits(bytes.data(), bytes.size())); }

Expected<std::string> hash_file(const std::filesystem::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Hasher hasher;
  std::array<char, 1 << 16> buffer;
  while (true) {
    const ssize_t n = fd ? ::read(fd.get(), buffer.data(), buffer.size()) : -1;
    if (n < 0 && fd && errno == EINTR) continue;
    if (n < 0) {
      const ErrorCode code = fd && errno != EISDIR ? ErrorCode::failed : ErrorCode::bad_input;
      return fail(code, "cannot read this file: " + std::generic_category().message(errno), Where{path.string()});
    }
    if (n == 0) return hasher.hex();
    hasher.update({buffer.data(), static_cast<std::size_t>(n)});
  }
}

}  // namespace kforge
