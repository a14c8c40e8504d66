// Reads and writes a data sheet: TOML whose every key is `key = { value = ..., source = "..." }` (docs/gpus.md).
//
// One table says what a key is: where it goes, which range is plausible, whether it may be left out. The ranges are wide
// enough for any GPU of the next decade and narrow enough that everything computed from a sheet stays far from overflow.
#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <variant>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "base/tomlplusplus.h"
#include "hardware/data_sheet.h"

namespace kforge::hardware {
namespace {

constexpr std::uint64_t kMaxSheetBytes = 1 << 20;
constexpr std::size_t kMaxTextBytes = 4096;
constexpr std::ptrdiff_t kMaxDotsInLine = 100;  // toml++ frees the tables of a dotted key recursively

using Target = std::variant<std::string DataSheet::*, int DataSheet::*, std::uint64_t DataSheet::*, double DataSheet::*>;

struct Field {
  std::string_view key;
  Target target;
  double least = 0, most = 0;  // of a number, both allowed
  bool optional = false;
};

const Field kFields[] = {
    {"name", &DataSheet::name},
    {"product", &DataSheet::product},
    {"architecture", &DataSheet::architecture},
    {"compute_major", &DataSheet::compute_major, 5, 99},
    {"compute_minor", &DataSheet::compute_minor, 0, 9},
    {"multiprocessors", &DataSheet::multiprocessors, 1, 10000},
    {"boost_mhz", &DataSheet::boost_mhz, 100, 10000},
    {"base_mhz", &DataSheet::base_mhz, 100, 10000, true},
    {"memory_type", &DataSheet::memory_type},
    {"memory_bytes", &DataSheet::memory_bytes, 1 << 28, 1e14},
    {"memory_bus_bits", &DataSheet::memory_bus_bits, 32, 65536},
    {"memory_gbit_per_pin", &DataSheet::memory_gbit_per_pin, 0.1, 1000},
    {"dram_bytes_per_s", &DataSheet::dram_bytes_per_s, 1e9, 1e15},
    {"dram_sustained_bytes_per_s", &DataSheet::dram_sustained_bytes_per_s, 1e9, 1e15, true},
    {"l2_bytes", &DataSheet::l2_bytes, 1 << 16, 1e12},
    {"l2_bytes_per_s", &DataSheet::l2_bytes_per_s, 1e9, 1e16},
    {"max_threads_per_sm", &DataSheet::max_threads_per_sm, 32, 65536},
    {"max_warps_per_sm", &DataSheet::max_warps_per_sm, 1, 2048},
    {"max_blocks_per_sm", &DataSheet::max_blocks_per_sm, 1, 1024},
    {"registers_per_sm", &DataSheet::registers_per_sm, 1024, 1 << 24},
    {"max_registers_per_block", &DataSheet::max_registers_per_block, 1024, 1 << 24},
    {"max_registers_per_thread", &DataSheet::max_registers_per_thread, 1, 4096},
    {"register_allocation_unit", &DataSheet::register_allocation_unit, 1, 65536},
    {"warp_allocation_granularity", &DataSheet::warp_allocation_granularity, 1, 64},
    {"barriers_per_sm", &DataSheet::barriers_per_sm, 0, 65536},
    {"shared_bytes_per_sm", &DataSheet::shared_bytes_per_sm, 1024, 1 << 28},
    {"shared_bytes_per_block", &DataSheet::shared_bytes_per_block, 1024, 1 << 28},
    {"shared_bytes_per_block_optin", &DataSheet::shared_bytes_per_block_optin, 1024, 1 << 28},
    {"shared_reserved_per_block", &DataSheet::shared_reserved_per_block, 0, 1 << 20},
    {"shared_allocation_unit", &DataSheet::shared_allocation_unit, 1, 1 << 20},
    {"l1_bytes", &DataSheet::l1_bytes, 1024, 1 << 28},
    {"max_threads_per_block", &DataSheet::max_threads_per_block, 32, 65536},
    {"schedulers_per_sm", &DataSheet::schedulers_per_sm, 1, 64},
    {"max_cluster_blocks", &DataSheet::max_cluster_blocks, 1, 1024},
    {"fp32_lanes", &DataSheet::fp32_lanes, 1, 65536},
    {"fp64_lanes", &DataSheet::fp64_lanes, 0, 65536},
    {"fp16_lanes", &DataSheet::fp16_lanes, 0, 65536},
    {"int32_lanes", &DataSheet::int32_lanes, 1, 65536},
    {"special_lanes", &DataSheet::special_lanes, 1, 65536},
    {"load_store_lanes", &DataSheet::load_store_lanes, 1, 65536},
    {"dram_latency", &DataSheet::dram_latency, 10, 100000},
    {"l2_latency", &DataSheet::l2_latency, 10, 100000},
    {"l1_latency", &DataSheet::l1_latency, 1, 10000},
    {"shared_latency", &DataSheet::shared_latency, 1, 10000},
    {"alu_latency", &DataSheet::alu_latency, 1, 1000},
    {"quoted_fp32_tflops", &DataSheet::quoted_fp32_tflops, 0.01, 1e6, true},
    {"quoted_f16_tensor_tflops", &DataSheet::quoted_f16_tensor_tflops, 0.01, 1e6, true},
    {"tensor_mhz", &DataSheet::tensor_mhz, 100, 10000, true},
};
constexpr std::string_view kTensorTypes[] = {"f16", "bf16", "tf32", "f64", "i8", "e4m3"};
constexpr std::string_view kTensorTable = "tensor_ops";

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}
  Expected<DataSheet> read(const toml::table& root);

