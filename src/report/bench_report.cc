// A bench report as table, JSON and CSV.
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "kforge/bench.h"
#include "report/json_parts.h"
#include "report/style.h"

namespace kforge {
namespace {

using Json = nlohmann::ordered_json;

std::string counted(std::uint64_t count, const char* one, const char* many) { return fmt::format("{} {}", count, count == 1 ? one : many); }

// Of a call that is more than kernels on one stream; "" of others, and where nothing was seen.
std::string unusual_activity(const GpuActivity& a) {
  if (!a.trouble.empty() || (a.streams <= 1 && a.copies == 0 && a.fills == 0)) return {};
  std::string out = fmt::format("{} on {}", counted(a.kernels, "kernel", "kernels"), counted(a.streams, "stream", "streams"));
  if (a.copies > 0) out += fmt::format(", {} ({})", counted(a.copies, "copy", "copies"), human_bytes(static_cast<double>(a.copied_bytes)));
  if (a.host_copies > 0) out += fmt::format(", {} of them from or to the host", a.host_copies);
  if (a.fills > 0) out += ", " + counted(a.fills, "fill", "fills");
  return out;
}

Json activity_json(const GpuActivity& a) {
  if (!a.trouble.empty()) return {{"trouble", a.trouble}};
  return {{"trouble", ""}, {"kernels", a.kernels}, {"streams", a.streams}, {"copies", a.copies}, {"host_copies", a.host_copies}, {"copied_bytes", a.copied_bytes}, {"fills", a.fills}, {"names", a.names}};
}

std::string notes_of(const BenchRow& row) {
  std::vector<std::string> notes;
  if (!row.failure.empty()) notes.push_back(row.failure);
  else if (row.right != "right") notes.push_back(row.right);
  for (const std::string& why : row.dishonest) notes.push_back("not honest: " + why);
  if (row.host_bound) notes.emplace_back("bound by the host");
  if (const std::string seen = unusual_activity(row.activity); !seen.empty()) notes.push_back(seen);
  if (row.conditions.power_capped) notes.emplace_back("power cap");
  if (row.discarded > 0) notes.push_back(fmt::format("{} dropped", row.discarded));
  return join(notes, "; ");
}

// RFC 4180: quoted where it must be.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return '"' + replace_all(text, "\"", "\"\"") + '"';
}

struct Figure { const char* name; double BenchRow::*value; };
constexpr Figure kFigures[] = {{"us", &BenchRow::us}, {"p99_us", &BenchRow::p99_us}, {"spread", &BenchRow::spread}, {"interval", &BenchRow::interval}, {"first_call_us", &BenchRow::first_call_us},
                               {"launch_us", &BenchRow::launch_us}, {"graph_us", &BenchRow::graph_us}, {"back_to_back_us", &BenchRow::back_to_back_us}, {"fresh_us", &BenchRow::fresh_us},
                               {"empty_us", &BenchRow::empty_us}, {"of_roofline", &BenchRow::of_roofline}};
struct Condition { const char* name; double TimeConditions::*value; };
constexpr Condition kConditions[] = {{"sm_mhz", &TimeConditions::sm_mhz}, {"memory_mhz", &TimeConditions::memory_mhz}, {"temperature_c", &TimeConditions::temperature_c}, {"power_w", &TimeConditions::power_w}};

}  // namespace

