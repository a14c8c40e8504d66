#include "gpu/stalls.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "evidence/stall_reason.h"
#include "gpu/csv.h"
#include "gpu/ncu_trouble.h"

namespace kforge::gpu {
namespace {

constexpr std::string_view kPrefix = "stall_", kNotIssued = " (Not Issued)";
constexpr std::size_t kLinesTold = 3;

// The table that is being read.
struct Table {
  std::string file;
  std::size_t width = 0, line_column = 0;
  bool has_lines = false;
  std::vector<std::pair<std::size_t, std::string>> reasons;   // by column
};

// A header names columns of samples; anything else is none.
bool read_header(const std::vector<std::string>& fields, Table& table) {
  Table made;
  made.file = table.file;
  made.width = fields.size();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string_view name = fields[i];
    if (name == "Line No" || name == "Line Number" || name == "#") {
      made.line_column = i;
      made.has_lines = true;
    }
    if (name.starts_with(kPrefix) && !name.ends_with(kNotIssued)) made.reasons.emplace_back(i, std::string(name.substr(kPrefix.size())));
  }
  if (made.reasons.empty()) return false;
  table = std::move(made);
  return true;
}

void add_row(const std::vector<std::string>& fields, const Table& table, KernelStalls& kernel) {
  std::uint32_t number = 0;
  if (table.has_lines) {
    const auto read = parse_unsigned(fields[table.line_column]);
    if (!read || *read > UINT32_MAX) return;   // machine code below its line, which has the sum
    number = static_cast<std::uint32_t>(*read);
  }
  const std::string& file = table.has_lines ? table.file : std::string();
  auto line = std::find_if(kernel.lines.begin(), kernel.lines.end(), [&](const StalledLine& one) { return one.line == number && one.file == file; });
  if (line == kernel.lines.end()) line = kernel.lines.insert(line, StalledLine{file, number, {}});
  for (const auto& [column, reason] : table.reasons) {
    const auto value = parse_double(replace_all(fields[column], ",", ""));   // some locales group digits
    if (value && std::isfinite(*value) && *value > 0) line->samples[reason] += *value;
  }
}

bool is_ready(const std::string& reason) {
  const evidence::StallReason* known = evidence::find_stall(reason);
  return known && !known->waits;
}

double all(const StallSamples& samples) {
  double out = 0;
  for (const auto& [reason, count] : samples) out += count;
  return out;
}

std::string main_reason(const StallSamples& samples) {
  std::string out;
  double most = 0;
  for (const auto& [reason, count] : samples) {
    if (is_ready(reason) || count <= most) continue;
    most = count;
    out = reason;
  }
  return out;
}

}  // namespace

std::vector<std::string> stall_options() { return {"--csv", "--page", "source", "--print-source", "cuda,sass", "--section", "SourceCounters"}; }

StallReport read_stalls(std::string_view text) {
  StallReport out;
  Table table;
  std::string first_row;         // of the table before
  for (const std::string_view line : split_lines(text)) {
    if (line.starts_with("==")) {
      if (out.trouble.empty()) out.trouble = ncu_trouble(line);
      continue;
    }
    const auto fields = csv_fields(line);
    if (fields.size() >= 2 && (fields[0] == "File Path" || fields[0] == "File Name")) {
      table = {};
      table.file = fields[1];
    } else if (fields.size() >= 2 && (fields[0] == "Function Name" || fields[0] == "Kernel Name")) {
      if (fields[0] == "Kernel Name") table = {};
      if (out.kernels.empty() || out.kernels.back().kernel != fields[1] || fields[0] == "Kernel Name") out.kernels.push_back({fields[1], {}});
      table.width = 0;
    } else if (!out.kernels.empty() && !read_header(fields, table) && table.width > 0 && fields.size() == table.width) {
      // Version 2025.3 prints each table of machine code twice, with the addresses of the same instructions.
      if (out.kernels.back().lines.empty() && !table.has_lines && std::exchange(first_row, std::string(line)) == line) table.width = 0;
      else add_row(fields, table, out.kernels.back());
    }
  }
  std::erase_if(out.kernels, [](const KernelStalls& kernel) { return kernel.lines.empty(); });
  if (!out.kernels.empty()) out.trouble.clear();
  else if (out.trouble.empty()) out.trouble = "ncu printed no samples of stalls";
  return out;
}

std::string stall_meaning(const std::string& reason) {
  const evidence::StallReason* known = evidence::find_stall(reason);
  return known ? std::string(known->words) : reason;
}

double waiting(const StallSamples& samples) {
  double out = 0;
  for (const auto& [reason, count] : samples) out += is_ready(reason) ? 0 : count;
  return out;
}

std::string describe_stalls(const std::vector<KernelStalls>& kernels) {
  double total = 0, waits = 0;
  std::map<std::pair<std::string, std::uint32_t>, StallSamples> by_line;
  for (const KernelStalls& kernel : kernels)
    for (const StalledLine& line : kernel.lines) {
      total += all(line.samples);
      waits += waiting(line.samples);
      for (const auto& [reason, count] : line.samples) by_line[{line.file, line.line}][reason] += count;
    }
  if (waits <= 0) return {};
  std::vector<std::pair<double, std::string>> told;
  for (const auto& [place, samples] : by_line) {
    const double here = waiting(samples);
    if (here <= 0) continue;
    const std::string where = place.second == 0 ? "in code without lines" : fmt::format("at {}:{}", std::filesystem::path(place.first).filename().string(), place.second);
    told.emplace_back(here, fmt::format("{} ({:.0f}%, {})", where, 100 * here / waits, stall_meaning(main_reason(samples))));
  }
  std::stable_sort(told.begin(), told.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> lines;
  for (const auto& [here, words] : told)
    if (lines.size() < kLinesTold && (lines.empty() || here >= 0.05 * waits)) lines.push_back(words);
  return fmt::format("warps wait in {:.0f}% of ncu's samples, most {}", 100 * waits / total, join(lines, ", then "));
}

}  // namespace kforge::gpu