 private:
  struct Entry {
    const toml::node* value = nullptr;
    std::string source;
  };
  Expected<void> read_field(std::string_view key, const toml::node& node);
  Expected<void> read_tensor_ops(const toml::node& node);
  Expected<Entry> read_entry(const std::string& key, const toml::node& node);
  Expected<void> store(const Field& field, const Entry& entry);
  Expected<double> number(std::string_view key, const toml::node& node, double least, double most, bool whole);
  Expected<void> check_complete();
  Expected<void> check_consistent();
  Unexpected bad(const toml::node* node, std::string message, std::string hint = {}) const;

  const std::string& file_;
  DataSheet sheet_;
  std::map<std::string, Where, std::less<>> where_;  // of keys read
};

Where place(const std::string& file, const toml::source_region& region) {
  return Where{file, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

Unexpected Reader::bad(const toml::node* node, std::string message, std::string hint) const {
  return fail(ErrorCode::bad_input, std::move(message), node ? place(file_, node->source()) : Where{file_, 0, 0},
              std::move(hint));
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  auto near = nearest(word, known);
  return near ? fmt::format("did you mean '{}'?", *near) : "the keys of a data sheet are listed in docs/gpus.md";
}

std::string type_name(const toml::node& node) {
  std::ostringstream out;
  out << node.type();
  return out.str();
}

// `{ value = ..., source = "..." }` and nothing else in it.
Expected<Reader::Entry> Reader::read_entry(const std::string& key, const toml::node& node) {
  const char* form = "write it as: key = { value = ..., source = \"document, section\" }";
  const toml::table* table = node.as_table();
  if (!table) return bad(&node, fmt::format("'{}' has no source", key), form);
  const std::vector<std::string> known = {"value", "source"};
  for (const auto& [part, child] : *table)
    if (part.str() != "value" && part.str() != "source")
      return bad(&child, fmt::format("unknown key '{}' in '{}'", part.str(), key), did_you_mean(part.str(), known));
  Entry entry;
  entry.value = table->get("value");
  if (!entry.value) return bad(&node, fmt::format("'{}' has no value", key), form);
  auto source = (*table)["source"].value<std::string>();
  if (!source || trim(*source).empty()) return bad(&node, fmt::format("'{}' has no source", key), form);
  if (source->size() > kMaxTextBytes) return bad(&node, fmt::format("the source of '{}' is too long", key));
  entry.source = *source;
  return entry;
}

Expected<double> Reader::number(std::string_view key, const toml::node& node, double least, double most, bool whole) {
  double value = std::nan("");
  if (auto integer = node.as_integer()) value = static_cast<double>(integer->get());
  if (auto real = node.as_floating_point(); real && !whole) value = real->get();
  const char* kind = whole ? "a whole number" : "a number";
  if (!node.is_number() || (whole && !node.is_integer()))
    return bad(&node, fmt::format("'{}' must be {}, but it is of type {}", key, kind, type_name(node)));
  if (!(value >= least && value <= most))
    return bad(&node, fmt::format("'{}' is {}, which is not between {} and {}", key, value, least, most),
               "units are in docs/gpus.md (bytes, MHz, bytes per second, cycles)");
  return value;
}

Expected<void> Reader::store(const Field& field, const Entry& entry) {
  if (auto text = std::get_if<std::string DataSheet::*>(&field.target)) {
    auto value = entry.value->value_exact<std::string>();
    if (!value || trim(*value).empty() || value->size() > kMaxTextBytes)
      return bad(entry.value, fmt::format("'{}' must be a text that is not empty", field.key));
    sheet_.*(*text) = *value;
    return {};
  }
  bool whole = !std::holds_alternative<double DataSheet::*>(field.target);
  auto value = number(field.key, *entry.value, field.least, field.most, whole);
  if (!value) return Unexpected(value.error());
  if (auto small = std::get_if<int DataSheet::*>(&field.target)) sheet_.*(*small) = static_cast<int>(*value);
  if (auto large = std::get_if<std::uint64_t DataSheet::*>(&field.target))
    sheet_.*(*large) = static_cast<std::uint64_t>(*value);
  if (auto real = std::get_if<double DataSheet::*>(&field.target)) sheet_.*(*real) = *value;
  return {};
}

std::string toml_text(const std::string& text) {
  std::ostringstream out;
  out << toml::value<std::string>(text);
  return out.str();
}

// A TOML number that reads back as it was; whole ones without a point.
std::string real_text(double value) { return value == std::floor(value) && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value) : fmt::format("{}", value); }

Expected<void> Reader::read_field(std::string_view key, const toml::node& node) {
  auto field = std::find_if(std::begin(kFields), std::end(kFields), [&](const Field& f) { return f.key == key; });
  if (field == std::end(kFields)) {
    std::vector<std::string> known{std::string(kTensorTable)};
    for (const Field& f : kFields) known.emplace_back(f.key);
    return bad(&node, fmt::format("unknown key '{}'", key), did_you_mean(key, known));
  }
  auto entry = read_entry(std::string(key), node);
  if (!entry) return Unexpected(entry.error());
  if (auto stored = store(*field, *entry); !stored) return stored;
  sheet_.sources[std::string(key)] = entry->source;
  where_[std::string(key)] = place(file_, node.source());
  return {};
}

Expected<void> Reader::read_tensor_ops(const toml::node& node) {
  const toml::table* table = node.as_table();
  if (!table) return bad(&node, "'tensor_ops' must be a table of input types");
  const std::vector<std::string> known(std::begin(kTensorTypes), std::end(kTensorTypes));
  for (const auto& [type, child] : *table) {
    std::string key = fmt::format("{}.{}", kTensorTable, type.str());
    if (std::find(known.begin(), known.end(), type.str()) == known.end())
      return bad(&child, fmt::format("unknown key '{}'", key), did_you_mean(type.str(), known));
    auto entry = read_entry(key, child);
    if (!entry) return Unexpected(entry.error());
    auto ops = number(key, *entry->value, 1, 1 << 24, false);
    if (!ops) return Unexpected(ops.error());
    sheet_.tensor_ops[std::string(type.str())] = *ops;
    sheet_.sources[key] = entry->source;
  }
  return {};
}

Expected<void> Reader::check_complete() {
  for (const Field& field : kFields)
    if (!field.optional && !where_.contains(field.key))
      return bad(nullptr, fmt::format("'{}' is missing", field.key), "docs/gpus.md says what it is and where to find it");
  return {};
}

struct Rule {
  std::string_view key;
  bool (*holds)(const DataSheet&);
  std::string_view says;
};
constexpr Rule kRules[] = {
    {"max_threads_per_sm", [](const DataSheet& s) { return s.max_threads_per_sm == 32 * s.max_warps_per_sm; },
     "must be 32 times max_warps_per_sm"},
    {"max_threads_per_block", [](const DataSheet& s) { return s.max_threads_per_block <= s.max_threads_per_sm; },
     "must not be more than max_threads_per_sm"},
    {"max_registers_per_block", [](const DataSheet& s) { return s.max_registers_per_block <= s.registers_per_sm; },
     "must not be more than registers_per_sm"},
    {"shared_bytes_per_block",
     [](const DataSheet& s) { return s.shared_bytes_per_block <= s.shared_bytes_per_block_optin; },
     "must not be more than shared_bytes_per_block_optin"},
    {"shared_bytes_per_block_optin",
     [](const DataSheet& s) {
       return s.shared_bytes_per_block_optin + s.shared_reserved_per_block <= s.shared_bytes_per_sm;
     },
     "and shared_reserved_per_block together must not be more than shared_bytes_per_sm"},
    {"l1_bytes", [](const DataSheet& s) { return s.shared_bytes_per_sm <= s.l1_bytes; },
     "must hold shared_bytes_per_sm (it is the unified cache)"},
    {"base_mhz", [](const DataSheet& s) { return s.base_mhz <= s.boost_mhz; }, "must not be more than boost_mhz"},
    {"tensor_mhz", [](const DataSheet& s) { return s.tensor_mhz <= s.boost_mhz; }, "must not be more than boost_mhz"},
    {"dram_sustained_bytes_per_s", [](const DataSheet& s) { return s.dram_sustained_bytes_per_s <= s.dram_bytes_per_s; }, "must not be more than dram_bytes_per_s"},
    {"l2_latency", [](const DataSheet& s) { return s.l2_latency <= s.dram_latency; },
     "must not be more than dram_latency"},
};

Expected<void> Reader::check_consistent() {
  for (const Rule& rule : kRules)
    if (!rule.holds(sheet_)) {
      auto at = where_.find(rule.key);
      return fail(ErrorCode::bad_input, fmt::format("'{}' {}", rule.key, rule.says),
                  at == where_.end() ? Where{file_, 0, 0} : at->second);
    }
  return {};
}

Expected<DataSheet> Reader::read(const toml::table& root) {
  for (const auto& [key, node] : root) {
    auto done = key.str() == kTensorTable ? read_tensor_ops(node) : read_field(key.str(), node);
    if (!done) return Unexpected(done.error());
  }
  if (auto complete = check_complete(); !complete) return Unexpected(complete.error());
  if (auto consistent = check_consistent(); !consistent) return Unexpected(consistent.error());
  return std::move(sheet_);
}

}  // namespace

