#include "hardware/data_sheet.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "hardware/embedded_sheets.h"

namespace kforge::hardware {
namespace {

// In order of architecture, then of size; each is a file of data/gpus.
constexpr std::array<std::string_view, 17> kNames = {
    "v100", "t4", "a100-40", "a100-80", "a10", "a30", "rtx3090", "orin", "l4", "l40s", "rtx4090",
    "h100-pcie", "h100-sxm", "h200", "gh200", "b200", "rtx5090"};

struct Alias {
  std::string_view alias, name;
};
constexpr Alias kAliases[] = {{"a100", "a100-80"}, {"h100", "h100-sxm"}};

// What nvcc 13.0 and the PTX parser have in common.
constexpr int kFirstSm = 75, kLastSm = 90;

bool is_path(std::string_view name) { return name.find('/') != name.npos || name.ends_with(".toml"); }

std::string canonical(std::string_view name) {
  std::string lower = to_lower(trim(name));
  for (const Alias& alias : kAliases)
    if (alias.alias == lower) return std::string(alias.name);
  return lower;
}

Unexpected unknown_gpu(std::string_view name) {
  std::vector<std::string> known = sheet_names();
  std::string list = join(known, " ");
  for (const Alias& alias : kAliases) known.emplace_back(alias.alias);
  auto near = nearest(to_lower(name), known);
  return fail(ErrorCode::bad_input, fmt::format("no data sheet is named '{}'", name), {},
              (near ? fmt::format("did you mean '{}'? ", *near) : "") + "known: " + list + "; or give the path of a sheet");
}

}  // namespace

std::vector<std::string> sheet_names() { return {kNames.begin(), kNames.end()}; }

std::vector<std::string> sheet_aliases(std::string_view name) {
  std::vector<std::string> aliases;
  for (const Alias& alias : kAliases)
    if (alias.name == name) aliases.emplace_back(alias.alias);
  return aliases;
}

Expected<DataSheet> find_sheet(std::string_view name) {
  if (is_path(name)) return read_sheet(std::string(name));
  std::string wanted = canonical(name);
  if (wanted == "this")
    return fail(ErrorCode::missing, "the GPU of this machine is not known here", {},
                "name a data sheet: " + join(sheet_names(), " "));
  for (const EmbeddedSheet& sheet : embedded_sheets())
    if (sheet.name == wanted) return parse_sheet(sheet.text, fmt::format("data/gpus/{}.toml", wanted));
  return unknown_gpu(name);
}

std::string untargetable_reason(const DataSheet& sheet) {
  if (sheet.sm() < kFirstSm)
    return fmt::format("nvcc 13.0 dropped sm_{}, so {} has a data sheet and occupancy only: CUDA 13 compiles for sm_{} and up.",
                       sheet.sm(), sheet.name, kFirstSm);
  if (sheet.sm() > kLastSm)
    return fmt::format("the PTX parser of this version takes sm_{} to sm_{}, and {} is sm_{}.", kFirstSm, kLastSm,
                       sheet.name, sheet.sm());
  return {};
}

}  // namespace kforge::hardware
