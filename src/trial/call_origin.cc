#include "trial/call_origin.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace kforge::trial {
namespace {

constexpr std::uint32_t kLowHalf = offsetof(seccomp_data, instruction_pointer), kHighHalf = kLowHalf + 4;   // x86 is little-endian
constexpr std::uint64_t kHalf = 1ull << 32;

constexpr sock_filter load(std::uint32_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset); }
constexpr sock_filter jump(std::uint16_t test, std::uint32_t value, std::uint8_t if_true, std::uint8_t if_false) {
  return BPF_JUMP(static_cast<std::uint16_t>(BPF_JMP | test | BPF_K), value, if_true, if_false);
}
constexpr sock_filter answer(std::uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }

// The kernel compares 32 bits at a time: a range with one upper half.
void add_range(std::vector<sock_filter>& program, std::uint64_t first, std::uint64_t last, std::uint32_t action) {
  program.push_back(load(kHighHalf));
  program.push_back(jump(BPF_JEQ, static_cast<std::uint32_t>(first >> 32), 0, 4));
  program.push_back(load(kLowHalf));
  program.push_back(jump(BPF_JGE, static_cast<std::uint32_t>(first), 0, 2));
  program.push_back(jump(BPF_JGT, static_cast<std::uint32_t>(last), 1, 0));
  program.push_back(answer(action));
}

struct Wanted { const std::string& object; std::vector<CodeRange> ranges; };

}  // namespace

std::vector<CodeRange> loaded_code(const std::string& object) {
  Wanted wanted{object, {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* loaded, std::size_t, void* given) {
        Wanted& out = *static_cast<Wanted*>(given);
        if (!out.object.empty() && out.object != loaded->dlpi_name) return 0;
        for (int i = 0; i < loaded->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = loaded->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
          const std::uint64_t begin = loaded->dlpi_addr + segment.p_vaddr;
          out.ranges.push_back({begin, begin + segment.p_memsz});
        }
        return 0;
      },
      &wanted);
  return wanted.ranges;
}

CodeRange next_place(const std::string& object) {
  const int fd = ::open(object.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  ElfW(Ehdr) header{};
  std::uint64_t first = UINT64_MAX, last = 0;
  if (::pread(fd, &header, sizeof header, 0) == sizeof header && header.e_phnum < PN_XNUM)
    for (int i = 0; i < header.e_phnum; ++i) {
      ElfW(Phdr) segment{};
      if (::pread(fd, &segment, sizeof segment, static_cast<off_t>(header.e_phoff + static_cast<std::uint64_t>(i) * sizeof segment)) != sizeof segment || segment.p_type != PT_LOAD) continue;
      first = std::min<std::uint64_t>(first, segment.p_vaddr);
      last = std::max<std::uint64_t>(last, segment.p_vaddr + segment.p_memsz);
    }
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t bytes = last > first ? (last + page - 1) / page * page - first / page * page : 0;
  // As glibc maps it (elf/dl-map-segments.h): the whole at once, where the kernel likes.
  void* at = bytes == 0 ? MAP_FAILED : ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_DENYWRITE, fd, 0);
  ::close(fd);
  if (at == MAP_FAILED) return {};
  ::munmap(at, bytes);
  const auto begin = reinterpret_cast<std::uint64_t>(at);
  return {begin, begin + bytes};
}

std::string restrict_origin(Origin origin, const std::vector<CodeRange>& ranges) {
  const std::uint32_t inside = origin == Origin::only ? SECCOMP_RET_ALLOW : SECCOMP_RET_TRAP | kOwnInstruction, outside = origin == Origin::only ? SECCOMP_RET_TRAP | kOwnInstruction : SECCOMP_RET_ALLOW;
  std::vector<sock_filter> program = {load(offsetof(seccomp_data, nr)), jump(BPF_JEQ, SYS_futex, 0, 1), answer(SECCOMP_RET_ALLOW)};
  for (const CodeRange& range : ranges)
    for (std::uint64_t first = range.begin; first < range.end; first = (first / kHalf + 1) * kHalf)
      add_range(program, first, std::min(range.end, (first / kHalf + 1) * kHalf) - 1, inside);
  program.push_back(answer(outside));
  if (program.size() > BPF_MAXINSNS) return "too many libraries for a filter of where system calls come from";
  const sock_fprog whole{static_cast<unsigned short>(program.size()), program.data()};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &whole) == 0) return {};
  return std::string("the filter of where system calls come from was refused: ") + std::strerror(errno);
}

}  // namespace kforge::trial
