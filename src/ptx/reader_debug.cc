// Line information: .loc with its inlined_at chain, and the strings of .debug_str that name inlined functions.
// File names and strings stand at the end of the text, so chains are kept as nodes and spelt out at the end, and
// only those that an instruction uses.
#include <algorithm>
#include <cstring>

#include "ptx/reader.h"

namespace kforge::ptx {
namespace {

constexpr std::size_t kMaxFrames = 64;
constexpr std::size_t kMaxName = 4096;
constexpr std::uint64_t kMaxLocationBytes = std::uint64_t{1} << 30;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) { return (hash ^ value) * 0x9E3779B97F4A7C15ull + (hash >> 29); }

}  // namespace

// Equal nodes are one node, so that loops of .loc do not grow the module.
std::uint32_t Reader::node_for(LocationNode node) {
  const std::uint64_t place = mix(mix(mix(0, node.file), node.line), node.column);
  const std::uint64_t hash = mix(mix(place, node.parent), std::hash<std::string_view>{}(node.function) + node.name_offset);
  auto& bucket = nodes_by_hash_[hash];
  std::uint32_t found = 0;
  for (std::uint32_t candidate : bucket) {
    const LocationNode& have = nodes_[candidate];
    if (have.file == node.file && have.line == node.line && have.column == node.column && have.parent == node.parent &&
        have.function == node.function && have.name_offset == node.name_offset) { found = candidate; break; }
  }
  if (found == 0) {
    found = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back(node);
    if (bucket.size() < 64) bucket.push_back(found);
  }
  latest_node_[place] = found;
  return found;
}

std::uint32_t Reader::use_location(std::uint32_t node) {
  if (node == 0) return 0;
  LocationNode& used = nodes_[node];
  if (used.location == 0) {
    used.location = ++location_count_;
    used_nodes_.push_back(node);
  }
  return used.location;
}

// .loc file line column {, function_name label {+ offset}, inlined_at file line column}
bool Reader::location() {
  LocationNode node;
  if (!one_number(node.file) || !one_number(node.line) || !one_number(node.column)) return false;
  while (accept(',')) {
    if (accept("function_name")) {
      if (!expect_word(node.function, "a label of .debug_str")) return false;
      if (accept('+') && !one_number(node.name_offset)) return false;
    } else if (accept("inlined_at")) {
      LocationNode outer;
      if (!one_number(outer.file) || !one_number(outer.line) || !one_number(outer.column)) return false;
      // The compiler writes the .loc of a call before those of what was inlined there.
      auto it = latest_node_.find(mix(mix(mix(0, outer.file), outer.line), outer.column));
      node.parent = it != latest_node_.end() ? it->second : node_for(outer);
    } else return fail_here("'function_name' or 'inlined_at'");
  }
  while (token_.is("is_stmt") || token_.is("prologue_end") || token_.is("discriminator")) {
    const bool has_number = !token_.is("prologue_end");
    std::uint32_t ignored = 0;
    advance();
    if (has_number && !one_number(ignored)) return false;
  }
  node_ = node_for(node);
  if (function_ && first_nodes_[function_index_] == 0) first_nodes_[function_index_] = node_;
  return true;
}

// One item of a .section: a label, or data. Only the bytes of .debug_str are kept.
bool Reader::section_item(bool keep, std::string& bytes) {
  if (token_.kind == TokenKind::word && lexer_.at_label_colon()) {
    if (keep) string_labels_[token_.text] = bytes.size();
    advance();
    advance();
    return true;
  }
  const bool is_bytes = token_.is(".b8");
  if (!is_bytes && !token_.is(".b16") && !token_.is(".b32") && !token_.is(".b64")) return fail_here("a label, .b8, .b16, .b32, .b64 or '}' in a .section");
  advance();
  do {
    if (token_.kind == TokenKind::number || token_.is('-')) {
      std::uint64_t value = 0;
      if (!integer_constant(value)) return false;
      if (keep && is_bytes) bytes += static_cast<char>(value);
      continue;
    }
    if (token_.kind != TokenKind::word && token_.kind != TokenKind::directive) return fail_here("a number or a label");
    advance();  // label, label + 8, label - label, .section + 8
    while (token_.is('+') || token_.is('-')) {
      advance();
      if (token_.kind != TokenKind::word && token_.kind != TokenKind::directive && token_.kind != TokenKind::number) return fail_here("a number or a label");
      advance();
    }
  } while (accept(','));
  return true;
}

bool Reader::section() {
  if (token_.kind != TokenKind::directive && token_.kind != TokenKind::word) return fail_here("a section's name");
  const bool keep = token_.is(".debug_str");
  advance();
  if (token_.is(',')) while (token_.kind != TokenKind::end && !token_.is('{')) advance();
  if (!expect('{')) return false;
  while (!token_.is('}')) {
    if (token_.kind == TokenKind::end) return fail_here("'}' at the end of a .section");
    if (!section_item(keep, debug_strings_)) return false;
  }
  advance();
  return true;
}

evidence::SourcePosition Reader::position_of(std::uint32_t node) {
  evidence::SourcePosition position;
  for (std::uint32_t i = node; i != 0 && position.frames.size() < kMaxFrames; i = nodes_[i].parent) {
    const LocationNode& from = nodes_[i];
    evidence::SourceFrame& frame = position.frames.emplace_back();
    if (auto it = files_.find(from.file); it != files_.end()) frame.file = it->second;
    frame.line = from.line;
    frame.column = from.column;
    auto label = from.function.empty() ? string_labels_.end() : string_labels_.find(from.function);
    if (label != string_labels_.end() && label->second + from.name_offset < debug_strings_.size()) {
      const char* start = debug_strings_.data() + label->second + from.name_offset;
      const std::size_t room = debug_strings_.size() - label->second - from.name_offset;
      frame.function.assign(start, strnlen(start, std::min(room, kMaxName)));
    }
    location_bytes_ += sizeof frame + frame.file.size() + frame.function.size();
  }
  return position;
}

bool Reader::build_locations() {
  module_.locations.resize(1);
  module_.locations.reserve(used_nodes_.size() + 1);
  for (std::uint32_t node : used_nodes_) {
    module_.locations.push_back(position_of(node));
    if (location_bytes_ > kMaxLocationBytes) return fail_at(token_, "line information of more than 1 GiB is not read", "build without -lineinfo");
  }
  for (std::size_t i = 0; i < module_.functions.size(); ++i)
    if (first_nodes_[i] != 0) module_.functions[i].position = position_of(first_nodes_[i]);
  return true;
}

}  // namespace kforge::ptx
