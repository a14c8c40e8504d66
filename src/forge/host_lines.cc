#include "forge/host_lines.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/process.h"
#include "base/text.h"

namespace kforge::forge {
namespace {

// "file.cu:12" or "file.cu:12 (discriminator 3)"; "??:0" is nothing known.
evidence::SourceFrame read_place(std::string_view function, std::string_view place) {
  place = place.substr(0, place.find(" ("));
  const std::size_t colon = place.rfind(':');
  const auto line = colon == std::string_view::npos ? std::nullopt : parse_unsigned(place.substr(colon + 1));
  if (!line || *line == 0 || place.starts_with("??")) return {};
  return {std::string(place.substr(0, colon)), static_cast<std::uint32_t>(*line), 0, std::string(function)};
}

bool is_users(const evidence::SourceFrame& frame) {
  static constexpr std::array<std::string_view, 9> kOthers = {"/sysdeps/", "/csu/", "/elf/", "/usr/include/", "/usr/lib/", "/usr/local/cuda", "cuda_runtime.h", "crt/host_runtime.h", "tmpxft_"};
  return frame.line != 0 && std::none_of(kOthers.begin(), kOthers.end(), [&](std::string_view part) { return frame.file.find(part) != std::string::npos; });
}

}  // namespace

const std::vector<evidence::SourceFrame>& HostLines::lines_of(const HostAddress& address) {
  const auto [entry, fresh] = known_.try_emplace(address);
  if (!fresh) return entry->second;
  ProcessRequest request;
  request.arguments = {"addr2line", "-f", "-C", "-i", "-e", address.module, fmt::format("{:#x}", address.offset)};
  request.limits.wall_seconds = 10;
  const auto result = run_process(request);
  if (!result || !result->succeeded()) return entry->second;
  const auto lines = split_lines(result->out);
  for (std::size_t i = 0; i + 1 < lines.size(); i += 2)
    if (auto frame = read_place(lines[i], lines[i + 1]); is_users(frame)) entry->second.push_back(std::move(frame));
  return entry->second;
}

evidence::SourcePosition HostLines::resolve(const std::vector<HostAddress>& frames) {
  evidence::SourcePosition position;
  for (const HostAddress& address : frames) {
    const auto& lines = lines_of(address);
    position.frames.insert(position.frames.end(), lines.begin(), lines.end());
    if (!position.frames.empty()) break;   // who called the caller is not asked
  }
  return position;
}

}  // namespace kforge::forge
