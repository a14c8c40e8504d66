#include "gpu/xid.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>

#include <fmt/format.h>

#include "base/text.h"

namespace kforge::gpu {
namespace {

constexpr std::string_view kMark = "NVRM: Xid (PCI:";
constexpr std::size_t kMostDetail = 200, kMostRecords = 10'000;

constexpr XidMeaning kMeanings[] = {{8, "GPU stopped processing", false},
                                    {13, "graphics engine exception", false},
                                    {31, "memory page fault", false},
                                    {32, "invalid or corrupted push buffer", false},
                                    {43, "GPU stopped processing", false},
                                    {45, "work was removed after an earlier error", false},
                                    {48, "double-bit memory error", true},
                                    {61, "internal microcontroller breakpoint", true},
                                    {62, "internal microcontroller halt", true},
                                    {63, "a memory row was remapped", false},
                                    {64, "a memory row could not be remapped", true},
                                    {68, "video processor exception", false},
                                    {69, "graphics engine class error", false},
                                    {74, "NVLink error", true},
                                    {79, "the GPU has fallen off the bus", true},
                                    {92, "many single-bit memory errors", false},
                                    {94, "contained memory error", true},
                                    {95, "uncontained memory error", true},
                                    {109, "a context switch took too long", false},
                                    {119, "the GPU's system processor does not answer", true},
                                    {120, "the GPU's system processor failed", true},
                                    {137, "fault of an NVLink peer", false},
                                    {140, "unrecovered memory error", true},
                                    {154, "the GPU asks to be recovered", true}};

// Without domain and function, which the log writes in another way: "19:00".
std::string_view bus_and_device(std::string_view pci) {
  const auto dot = pci.rfind('.');
  if (dot != std::string_view::npos) pci = pci.substr(0, dot);
  const auto colon = pci.find(':');
  return std::count(pci.begin(), pci.end(), ':') > 1 ? pci.substr(colon + 1) : pci;
}

}  // namespace

const XidMeaning* find_xid(unsigned number) {
  const auto found = std::find_if(std::begin(kMeanings), std::end(kMeanings), [&](const XidMeaning& one) { return one.number == number; });
  return found == std::end(kMeanings) ? nullptr : &*found;
}

std::string describe(const Xid& xid) {
  const XidMeaning* known = find_xid(xid.number);
  return fmt::format("Xid {}{}{}{}", xid.number, known ? fmt::format(" ({})", known->words) : "", xid.detail.empty() ? "" : ": ", xid.detail);
}

bool is_not_well(const Xid& xid) {
  const XidMeaning* known = find_xid(xid.number);
  return known && known->not_well;
}

std::optional<Xid> read_xid(std::string_view line, std::string_view pci) {
  const auto start = line.find(kMark);
  if (start == std::string_view::npos) return std::nullopt;
  line.remove_prefix(start + kMark.size());
  const auto close = line.find("): ");
  if (close == std::string_view::npos) return std::nullopt;
  if (!pci.empty() && to_lower(std::string(bus_and_device(line.substr(0, close)))) != to_lower(std::string(bus_and_device(pci)))) return std::nullopt;
  line.remove_prefix(close + 3);
  const auto comma = std::min(line.find(','), line.size());
  const auto number = parse_unsigned(trim(line.substr(0, comma)));
  if (!number || *number > 100'000) return std::nullopt;
  return Xid{static_cast<unsigned>(*number), std::string(trim(line.substr(std::min(comma + 1, line.size())))).substr(0, kMostDetail)};
}

KernelLog::KernelLog() {
  const char* named = std::getenv("KFORGE_KERNEL_LOG");
  file_ = ::open(named && *named ? named : "/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file_ >= 0) (void)::lseek(file_, 0, SEEK_END);
}

KernelLog::~KernelLog() {
  if (file_ >= 0) ::close(file_);
}

std::vector<Xid> KernelLog::take(std::string_view pci) {
  std::vector<Xid> out;
  if (file_ < 0) return out;
  std::string text;
  std::array<char, 8192> record;   // a read of the device gives one record
  for (std::size_t i = 0; i < kMostRecords; ++i) {
    const auto got = ::read(file_, record.data(), record.size());
    if (got <= 0) break;
    text.append(record.data(), static_cast<std::size_t>(got));
    if (text.back() != '\n') text += '\n';
  }
  for (const std::string_view line : split_lines(text))
    if (auto xid = read_xid(line, pci)) out.push_back(std::move(*xid));
  return out;
}

}  // namespace kforge::gpu