Expected<DataSheet> parse_sheet(std::string_view text, const std::string& file) {
  int line = 0;
  for (std::string_view each : split_lines(text)) {
    ++line;
    if (std::count(each.begin(), each.end(), '.') > kMaxDotsInLine)
      return fail(ErrorCode::bad_input, "this line has too many dots to be part of a data sheet", Where{file, line, 0});
  }
  toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return fail(ErrorCode::bad_input, fmt::format("not TOML: {}", parsed.error().description()),
                place(file, parsed.error().source()));
  return Reader(file).read(parsed.table());
}

std::string sheet_text(const DataSheet& sheet) {
  std::string out = fmt::format("# {} (sm_{}). Format, units and rules: docs/gpus.md.\n", sheet.product, sheet.sm());
  const auto entry = [&](std::string_view key, const std::string& name, const std::string& value) {
    const auto source = sheet.sources.find(name);
    out += fmt::format("{:<30} = {{ value = {}, source = {} }}\n", key, value, toml_text(source == sheet.sources.end() ? "this program" : source->second));
  };
  for (const Field& field : kFields) {
    const std::string key(field.key);
    if (auto text = std::get_if<std::string DataSheet::*>(&field.target)) entry(key, key, toml_text(sheet.*(*text)));
    if (auto small = std::get_if<int DataSheet::*>(&field.target)) entry(key, key, std::to_string(sheet.*(*small)));
    if (auto large = std::get_if<std::uint64_t DataSheet::*>(&field.target)) entry(key, key, std::to_string(sheet.*(*large)));
    if (auto real = std::get_if<double DataSheet::*>(&field.target); real && !(field.optional && sheet.*(*real) == 0)) entry(key, key, real_text(sheet.*(*real)));
  }
  if (!sheet.tensor_ops.empty()) out += fmt::format("\n[{}]\n", kTensorTable);
  for (const auto& [type, rate] : sheet.tensor_ops) entry(type, fmt::format("{}.{}", kTensorTable, type), real_text(rate));
  return out;
}

Expected<DataSheet> read_sheet(const std::string& path) {
  auto text = read_file(path, kMaxSheetBytes);
  if (!text) return Unexpected(text.error());
  return parse_sheet(*text, path);
}

}  // namespace kforge::hardware
