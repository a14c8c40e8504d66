// LaunchLog to JSON and back, for the way from the worker to its parent. The worker's process is the candidate's: what comes
// back may be anything, so reading checks every key, type and size, and never throws. Each structure's fields are listed once,
// in a `fields` function that both directions use. Most lines of a right kernel have nothing to show and most counts are zero: an example that
// is not there is null, and zeros at the end of a list of fixed length are left out.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "base/json_depth.h"
#include "evidence/launch_log.h"

namespace kforge::evidence {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostTextBytes = 64u << 20;     // of the whole document
constexpr std::size_t kMostElements = 1u << 20;       // of one list
constexpr std::size_t kMostStringBytes = 1u << 20;
constexpr int kMostDepth = 32;

// ---- fields: one visitor call a member ------------------------------------------------------------------------------

template <class Visitor> void fields(Visitor& v, Dim3& d) { v("x", d.x); v("y", d.y); v("z", d.z); }

template <class Visitor> void fields(Visitor& v, SourceFrame& f) {
  v("file", f.file); v("line", f.line); v("column", f.column); v("function", f.function);
}

template <class Visitor> void fields(Visitor& v, SourcePosition& p) { v("frames", p.frames); }

template <class Visitor> void fields(Visitor& v, Counters& c) { v("values", c.values); }

template <class Visitor> void fields(Visitor& v, RequestExample& r) {
  v("active_mask", r.active_mask); v("bytes_per_lane", r.bytes_per_lane); v("lane_addresses", r.lane_addresses);
  v("block", r.block); v("warp", r.warp); v("measured", r.measured); v("ideal", r.ideal);
}

template <class Visitor> void fields(Visitor& v, StoreRange& r) {
  v("tensor", r.tensor); v("first", r.first); v("end", r.end); v("bytes", r.bytes);
}

template <class Visitor> void fields(Visitor& v, LineProfile& l) {
  v("position", l.position); v("counters", l.counters); v("global_bytes_per_lane", l.global_bytes_per_lane);
  v("global_contiguous", l.global_contiguous); v("worst_global", l.worst_global); v("worst_shared", l.worst_shared);
  v("stores", l.stores);
}

template <class Visitor> void fields(Visitor& v, LaunchShape& s) {
  v("grid", s.grid); v("block", s.block); v("static_shared_bytes", s.static_shared_bytes);
  v("dynamic_shared_bytes", s.dynamic_shared_bytes);
}

template <class Visitor> void fields(Visitor& v, LoadReuse& r) { v("sectors", r.sectors); v("first", r.first); v("again", r.again); }

template <class Visitor> void fields(Visitor& v, KernelProfile& k) {
  v("kernel", k.kernel); v("launches", k.launches); v("launch_count", k.launch_count); v("totals", k.totals);
  v("lines", k.lines); v("independent_loads", k.independent_loads); v("loads_in_flight", k.loads_in_flight); v("load_reuse", k.load_reuse); v("hottest_line_passes", k.hottest_line_passes); v("sampled", k.sampled); v("source", k.source);
}

template <class Visitor> void fields(Visitor& v, Violation& x) {
  v("contract", x.contract); v("kind", x.kind); v("advice", x.advice); v("kernel", x.kernel); v("where", x.where);
  v("other", x.other); v("message", x.message); v("measured", x.measured); v("required", x.required); v("block", x.block);
  v("thread", x.thread); v("count", x.count);
}

template <class Visitor> void fields(Visitor& v, RuntimeCall& c) {
  v("function", c.function); v("kind", c.kind); v("on_given_stream", c.on_given_stream); v("error", c.error);
  v("detail", c.detail); v("count", c.count);
}

template <class Visitor> void fields(Visitor& v, Coverage& c) {
  v("tensor", c.tensor); v("elements", c.elements); v("unwritten", c.unwritten); v("first_unwritten", c.first_unwritten);
  v("host_written", c.host_written);
}

template <class Visitor> void fields(Visitor& v, Unproven& u) { v("contract", u.contract); v("why", u.why); }

template <class Visitor> void fields(Visitor& v, LaunchLog& l) {
  v("ending", l.ending); v("ending_detail", l.ending_detail); v("returned", l.returned); v("kernels", l.kernels);
  v("violations", l.violations); v("unproven", l.unproven); v("calls", l.calls); v("coverage", l.coverage); v("changed_inputs", l.changed_inputs);
  v("thread_instructions", l.thread_instructions); v("sampled_blocks", l.sampled_blocks); v("output", l.output);
}

constexpr std::uint64_t last_of(Ending) { return static_cast<std::uint64_t>(Ending::trap); }
constexpr std::uint64_t last_of(Source) { return static_cast<std::uint64_t>(Source::ptx); }

// ---- writing --------------------------------------------------------------------------------------------------------

Json write(const std::string& value) { return value; }
template <class T> requires std::is_arithmetic_v<T>
Json write(T value) { return value; }
Json write(double value) { return std::isfinite(value) ? value : 0.0; }   // JSON has no others
template <class T> requires std::is_enum_v<T>
Json write(T value) { return static_cast<std::uint64_t>(value); }
Json write(const RequestExample& value);
template <class T> requires std::is_class_v<T>
Json write(const T& value);
template <class T>
Json write(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(write(value));
  return list;
}
template <class T, std::size_t n>
Json write(const std::array<T, n>& values) {
  const auto end = std::find_if(values.rbegin(), values.rend(), [](const T& value) { return value != T{}; }).base();
  Json list = Json::array();
  for (auto value = values.begin(); value != end; ++value) list.push_back(write(*value));
  return list;
}

struct Writer {
  Json object = Json::object();
  template <class T>
  void operator()(const char* key, const T& value) { object[key] = write(value); }
};

template <class T>
Json object_of(const T& value) {
  Writer writer;
  fields(writer, const_cast<T&>(value));   // a Writer only reads
  return std::move(writer.object);
}
template <class T> requires std::is_class_v<T>
Json write(const T& value) { return object_of(value); }
Json write(const RequestExample& value) { return value.present() ? object_of(value) : Json(); }

// ---- reading --------------------------------------------------------------------------------------------------------

// The first thing that is wrong, with the path to it, which is put together on the way back: a log has many numbers, and few faults.
struct Reader {
  std::string path;
  const char* expected = "";
  bool wrong(const char* what) {
    expected = what;
    return false;
  }
  bool inside(const std::string& step) {
    path.insert(0, step);
    return false;
  }
  std::string error() const { return "log" + path + ": expected " + expected; }

