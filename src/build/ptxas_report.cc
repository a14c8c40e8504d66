// What `ptxas -v` says of each kernel:
//   ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'
//   ptxas info    : Function properties for _Z1kPf
//       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 10 registers, used 1 barriers, 80000 bytes smem, 372 bytes cmem[0]
// Device functions that were not inlined have properties of their own after the kernel's "Used" line: their spills are
// added to the kernel above, since they are in its code.
#include <array>

#include "base/text.h"
#include "build/builder.h"

namespace kforge::build {
namespace {

struct Figure { std::string_view unit; int KernelReport::*field; };
constexpr std::array<Figure, 6> kFigures = {{{"bytes stack frame", &KernelReport::stack_bytes},
    {"bytes spill stores", &KernelReport::spill_store_bytes}, {"bytes spill loads", &KernelReport::spill_load_bytes},
    {"registers", &KernelReport::registers}, {"barriers", &KernelReport::barriers}, {"bytes smem", &KernelReport::static_shared_bytes}}};

// "Used 10 registers, used 1 barriers, 8 bytes smem, 4 bytes cmem[0]": adds each figure to its field.
void add_figures(std::string_view line, KernelReport& report) {
  for (std::string_view piece : split(line, ',')) {
    piece = trim(piece);
    for (const std::string_view start : {"Used ", "used "}) {
      if (piece.starts_with(start)) piece = piece.substr(start.size());
    }
    const std::size_t space = piece.find(' ');
    const auto value = parse_unsigned(piece.substr(0, space));
    if (!value || *value > INT32_MAX || space == std::string_view::npos) continue;
    const std::string_view unit = piece.substr(space + 1);
    for (const Figure& figure : kFigures) {
      if (unit == figure.unit) report.*figure.field += static_cast<int>(*value);
    }
    if (unit.starts_with("bytes cmem[")) report.constant_bytes += static_cast<int>(*value);
  }
}

}  // namespace

std::vector<KernelReport> parse_ptxas_report(std::string_view tool_output) {
  constexpr std::string_view kEntry = "Compiling entry function '", kUsed = " : Used ", kFrame = " bytes stack frame";
  std::vector<KernelReport> reports;
  for (const std::string_view line : split_lines(tool_output)) {
    if (const std::size_t at = line.find(kEntry); at != std::string_view::npos) {
      const std::string_view rest = line.substr(at + kEntry.size());
      reports.emplace_back().kernel = rest.substr(0, rest.find('\''));
    } else if (reports.empty()) {
      continue;
    } else if (const std::size_t used = line.find(kUsed); used != std::string_view::npos) {
      add_figures(line.substr(used + 3), reports.back());
    } else if (line.find(kFrame) != std::string_view::npos) {
      add_figures(line, reports.back());
    }
  }
  return reports;
}

}  // namespace kforge::build
