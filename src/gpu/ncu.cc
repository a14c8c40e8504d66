#include "gpu/ncu.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "gpu/csv.h"
#include "gpu/ncu_trouble.h"

namespace kforge::gpu {
namespace {

// Of "==PROF== Profiling "name" - 0: 0%....50%....100% - 3 passes".
int passes_of(std::string_view line) {
  constexpr std::string_view kBefore = " - ", kAfter = " pass";
  const auto end = line.rfind(kAfter);
  if (!line.starts_with("==PROF== Profiling") || end == std::string_view::npos) return 0;
  const auto start = line.rfind(kBefore, end);
  if (start == std::string_view::npos) return 0;
  const auto read = parse_unsigned(line.substr(start + kBefore.size(), end - start - kBefore.size()));
  return read && *read < 10'000 ? static_cast<int>(*read) : 0;
}

}  // namespace

NcuReport read_ncu(std::string_view text) {
  NcuReport out;
  std::vector<std::string> header;
  bool units = false;
  std::size_t kernel = 0;
  for (const std::string_view line : split_lines(text)) {
    if (line.starts_with("==")) {
      if (out.trouble.empty()) out.trouble = ncu_trouble(line);
      out.passes = std::max(out.passes, passes_of(line));
      continue;
    }
    auto fields = csv_fields(line);
    if (header.empty()) {
      const auto found = std::find(fields.begin(), fields.end(), "Kernel Name");
      if (found == fields.end()) continue;   // what the program itself prints
      kernel = static_cast<std::size_t>(found - fields.begin());
      header = std::move(fields);
      units = true;
      continue;
    }
    if (fields.size() != header.size()) continue;
    if (units && fields[kernel].empty()) {
      units = false;
      continue;
    }
    units = false;
    CounterRow& row = out.rows.emplace_back();
    row.kernel = fields[kernel];
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (header[i].find("__") == std::string::npos) continue;
      const auto value = parse_double(replace_all(fields[i], ",", ""));   // some locales group digits
      if (value && std::isfinite(*value)) row.metrics[header[i]] = *value;
    }
  }
  if (!out.rows.empty()) out.trouble.clear();
  else if (out.trouble.empty()) out.trouble = "ncu printed no table";
  return out;
}

}  // namespace kforge::gpu
