#include "trial/activity.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "trial/worker_timing.h"

namespace kforge::trial {
namespace {

using nlohmann::json;

constexpr int kHostToDeviceCopy = 1, kDeviceToHostCopy = 2;   // CUpti_ActivityMemcpyKind
constexpr std::size_t kMostRecords = 1 << 20;

struct Record {
  std::string kind, name;
  std::uint64_t stream = 0, start_ns = 0, end_ns = 0, bytes = 0, value = 0;
  int copy_kind = 0;
  bool is_marker() const { return kind == "f" && bytes == kMarkerBytes && (value & 0xff) == kMarkerValue; }
};

std::vector<Record> read_records(const json& call) {
  std::vector<Record> out;
  for (const json& one : call) {
    out.push_back({one.at("kind"), one.value("name", ""), one.at("stream"), one.at("start"), one.at("end"), one.value("bytes", std::uint64_t{0}), one.value("value", std::uint64_t{0}), one.value("copy_kind", 0)});
    if (out.size() > kMostRecords) break;
  }
  return out;
}

std::string describe(const Record& record) { return record.kind == "k" ? "the kernel " + record.name : record.kind == "c" ? "a copy" : "a fill"; }

void count(const std::vector<Record>& records, const Record& marker, Activity& out) {
  std::set<std::uint64_t> streams;
  for (const Record& one : records) {
    if (&one == &marker) continue;
    streams.insert(one.stream);
    if (one.kind == "k") {
      ++out.kernels;
      if (std::find(out.names.begin(), out.names.end(), one.name) == out.names.end()) out.names.push_back(one.name);
    } else if (one.kind == "c") {
      ++out.copies;
      out.host_copies += one.copy_kind == kHostToDeviceCopy || one.copy_kind == kDeviceToHostCopy ? 1 : 0;
      out.copied_bytes += one.bytes;
    } else {
      ++out.fills;
    }
  }
  out.streams = streams.size();
}

void note_late(const std::vector<Record>& records, const Record& marker, Activity& out) {
  for (const Record& one : records) {
    if (&one == &marker || one.end_ns <= marker.end_ns) continue;
    const double us = 1e-3 * static_cast<double>(one.end_ns - marker.end_ns);
    if (us <= out.late_us) continue;
    out.late_us = us;
    out.late = describe(one);
  }
}

}  // namespace

Activity read_activity(const json& answer) {
  Activity out;
  out.trouble.clear();
  try {
    const json& calls = answer.at("calls");
    for (const json& call : calls) {
      const std::vector<Record> records = read_records(call);
      const auto marker = std::find_if(records.rbegin(), records.rend(), [](const Record& one) { return one.is_marker(); });
      if (marker == records.rend()) {
        out = {};
        out.trouble = "CUPTI recorded nothing of the given stream";
        return out;
      }
      note_late(records, *marker, out);
      if (&call == &calls.back()) count(records, *marker, out);
    }
    if (calls.empty()) out.trouble = "no call was watched";
  } catch (const json::exception&) {
    out = {};
    out.trouble = "what was recorded cannot be read";
  }
  return out;
}

std::vector<std::string> foreign_kernels(const Activity& activity, const std::vector<std::string>& own) {
  std::vector<std::string> out;
  for (const std::string& name : activity.names)
    if (std::find(own.begin(), own.end(), name) == own.end()) out.push_back(name);
  return out;
}

}  // namespace kforge::trial
