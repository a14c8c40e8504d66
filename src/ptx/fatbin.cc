#include "ptx/fatbin.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace kforge::ptx {
namespace {

constexpr std::size_t kContainerHeader = 16, kEntryHeader = 64;
constexpr std::uint64_t kFlagLz4 = 0x2000, kFlagZstd = 0x8000;

template <class T>
T at(std::span<const std::byte> bytes, std::size_t offset) {
  T value{};
  if (offset <= bytes.size() && sizeof(T) <= bytes.size() - offset) std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<std::string> unpack_zstd(std::string_view packed, std::uint64_t plain_bytes) {
  std::string plain(plain_bytes, '\0');
  const std::size_t got = ZSTD_decompress(plain.data(), plain.size(), packed.data(), packed.size());
  if (ZSTD_isError(got)) return std::nullopt;
  plain.resize(got);
  return plain;
}

std::optional<std::string> unpack_lz4(std::string_view packed, std::uint64_t plain_bytes) {
  if (plain_bytes > INT32_MAX || packed.size() > INT32_MAX) return std::nullopt;
  std::string plain(plain_bytes, '\0');
  const int got = LZ4_decompress_safe(packed.data(), plain.data(), static_cast<int>(packed.size()), static_cast<int>(plain.size()));
  if (got < 0) return std::nullopt;
  plain.resize(static_cast<std::size_t>(got));
  return plain;
}

struct EntryHeader {
  std::uint16_t kind = 0;
  std::uint32_t header_bytes = 0, stored_bytes = 0, sm = 0;
  std::uint64_t payload_bytes = 0, flags = 0, plain_bytes = 0;

  explicit EntryHeader(std::span<const std::byte> entry)
      : kind(at<std::uint16_t>(entry, 0)), header_bytes(at<std::uint32_t>(entry, 4)), stored_bytes(at<std::uint32_t>(entry, 16)),
        sm(at<std::uint32_t>(entry, 28)), payload_bytes(at<std::uint64_t>(entry, 8)), flags(at<std::uint64_t>(entry, 40)),
        plain_bytes(at<std::uint64_t>(entry, 56)) {}
  bool packed() const { return (flags & (kFlagZstd | kFlagLz4)) != 0; }
};

// Null with `error` set when the entry cannot be read.
std::optional<FatbinEntry> read_entry(const EntryHeader& header, std::span<const std::byte> payload, std::uint64_t& budget,
                                      std::string& error) {
  std::string_view stored = text_of(payload);
  if (header.stored_bytes != 0) stored = stored.substr(0, header.stored_bytes);
  const std::uint64_t plain_bytes = header.packed() ? header.plain_bytes : stored.size();
  if (plain_bytes > budget) {
    error = "a fatbin entry unpacks to more than the limit";
    return std::nullopt;
  }
  std::optional<std::string> plain;
  if (header.flags & kFlagZstd) plain = unpack_zstd(stored, plain_bytes);
  else if (header.flags & kFlagLz4) plain = unpack_lz4(stored, plain_bytes);
  else plain = std::string(stored);
  if (!plain) {
    error = "a compressed fatbin entry is damaged";
    return std::nullopt;
  }
  budget -= plain->size();
  FatbinEntry entry;
  entry.kind = header.kind == 1 ? FatbinEntry::Kind::ptx : header.kind == 2 ? FatbinEntry::Kind::cubin : FatbinEntry::Kind::other;
  entry.sm = header.sm;
  entry.data = std::move(*plain);
  if (entry.kind == FatbinEntry::Kind::ptx) entry.data.resize(std::min(entry.data.find('\0'), entry.data.size()));
  return entry;
}

bool read_container(std::span<const std::byte> entries, std::uint64_t& budget, Fatbin& fatbin) {
  while (!entries.empty()) {
    if (entries.size() < kEntryHeader) return fatbin.error = "a fatbin entry is cut off", false;
    const EntryHeader header(entries);
    if (header.header_bytes < kEntryHeader || header.header_bytes > entries.size() ||
        header.payload_bytes > entries.size() - header.header_bytes) {
      return fatbin.error = "a fatbin entry is longer than its container", false;
    }
    auto entry = read_entry(header, entries.subspan(header.header_bytes, header.payload_bytes), budget, fatbin.error);
    if (!entry) return false;
    fatbin.entries.push_back(std::move(*entry));
    entries = entries.subspan(header.header_bytes + header.payload_bytes);
  }
  return true;
}

}  // namespace

std::uint64_t fatbin_size(const void* header) {
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(header), kContainerHeader);
  if (at<std::uint32_t>(bytes, 0) != kFatbinMagic) return 0;
  const std::uint64_t header_bytes = at<std::uint16_t>(bytes, 6), body = at<std::uint64_t>(bytes, 8);
  return header_bytes < kContainerHeader || body > UINT64_MAX - header_bytes ? 0 : header_bytes + body;
}

