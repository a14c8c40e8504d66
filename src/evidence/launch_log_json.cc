// LaunchLog to JSON and back, for files. Some are written by the candidate's process: what comes back may be anything, so reading checks every key, type and
// size, and never throws. Most lines of a right kernel have nothing to show and most counts are zero: an example that is not there is null, and zeros at the
// end of a list of fixed length are left out.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "base/json_depth.h"
#include "evidence/launch_log_fields.h"

namespace kforge::evidence {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostTextBytes = 64u << 20;     // of the whole document
constexpr std::size_t kMostElements = 1u << 20;       // of one list
constexpr std::size_t kMostStringBytes = 1u << 20;
constexpr int kMostDepth = 32;

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
