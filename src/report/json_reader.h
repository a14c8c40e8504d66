// Typed reading of a JSON object with errors that name the key's path: "tried[3].candidate.move.id".
//
// The first fault is kept and later reads do nothing, so that a reader is a list of fields and one look at the end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "kforge/error.h"

namespace kforge::report {

class JsonReader {
 public:
  // `json` must outlive the reader.
  JsonReader(const nlohmann::ordered_json& json, std::string file);

  // An absent key, or null for a number, leaves `out` as it is; another type is a fault.
  void read(const char* key, std::string& out);
  void read(const char* key, double& out);
  void read(const char* key, bool& out);
  void read(const char* key, std::uint64_t& out);
  void read(const char* key, std::int64_t& out);
  void read(const char* key, std::uint32_t& out);
  void read(const char* key, int& out);
  void read(const char* key, std::vector<std::string>& out);
  void read(const char* key, std::vector<std::pair<std::string, std::string>>& out);             // an object, in its order
  void read(const char* key, std::vector<std::pair<std::string, std::int64_t>>& out);
  void read(const char* key, std::map<std::string, std::int64_t>& out);
  void read(const char* key, std::map<std::string, std::vector<std::string>>& out);
  // A word of a table: its index. Required.
  void read_word(const char* key, const std::vector<std::string_view>& words, std::size_t& index);
  void require(const char* key, std::string_view value);                                          // a fault unless the key has that text

  bool has(const char* key) const;     // there and not null
  void in_object(const char* key, const std::function<void(JsonReader&)>& read);                  // absent or null: not called
  void in_array(const char* key, const std::function<void(JsonReader&)>& read);                   // for each object of it

  Expected<void> done() const;

 private:
  JsonReader(const nlohmann::ordered_json& json, std::string path, std::shared_ptr<Error> error);
  const nlohmann::ordered_json* find(const char* key) const;
  void fault(const char* key, std::string_view expected);

  const nlohmann::ordered_json* json_;
  std::string path_;
  std::shared_ptr<Error> error_;       // shared with the readers of inner objects; empty message: none
};

// The text as JSON. Errors: bad_input with line and column.
Expected<std::shared_ptr<nlohmann::ordered_json>> parse_json(std::string_view text, const std::string& file);

}  // namespace kforge::report