std::string to_text(const BenchReport& report) {
  std::string out;
  std::string sizes, device;
  double first = 0;
  std::size_t width = 9;
  for (const BenchRow& row : report.rows) width = std::max(width, report::printable(row.candidate).size());
  for (const BenchRow& row : report.rows) {
    if (row.sizes != sizes || row.device != device || out.empty()) {
      sizes = row.sizes;
      device = row.device;
      first = row.us;
      out += fmt::format("{}{} on {}{}, {} L2\n  {:<{}} {:>10} {:>9} {:>10} {:>9} {:>9} {:>9} {:>8} {:>8}  {}\n", out.empty() ? "" : "\n", report::printable(sizes), report::printable(row.conditions.gpu), report.devices.size() > 1 ? " (" + report::printable(row.device) + ")" : "", report.warm ? "warm" : "cold",
                         "candidate", width, "us", "+-%", "p99 us", "host us", "graph us", "first us", "ratio", "of roof", "");
    }
    const std::string graph = row.graph_us > 0 ? fmt::format("{:.2f}", row.graph_us) : "-";
    if (row.failure.empty())
      out += fmt::format("  {:<{}} {:>10.2f} {:>9.2f} {:>10.2f} {:>9.2f} {:>9} {:>9.0f} {:>8.2f} {:>8}  {}\n", report::printable(row.candidate), width, row.us, 50 * row.interval, row.p99_us, row.launch_us, graph,
                         row.first_call_us, row.us > 0 ? first / row.us : 0, row.of_roofline > 0 ? fmt::format("{:.0f}%", 100 * row.of_roofline) : "-", report::printable(notes_of(row)));
    else out += fmt::format("  {:<{}} {:>10}  {}\n", report::printable(row.candidate), width, "-", report::printable(notes_of(row)));
  }
  if (!report.rows.empty()) {
    const TimeConditions& c = report.rows.back().conditions;
    out += fmt::format("driver {}, CUDA {}, SM {:.0f} MHz, memory {:.0f} MHz, {:.0f} C, {:.0f} W\n", report::printable(c.driver), report::printable(c.toolkit), c.sm_mhz, c.memory_mhz, c.temperature_c, c.power_w);
  }
  for (const BenchDevice& one : report.devices) {
    const std::string where = report.devices.size() > 1 ? report::printable(one.device) + ": " : "";
    if (one.copy_bytes_per_s > 0) out += fmt::format("{}a device-to-device copy moves {:.0f} GB/s ({:.0f}% of the data sheet's rate)\n", where, one.copy_bytes_per_s / 1e9, 100 * one.copy_bytes_per_s / report.sheet_bytes_per_s);
    if (one.matrix_flops > 0) out += fmt::format("{}cuBLASLt's product in f16 makes {:.0f} TFLOP/s ({:.0f}% of the data sheet's rate)\n", where, one.matrix_flops / 1e12, 100 * one.matrix_flops / report.sheet_matrix_flops);
  }
  std::set<std::string> unwatched;
  for (const BenchRow& row : report.rows)
    if (!row.activity.trouble.empty() && row.failure.empty() && row.verified > 0) unwatched.insert(row.activity.trouble);
  for (const std::string& why : unwatched) out += "not watched by CUPTI: " + report::printable(why) + "\n";
  for (const std::string& warning : report.warnings) out += "warning: " + report::printable(warning) + "\n";
  return out;
}

std::string to_json(const BenchReport& report) {
  Json rows = Json::array();
  for (const BenchRow& row : report.rows) {
    Json one = {{"candidate", row.candidate}, {"sizes", row.sizes}, {"device", row.device}};
    for (const Figure& figure : kFigures) one[figure.name] = std::isfinite(row.*figure.value) ? Json(row.*figure.value) : Json(nullptr);
    one.update({{"host_bound", row.host_bound}, {"witnessed", row.witnessed}, {"samples", row.samples}, {"discarded", row.discarded}, {"verified", row.verified}, {"right", row.right}, {"failure", row.failure}, {"dishonest", row.dishonest}});
    Json conditions = {{"gpu", row.conditions.gpu}, {"driver", row.conditions.driver}, {"toolkit", row.conditions.toolkit}};
    for (const Condition& c : kConditions) conditions[c.name] = row.conditions.*c.value;
    conditions["power_capped"] = row.conditions.power_capped;
    one["conditions"] = std::move(conditions);
    one["activity"] = activity_json(row.activity);
    rows.push_back(std::move(one));
  }
  Json devices = Json::array();
  for (const BenchDevice& one : report.devices) devices.push_back({{"device", one.device}, {"copy_bytes_per_s", one.copy_bytes_per_s}, {"matrix_flops", one.matrix_flops}});
  return report::dump({{"schema", "kforge.bench/1"}, {"task", report.task}, {"gpu", report.gpu}, {"warm", report.warm}, {"copy_bytes_per_s", report.copy_bytes_per_s}, {"sheet_bytes_per_s", report.sheet_bytes_per_s}, {"matrix_flops", report.matrix_flops}, {"sheet_matrix_flops", report.sheet_matrix_flops}, {"devices", std::move(devices)}, {"rows", rows}, {"warnings", report.warnings}});
}

std::string to_csv(const BenchReport& report) {
  std::string out = "candidate,sizes";
  for (const Figure& figure : kFigures) out += fmt::format(",{}", figure.name);
  for (const Condition& c : kConditions) out += fmt::format(",{}", c.name);
  out += ",device,gpu,driver,toolkit,samples,discarded,verified,right,failure\r\n";
  for (const BenchRow& row : report.rows) {
    out += field(row.candidate) + "," + field(row.sizes);
    for (const Figure& figure : kFigures) out += fmt::format(",{:.6g}", row.*figure.value);
    for (const Condition& c : kConditions) out += fmt::format(",{:.6g}", row.conditions.*c.value);
    out += fmt::format(",{},{},{},{},{},{},{},{},{}\r\n", field(row.device), field(row.conditions.gpu), field(row.conditions.driver), field(row.conditions.toolkit), row.samples, row.discarded, row.verified, field(row.right), field(row.failure));
  }
  return out;
}

}  // namespace kforge
