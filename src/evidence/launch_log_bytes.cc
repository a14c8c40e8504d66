// LaunchLog to bytes and back, for the way from the worker to its parent: a candidate is called some twenty times, and its log is most of an answer. The members
// follow each other as `fields` lists them: unsigned integers in groups of seven bits, the lowest first; doubles as they are; strings and lists after their
// length; of a list of fixed length the zeros at its end are left out, and an example that is not there is one byte. The worker's process is the candidate's:
// reading checks every length and size, and never throws.
#include "evidence/launch_log_bytes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "evidence/launch_log_fields.h"

namespace kforge::evidence {
namespace {

constexpr std::size_t kMostBytes = 64u << 20;         // of the whole log
constexpr std::size_t kMostStringBytes = 1u << 20;
constexpr std::size_t kMostMemory = 512u << 20;       // of what is read: bytes that say little may stand for much

struct Writer {
  std::string out;

  void write(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
  }
  void write(std::uint32_t value) { write(std::uint64_t{value}); }
  void write(bool value) { write(std::uint64_t{value}); }
  void write(int value) { write((static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0)); }
  void write(double value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    out.append(bytes, sizeof bytes);
  }
  template <class T> requires std::is_enum_v<T>
  void write(T value) { write(static_cast<std::uint64_t>(value)); }
  void write(const std::string& text) {
    const std::size_t size = std::min(text.size(), kMostStringBytes);
    write(std::uint64_t{size});
    out.append(text, 0, size);
  }
  template <class T>
  void write(const std::vector<T>& values) {
    write(std::uint64_t{values.size()});
    for (const T& value : values) write(value);
  }
  template <class T, std::size_t n>
  void write(const std::array<T, n>& values) {
    const auto end = std::find_if(values.rbegin(), values.rend(), [](const T& value) { return value != T{}; }).base();
    write(static_cast<std::uint64_t>(end - values.begin()));
    for (auto value = values.begin(); value != end; ++value) write(*value);
  }
  void write(const RequestExample& value) {
    write(value.present());
    if (value.present()) members(value);
  }
  template <class T> requires(std::is_class_v<T>)
  void write(const T& value) { members(value); }
  template <class T>
  void members(const T& value) { fields(*this, const_cast<T&>(value)); }   // a Writer only reads
  template <class T>
  void operator()(const char*, const T& value) { write(value); }
};

// The first thing that is wrong, with the path to it, which is put together on the way back.
struct Reader {
  std::string_view rest;
  std::size_t memory = 0;
  bool good = true;
  std::string path;
  const char* expected = "";

  bool wrong(const char* what) {
    expected = what;
    return good = false;
  }
  bool inside(const std::string& step) {
    path.insert(0, step);
    return false;
  }
  std::string error() const { return "log" + path + ": expected " + expected; }

  bool take(std::size_t bytes, const char*& at) {
    if (bytes > rest.size()) return wrong("more bytes");
    at = rest.data();
    rest.remove_prefix(bytes);
    return true;
  }
  bool room(std::size_t bytes) { return (memory += bytes) <= kMostMemory || wrong("a smaller log"); }

  bool read(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const char* at = nullptr;
      if (!take(1, at)) return false;
      const auto byte = static_cast<unsigned char>(*at);
      if (shift == 63 && byte > 1) break;
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return wrong("an integer of 64 bits");
  }
  bool read_below(std::uint64_t& value, std::uint64_t end, const char* what) { return read(value) && (value < end || wrong(what)); }
  bool read(std::uint32_t& value) {
    std::uint64_t wide = 0;
    if (!read_below(wide, std::uint64_t{1} << 32, "an integer of 32 bits")) return false;
    value = static_cast<std::uint32_t>(wide);
    return true;
  }
  bool read(bool& value) {
    std::uint64_t number = 0;
    if (!read_below(number, 2, "true or false")) return false;
    value = number != 0;
    return true;
  }
  bool read(int& value) {
    std::uint64_t folded = 0;
    if (!read_below(folded, std::uint64_t{1} << 32, "an integer of 32 bits")) return false;
    value = static_cast<int>(static_cast<std::int64_t>(folded >> 1) ^ -static_cast<std::int64_t>(folded & 1));
    return true;
  }
  bool read(double& value) {
    const char* at = nullptr;
    if (!take(sizeof value, at)) return false;
    std::memcpy(&value, at, sizeof value);
    return std::isfinite(value) || wrong("a finite number");
  }
  template <class T> requires std::is_enum_v<T>
  bool read(T& value) {
    std::uint64_t number = 0;
    if (!read_below(number, last_of(T{}) + 1, "a known value")) return false;
    value = static_cast<T>(number);
    return true;
  }
  bool read(std::string& value) {
    std::uint64_t size = 0;
    const char* at = nullptr;
    if (!read_below(size, kMostStringBytes + 1, "a string of at most 1 MiB") || !take(size, at) || !room(size)) return false;
    value.assign(at, size);
    if (std::any_of(value.begin(), value.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; })) value = as_text(value);
    return true;
  }
  // Text of a kernel's printf or of a file name need not be UTF-8: such bytes are replaced, not refused.
  static std::string as_text(const std::string& bytes) {
    using Json = nlohmann::json;
    return Json::parse(Json(bytes).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
  }
  template <class T>
  bool read(std::vector<T>& values) {
    std::uint64_t size = 0;
    if (!read(size)) return false;
    if (size > rest.size()) return wrong("a list that fits into the log");   // an element is a byte at least
    if (!room(size * sizeof(T))) return false;
    values.resize(size);
    for (std::size_t i = 0; i < size; ++i)
      if (!read(values[i])) return inside("[" + std::to_string(i) + "]");
    return true;
  }
  template <class T, std::size_t n>
  bool read(std::array<T, n>& values) {
    std::uint64_t size = 0;
    if (!read_below(size, n + 1, "a list of the right length")) return false;
    values = {};
    for (std::size_t i = 0; i < size; ++i)
      if (!read(values[i])) return inside("[" + std::to_string(i) + "]");
    return true;
  }
  bool read(RequestExample& value) {
    value = {};
    bool present = false;
    return read(present) && (!present || members(value));
  }
  template <class T> requires(std::is_class_v<T>)
  bool read(T& value) { return members(value); }
  template <class T>
  bool members(T& value) {
    fields(*this, value);
    return good;
  }
  template <class T>
  void operator()(const char* key, T& member) {
    if (good && !read(member)) inside(std::string(".") + key);
  }
};

}  // namespace

std::string to_bytes(const LaunchLog& log) {
  Writer writer;
  writer.write(log);
  return std::move(writer.out);
}

bool from_bytes(std::string_view bytes, LaunchLog& log, std::string& error) {
  error.clear();
  if (bytes.size() > kMostBytes) return error = "the log is larger than 64 MiB", false;
  Reader reader{bytes, 0, true, {}, ""};
  LaunchLog read;
  if (!reader.read(read)) return error = reader.error(), false;
  if (!reader.rest.empty()) return error = "log: expected nothing after its end", false;
  log = std::move(read);
  return true;
}

}  // namespace kforge::evidence
