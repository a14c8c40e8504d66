// A small reader of 64-bit little-endian ELF objects: sections by name, and the symbols that an object offers or asks for.
// The bytes come from a hostile candidate: every offset is checked, and no table makes it loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kforge::build {

struct ElfSymbol {
  std::string name;
  bool defined = false;
  bool weak = false;
  bool hidden = false;   // local binding, or hidden or internal visibility
};

class ElfFile {
 public:
  // `bytes` must outlive the object. Errors: failed ("not a 64-bit ELF object", "section table is cut off", ...).
  static Expected<ElfFile> parse(std::string_view bytes);

  // Content of the first section of that name; empty when there is none.
  std::string_view section(std::string_view name) const;
  std::vector<ElfSymbol> dynamic_symbols() const;
  // Libraries that it is linked to (DT_NEEDED), in order.
  std::vector<std::string> needed_libraries() const;
  // Entries of .init_array: functions that run when the object is loaded (nvcc makes one or two).
  std::size_t constructor_count() const { return section(".init_array").size() / 8; }
  // Whether the loader is asked for a stack that code can run from (gcc's objects say that they need none).
  bool executable_stack() const { return executable_stack_; }
  // Whether a part of it is loaded to be written and run.
  bool writable_code() const { return writable_code_; }

 private:
  struct Section { std::string_view name, content; };
  std::vector<Section> sections_;
  bool executable_stack_ = true, writable_code_ = false;
};

}  // namespace kforge::build
