// Reading JSON of servers that may send anything: what is absent or of another type is empty, never an exception.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace kforge::llm {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

inline Json parsed(const std::string& text) { return Json::parse(text, nullptr, false); }   // discarded where it is none

inline Json member(const Json& of, const char* key) { return of.is_object() && of.contains(key) ? of.at(key) : Json(); }

inline std::string text_of(const Json& of, const char* key) {
  const Json found = member(of, key);
  return found.is_string() ? found.get<std::string>() : std::string();
}

inline std::uint64_t count_of(const Json& of, const char* key) {
  const Json found = member(of, key);
  return found.is_number_integer() && found.get<std::int64_t>() > 0 ? found.get<std::uint64_t>() : 0;
}

// A text that may hold any bytes as one that JSON can hold.
inline std::string dumped(const OrderedJson& json, int indent = -1) { return json.dump(indent, ' ', false, OrderedJson::error_handler_t::replace); }

// A tool's schema, or one without parameters where it does not parse.
inline OrderedJson schema_of(const std::string& text) {
  OrderedJson schema = OrderedJson::parse(text, nullptr, false);
  return schema.is_object() ? schema : OrderedJson{{"type", "object"}, {"properties", OrderedJson::object()}};
}

// Arguments of a tool call as an object; empty where the model wrote none.
inline OrderedJson arguments_of(const std::string& text) {
  OrderedJson arguments = OrderedJson::parse(text, nullptr, false);
  return arguments.is_object() ? arguments : OrderedJson::object();
}

}  // namespace kforge::llm
