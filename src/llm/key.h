// A provider's key: read from the environment or from a file that only its owner can read, and taken out of every text that leaves this room.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace kforge::llm {

class Key {
 public:
  Key() = default;                            // none: for servers that ask for none
  explicit Key(std::string value) : value_(std::move(value)) {}

  // `file`: its first line is the key; it must be a regular file of mode 0600 or less that belongs to this user. "": the environment variable. `variable` "": none.
  // Errors: bad_input (file's mode, no key in it, characters that no header can hold), missing (neither is there).
  static Expected<Key> find(const std::string& file, const std::string& variable);

  bool empty() const { return value_.empty(); }
  const std::string& value() const { return value_; }   // for the request's header alone
  // The text with "[key]" wherever it holds the key.
  std::string redacted(std::string_view text) const;
  Error redacted(Error error) const;

 private:
  std::string value_;
};

}  // namespace kforge::llm
