#include "report/json_reader.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace kforge::report {

using Json = nlohmann::ordered_json;

JsonReader::JsonReader(const Json& json, std::string file) : json_(&json), error_(std::make_shared<Error>()) {
  error_->code = ErrorCode::bad_input;
  error_->where.file = std::move(file);
  if (!json.is_object()) error_->message = "expected a JSON object";
}

JsonReader::JsonReader(const Json& json, std::string path, std::shared_ptr<Error> error) : json_(&json), path_(std::move(path)), error_(std::move(error)) {
  if (!json.is_object() && error_->message.empty()) error_->message = fmt::format("expected an object at '{}'", path_);
}

const Json* JsonReader::find(const char* key) const {
  if (!error_->message.empty() || !json_->is_object()) return nullptr;
  const auto found = json_->find(key);
  return found == json_->end() ? nullptr : &*found;
}

void JsonReader::fault(const char* key, std::string_view expected) {
  if (error_->message.empty()) error_->message = fmt::format("expected {} at '{}{}{}'", expected, path_, path_.empty() ? "" : ".", key);
}

bool JsonReader::has(const char* key) const {
  const Json* value = find(key);
  return value && !value->is_null();
}

void JsonReader::read(const char* key, std::string& out) {
  const Json* value = find(key);
  if (!value) return;
  if (value->is_string()) out = value->get<std::string>();
  else fault(key, "a string");
}

void JsonReader::read(const char* key, double& out) {
  const Json* value = find(key);
  if (!value || value->is_null()) return;
  if (value->is_number()) out = value->get<double>();
  else fault(key, "a number");
}

void JsonReader::read(const char* key, bool& out) {
  const Json* value = find(key);
  if (!value) return;
  if (value->is_boolean()) out = value->get<bool>();
  else fault(key, "true or false");
}

void JsonReader::read(const char* key, std::int64_t& out) {
  const Json* value = find(key);
  if (!value || value->is_null()) return;
  const bool fits = value->is_number_integer() && !(value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX));
  if (fits) out = value->get<std::int64_t>();
  else fault(key, "an integer");
}

void JsonReader::read(const char* key, std::uint64_t& out) {
  const Json* value = find(key);
  if (!value || value->is_null()) return;
  if (value->is_number_unsigned() || (value->is_number_integer() && value->get<std::int64_t>() >= 0)) out = value->get<std::uint64_t>();
  else fault(key, "an integer that is not negative");
}

void JsonReader::read(const char* key, std::uint32_t& out) {
  std::uint64_t wide = out;
  read(key, wide);
  if (wide > UINT32_MAX) fault(key, "an integer of 32 bits");
  else out = static_cast<std::uint32_t>(wide);
}

void JsonReader::read(const char* key, int& out) {
  std::int64_t wide = out;
  read(key, wide);
  if (wide > INT32_MAX || wide < INT32_MIN) fault(key, "an integer of 32 bits");
  else out = static_cast<int>(wide);
}

namespace {

bool texts(const Json& value, std::vector<std::string>& out) {
  if (!value.is_array() || !std::all_of(value.begin(), value.end(), [](const Json& item) { return item.is_string(); })) return false;
  out.clear();
  for (const Json& item : value) out.push_back(item.get<std::string>());
  return true;
}

}  // namespace

void JsonReader::read(const char* key, std::vector<std::string>& out) {
  const Json* value = find(key);
  if (value && !texts(*value, out)) fault(key, "an array of strings");
}

void JsonReader::read(const char* key, std::vector<std::pair<std::string, std::string>>& out) {
  const Json* value = find(key);
  if (!value) return;
  if (!value->is_object()) return fault(key, "an object of strings");
  for (const auto& [name, item] : value->items()) {
    if (!item.is_string()) return fault(key, "an object of strings");
    out.emplace_back(name, item.get<std::string>());
  }
}

