// What types are called in a reference's text: arithmetic ones, and structs whose members are all of such a type (reference_source.h).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/tree.h"

namespace kforge::propose::reference {

bool is_name_character(char c);
// The words of a type, without qualifiers and std::.
std::vector<std::string_view> words_of(std::string_view text);
// "unsigned long", "float", "auto": without qualifiers and stars; "" when it is no arithmetic type.
std::string arithmetic_type(std::string_view text);

struct Member {
  std::string name, type;
  syntax::Node initial;             // what it is where nothing is given; none: 0
};
using Members = std::vector<Member>;

// "best.value"
std::string member_name(std::string_view variable, const Member& member);

// The structs of a text, and which variables are of one. The text's tree outlives it.
class Structs {
 public:
  // A struct_specifier. One with anything but numbers in it (arrays, pointers, functions, other structs) is not known.
  void add(const syntax::Node& node);

  // Forgets those of which some value is handled as a whole: returned, chosen by a condition, pointed to.
  void keep_those_taken_apart(const syntax::Node& root);

  const Members* of_type(std::string_view text) const;         // null: no struct that is known
  const Members* of_variable(std::string_view name) const;

  std::map<std::string, const Members*> in_sight;              // by variable

 private:
  std::map<std::string, Members> all_;
};

}  // namespace kforge::propose::reference
