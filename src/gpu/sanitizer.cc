#include "gpu/sanitizer.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"

namespace kforge::gpu {
namespace {

constexpr std::string_view kMark = "=========";

struct Kind { std::string_view begins, contract, kind; bool advice; };
// What a first line begins with. Order matters: the first that fits is taken.
constexpr Kind kKinds[] = {
    {"Invalid __global__", "safety.bounds", "out-of-bounds", false},
    {"Invalid __shared__", "safety.bounds", "out-of-bounds", false},
    {"Invalid __local__", "safety.bounds", "out-of-bounds", false},
    {"Invalid", "safety.bounds", "out-of-bounds", false},
    {"Misaligned", "safety.bounds", "misaligned", false},
    {"Error: Race reported", "safety.races", "race", false},
    {"Error: Potential", "safety.races", "race", false},
    {"Warning: Race reported", "safety.races", "race", true},
    {"Warning: Potential", "safety.races", "race", true},
    {"Uninitialized", "safety.uninitialised", "uninitialised-read", false},
    {"Barrier error", "safety.barriers", "barrier-divergence", false},
    {"Divergent", "safety.barriers", "barrier-divergence", false},
    {"Stack overflow", "run.crash", "stack-overflow", false},
    {"Illegal instruction", "run.crash", "illegal-instruction", false},
    {"Program hit", "run.crash", "runtime-error", false},
};

// Lines with which a tool says that it did not work.
constexpr std::string_view kTroubles[] = {"Error: Device not supported", "Error: No attachable process found", "Error: Target application terminated before first instrumented API call",
                                          "Internal Sanitizer Error", "Error: Failed to initialize"};

std::string_view after_mark(std::string_view line) { return line.starts_with(kMark) ? trim(line.substr(kMark.size())) : std::string_view(); }

// "at decay_kernel(const float *, float *, int)+0x70 in /path/file.cu:10" or "at ... in file.cu:10:kernel" of older versions.
struct Place { std::string kernel; evidence::SourceFrame frame; };
std::optional<Place> place_in(std::string_view line) {
  const std::size_t in = line.rfind(" in ");
  if (in == std::string_view::npos) return std::nullopt;
  std::size_t at = line.find("at ");
  if (at == std::string_view::npos || at > in) return std::nullopt;
  Place out;
  std::string_view kernel = line.substr(at + 3, in - at - 3);
  if (const std::size_t offset = kernel.rfind("+0x"); offset != std::string_view::npos) kernel = kernel.substr(0, offset);
  out.kernel = std::string(trim(kernel));
  const std::string_view where = line.substr(in + 4);
  const std::size_t suffix = where.find(".cu");
  const std::size_t colon = where.find(':', suffix == std::string_view::npos ? 0 : suffix);
  if (colon == std::string_view::npos) return out;
  out.frame.file = std::string(where.substr(0, colon));
  std::string_view digits = where.substr(colon + 1);
  digits = digits.substr(0, std::min(digits.size(), digits.find_first_not_of("0123456789")));
  out.frame.line = static_cast<std::uint32_t>(parse_unsigned(digits).value_or(0));
  return out;
}

}  // namespace

SanitizerReport read_sanitizer(std::string_view text, const SanitizerTool& tool) {
  SanitizerReport out;
  bool summary = false;
  evidence::Violation* open = nullptr;
  for (const std::string_view line : split_lines(text)) {
    const std::string_view said = after_mark(line);
    if (said.empty()) {
      if (line.starts_with(kMark)) open = nullptr;   // an empty line of the tool ends an error
      continue;
    }
    summary |= said.starts_with("ERROR SUMMARY") || said.starts_with("RACECHECK SUMMARY");
    for (const std::string_view trouble : kTroubles)
      if (said.starts_with(trouble) && out.trouble.empty()) out.trouble = std::string(said);
    const auto kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return said.starts_with(k.begins); });
    if (kind != std::end(kKinds)) {
      open = &out.violations.emplace_back();
      open->contract = std::string(kind->contract);
      open->kind = std::string(kind->kind);
      open->advice = kind->advice;
      open->message = fmt::format("{} (compute-sanitizer {})", said, tool.name);
    }
    if (!open) continue;
    if (const auto place = place_in(said)) {
      evidence::SourcePosition& where = open->where.frames.empty() ? open->where : open->other;
      if (where.frames.empty()) where.frames.push_back(place->frame);
      if (open->kernel.empty()) open->kernel = place->kernel;
    }
  }
  if (!summary && out.trouble.empty()) out.trouble = "it ended without a summary";
  if (!out.trouble.empty()) out.violations.clear();
  return out;
}

}  // namespace kforge::gpu
