// Reader of NVIDIA's fatbin: the container in which nvcc leaves PTX texts and cubins inside a host object.
//
// Layout (measured on CUDA 13.0): containers follow one another, each with a 16-byte header (u32 magic 0xba55ed50, u16
// version, u16 header size, u64 size of all entries) and entries after it: u16 kind (1 PTX, 2 cubin), u32 header size at 4,
// u64 payload size at 8, u32 stored size at 16 (0: the payload size), u32 sm at 28, u64 flags at 40 (0x8000 zstd, 0x2000 LZ4), u64 plain size at 56.
// A registered image starts with a wrapper: u32 magic 0x466243b1, u32 version, pointer to the container.
//
// Lives here, below both, because the runtime library and the build room read it. Includes nothing of this project. Bytes are
// hostile: every length is checked, and what a container may unpack to is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kforge::ptx {

inline constexpr std::uint32_t kFatbinMagic = 0xba55ed50;
inline constexpr std::uint32_t kFatbinWrapperMagic = 0x466243b1;
inline constexpr std::uint64_t kFatbinPlainLimit = 512ull << 20;   // bytes, of all entries together

struct FatbinEntry {
  enum class Kind : std::uint8_t { ptx, cubin, other };
  Kind kind = Kind::other;
  std::uint32_t sm = 0;      // 90 for sm_90
  std::string data;          // unpacked; PTX without the final zero byte
};

struct Fatbin {
  std::vector<FatbinEntry> entries;
  std::string error;         // empty, or why reading stopped: entries before that place are kept
};

// All containers in `bytes` (the .nv_fatbin section of an object), one after the other; padding between them is skipped.
Fatbin read_fatbin(std::span<const std::byte> bytes);

// Size in bytes of the container that starts at `header` (at least 16 readable bytes), header included; 0 when it is none.
// For a runtime that holds only a pointer into its own process.
std::uint64_t fatbin_size(const void* header);

// The bytes of the section .nv_fatbin of a 64-bit ELF object or program; empty when there is none or the file is damaged.
std::span<const std::byte> fatbin_section(std::span<const std::byte> elf);

// The `.target` of a PTX text. suffix: 'a' or 'f' of sm_90a, else 0. sm == 0: the text names none.
struct PtxTarget { std::uint32_t sm = 0; char suffix = 0; };
PtxTarget ptx_target(std::string_view ptx);

// What the driver would compile for a GPU of compute capability `sm`: the PTX with the highest target that is not above it;
// sm_90a runs on sm 90 alone, sm_100f on sm 100 to 109 (PTX manual, ".target"). Null when no entry serves.
const FatbinEntry* best_ptx(const Fatbin& fatbin, std::uint32_t sm);
// The cubin that runs on it: same major, highest minor that is not above; null when none.
const FatbinEntry* best_cubin(const Fatbin& fatbin, std::uint32_t sm);

}  // namespace kforge::ptx