void JsonReader::read(const char* key, std::vector<std::pair<std::string, std::int64_t>>& out) {
  const Json* value = find(key);
  if (!value) return;
  if (!value->is_object()) return fault(key, "an object of integers");
  for (const auto& [name, item] : value->items()) {
    if (!item.is_number_integer()) return fault(key, "an object of integers");
    out.emplace_back(name, item.get<std::int64_t>());
  }
}

void JsonReader::read(const char* key, std::map<std::string, std::int64_t>& out) {
  std::vector<std::pair<std::string, std::int64_t>> pairs;
  read(key, pairs);
  out.insert(pairs.begin(), pairs.end());
}

void JsonReader::read(const char* key, std::map<std::string, std::vector<std::string>>& out) {
  const Json* value = find(key);
  if (!value) return;
  if (!value->is_object()) return fault(key, "an object of arrays of strings");
  for (const auto& [name, item] : value->items())
    if (!texts(item, out[name])) return fault(key, "an object of arrays of strings");
}

void JsonReader::read_word(const char* key, const std::vector<std::string_view>& words, std::size_t& index) {
  const Json* value = find(key);
  if (value && value->is_string()) {
    const auto found = std::find(words.begin(), words.end(), value->get_ref<const std::string&>());
    if (found != words.end()) {
      index = static_cast<std::size_t>(found - words.begin());
      return;
    }
  }
  fault(key, fmt::format("one of {}", fmt::join(words, ", ")));
}

void JsonReader::require(const char* key, std::string_view value) {
  const Json* found = find(key);
  if (!found || !found->is_string() || found->get_ref<const std::string&>() != value) fault(key, fmt::format("\"{}\"", value));
}

void JsonReader::in_object(const char* key, const std::function<void(JsonReader&)>& read) {
  const Json* value = find(key);
  if (!value || value->is_null()) return;
  JsonReader inner(*value, path_.empty() ? key : path_ + "." + key, error_);
  if (error_->message.empty()) read(inner);
}

void JsonReader::in_array(const char* key, const std::function<void(JsonReader&)>& read) {
  const Json* value = find(key);
  if (!value) return;
  if (!value->is_array()) return fault(key, "an array");
  for (std::size_t i = 0; i < value->size() && error_->message.empty(); ++i) {
    JsonReader inner((*value)[i], fmt::format("{}{}{}[{}]", path_, path_.empty() ? "" : ".", key, i), error_);
    if (error_->message.empty()) read(inner);
  }
}

Expected<void> JsonReader::done() const {
  if (error_->message.empty()) return {};
  return Unexpected(*error_);
}

namespace {

// nlohmann's parser recurses into nothing but builds and frees trees recursively: depth is bounded before it sees the text.
bool too_deep(std::string_view text) {
  int depth = 0, deepest = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted) {
      if (text[i] == '\\') ++i;
      else if (text[i] == '"') quoted = false;
    } else if (text[i] == '"') quoted = true;
    else if (text[i] == '{' || text[i] == '[') deepest = std::max(deepest, ++depth);
    else if (text[i] == '}' || text[i] == ']') --depth;
  }
  return deepest > 64;
}

Where place_of(std::string_view text, std::size_t byte, const std::string& file) {
  const std::string_view before = text.substr(0, byte > 0 ? byte - 1 : 0);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n');
  return {file, static_cast<int>(line), static_cast<int>(before.size() - (start == std::string_view::npos ? 0 : start + 1)) + 1};
}

}  // namespace

Expected<std::shared_ptr<Json>> parse_json(std::string_view text, const std::string& file) {
  if (too_deep(text)) return fail(ErrorCode::bad_input, "the JSON is nested too deep", {file, 0, 0});
  try {
    return std::make_shared<Json>(Json::parse(text));
  } catch (const Json::parse_error& error) {
    return fail(ErrorCode::bad_input, "this is no JSON document", place_of(text, error.byte, file), "kforge check --json and kforge report --format json write such documents");
  }
}

}  // namespace kforge::report