  bool read(const Json& json, std::string& value) {
    if (!json.is_string()) return wrong("a string");
    value = json.get_ref<const std::string&>();
    return value.size() <= kMostStringBytes || wrong("a string of at most 1 MiB");
  }
  bool read(const Json& json, bool& value) {
    if (!json.is_boolean()) return wrong("true or false");
    value = json.get<bool>();
    return true;
  }
  bool read(const Json& json, double& value) {
    if (!json.is_number()) return wrong("a number");
    value = json.get<double>();
    return std::isfinite(value) || wrong("a finite number");
  }
  bool read(const Json& json, int& value) {
    if (!json.is_number_integer()) return wrong("an integer");
    const bool big = json.is_number_unsigned() && json.get<std::uint64_t>() > std::numeric_limits<int>::max();
    const auto wide = big ? std::numeric_limits<std::int64_t>::max() : json.get<std::int64_t>();
    if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) return wrong("an integer of 32 bits");
    value = static_cast<int>(wide);
    return true;
  }
  template <class T> requires(std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::uint64_t>)
  bool read(const Json& json, T& value) {
    if (!json.is_number_unsigned()) return wrong("an integer that is not negative");
    const auto wide = json.get<std::uint64_t>();
    if (wide > std::numeric_limits<T>::max()) return wrong("an integer of 32 bits");
    value = static_cast<T>(wide);
    return true;
  }
  template <class T> requires std::is_enum_v<T>
  bool read(const Json& json, T& value) {
    std::uint64_t number = 0;
    if (!read(json, number)) return false;
    if (number > last_of(T{})) return wrong("a known value");
    value = static_cast<T>(number);
    return true;
  }
  template <class T>
  bool read(const Json& json, std::vector<T>& values) {
    if (!json.is_array() || json.size() > kMostElements) return wrong("a list of at most 1048576 elements");
    values.resize(json.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!read(json[i], values[i])) return inside("[" + std::to_string(i) + "]");
    return true;
  }
  template <class T, std::size_t n>
  bool read(const Json& json, std::array<T, n>& values) {
    if (!json.is_array() || json.size() > n) return wrong("a list of the right length");
    values = {};
    for (std::size_t i = 0; i < json.size(); ++i)
      if (!read(json[i], values[i])) return inside("[" + std::to_string(i) + "]");
    return true;
  }
  bool read(const Json& json, RequestExample& value) {
    value = {};
    return json.is_null() || read_object(json, value);
  }
  template <class T> requires(std::is_class_v<T> && !std::is_same_v<T, std::string>)
  bool read(const Json& json, T& value) { return read_object(json, value); }
  template <class T>
  bool read_object(const Json& json, T& value) {
    if (!json.is_object()) return wrong("an object");
    bool good = true;
    std::size_t known = 0;
    auto field = [&](const char* key, auto& member) {
      if (!good) return;
      const auto found = json.find(key);
      good = (found != json.end() ? read(*found, member) : wrong("to be there")) || inside(std::string(".") + key);
      ++known;
    };
    fields(field, value);
    return good && (known == json.size() || wrong("no other keys"));
  }
};

}  // namespace

// Text of a kernel's printf or of a file name need not be UTF-8: such bytes are replaced, not refused.
std::string to_json(const LaunchLog& log) { return write(log).dump(-1, ' ', false, Json::error_handler_t::replace); }

bool from_json(std::string_view text, LaunchLog& log, std::string& error) {
  error.clear();
  if (text.size() > kMostTextBytes) return error = "the log is larger than 64 MiB", false;
  if (json_depth(text) > kMostDepth) return error = "the log is nested too deeply", false;   // the parser recurses
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return error = "the log is no JSON text", false;
  Reader reader;
  LaunchLog read;
  if (!reader.read(json, read)) return error = reader.error(), false;
  log = std::move(read);
  return true;
}

}  // namespace kforge::evidence