Fatbin read_fatbin(std::span<const std::byte> bytes) {
  Fatbin fatbin;
  std::uint64_t budget = kFatbinPlainLimit;
  while (bytes.size() >= kContainerHeader) {
    if (at<std::uint32_t>(bytes, 0) == 0) {   // padding between containers
      bytes = bytes.subspan(4);
      continue;
    }
    const std::uint64_t size = fatbin_size(bytes.data());
    if (size == 0) return fatbin.error = "no fatbin starts here", fatbin;
    if (size > bytes.size()) return fatbin.error = "a fatbin is longer than its section", fatbin;
    const std::size_t header_bytes = at<std::uint16_t>(bytes, 6);
    if (!read_container(bytes.subspan(header_bytes, size - header_bytes), budget, fatbin)) return fatbin;
    bytes = bytes.subspan(size);
  }
  return fatbin;
}

std::span<const std::byte> fatbin_section(std::span<const std::byte> elf) {
  constexpr std::uint64_t kSectionHeader = 64;
  if (!text_of(elf).starts_with("\x7f" "ELF\x02\x01")) return {};
  const std::uint64_t table = at<std::uint64_t>(elf, 0x28);
  const std::uint64_t count = at<std::uint16_t>(elf, 0x3c), names = at<std::uint16_t>(elf, 0x3e);
  if (at<std::uint16_t>(elf, 0x3a) != kSectionHeader || names >= count) return {};
  if (table > elf.size() || count * kSectionHeader > elf.size() - table) return {};
  const auto content = [&](std::uint64_t index) -> std::span<const std::byte> {
    const std::uint64_t header = table + index * kSectionHeader;
    const std::uint64_t offset = at<std::uint64_t>(elf, header + 24), size = at<std::uint64_t>(elf, header + 32);
    if (at<std::uint32_t>(elf, header + 4) == 8 || offset > elf.size() || size > elf.size() - offset) return {};   // 8: no bytes in the file
    return elf.subspan(offset, size);
  };
  const std::string_view strings = text_of(content(names));
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint32_t name = at<std::uint32_t>(elf, table + i * kSectionHeader);
    if (name < strings.size() && strings.substr(name).starts_with(std::string_view(".nv_fatbin\0", 11))) return content(i);
  }
  return {};
}

PtxTarget ptx_target(std::string_view ptx) {
  constexpr std::string_view kDirective = ".target";
  for (std::size_t start = 0; start < ptx.size();) {
    const std::size_t end = std::min(ptx.find('\n', start), ptx.size());
    std::string_view line = ptx.substr(start, end - start);
    start = end + 1;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));   // old compilers indent it
    if (!line.starts_with(kDirective)) continue;
    const std::size_t sm = line.find("sm_");
    if (sm == std::string_view::npos) return {};
    line = line.substr(sm + 3);
    PtxTarget target;
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), target.sm);
    if (error != std::errc{}) return {};
    if (rest != line.data() + line.size() && (*rest == 'a' || *rest == 'f')) target.suffix = *rest;
    return target;
  }
  return {};
}

const FatbinEntry* best_ptx(const Fatbin& fatbin, std::uint32_t sm) {
  const FatbinEntry* best = nullptr;
  PtxTarget best_target;
  for (const FatbinEntry& entry : fatbin.entries) {
    if (entry.kind != FatbinEntry::Kind::ptx) continue;
    const PtxTarget target = ptx_target(entry.data);
    if (target.sm == 0 || target.sm > sm || (target.suffix == 'a' && target.sm != sm)) continue;
    if (target.suffix == 'f' && target.sm / 10 != sm / 10) continue;
    const bool better = target.sm > best_target.sm || (target.sm == best_target.sm && target.suffix != 0);
    if (best == nullptr || better) best = &entry, best_target = target;
  }
  return best;
}

const FatbinEntry* best_cubin(const Fatbin& fatbin, std::uint32_t sm) {
  const FatbinEntry* best = nullptr;
  for (const FatbinEntry& entry : fatbin.entries) {
    if (entry.kind != FatbinEntry::Kind::cubin || entry.sm > sm || entry.sm / 10 != sm / 10) continue;
    if (best == nullptr || entry.sm > best->sm) best = &entry;
  }
  return best;
}

}  // namespace kforge::ptx
