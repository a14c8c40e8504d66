#include "propose/reference_types.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace kforge::propose::reference {
namespace {

constexpr std::array<std::string_view, 22> kArithmetic{"int", "long", "float", "double", "unsigned", "signed", "bool", "char", "short", "size_t", "ptrdiff_t",
    "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "__half", "__nv_bfloat16", "auto"};

bool is_type_name(const syntax::Node& node) { return node.is("primitive_type") || node.is("type_identifier") || node.is("sized_type_specifier") || node.is("qualified_identifier"); }

bool is_value_of_members(const syntax::Node& node) { return node.is("identifier") || node.is("initializer_list") || node.is("compound_literal_expression"); }

// Whether a variable's use is of a member, or sets, copies or hands over all of them.
bool is_apart(const syntax::Node& use) {
  const syntax::Node around = use.parent();
  if (around.is("init_declarator")) return is_value_of_members(around.field("value"));
  if (around.is("assignment_expression")) return around.field("operator").text() == "=" && is_value_of_members(around.field("right"));
  for (const char* kind : {"field_expression", "argument_list", "declaration", "parameter_declaration", "reference_declarator"})
    if (around.is(kind)) return true;
  return false;
}

}  // namespace

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The words of a type, without qualifiers and std::.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_name_character(text[end])) ++end;
    if (end == at) {
      ++at;
      continue;
    }
    const std::string_view word = text.substr(at, end - at);
    if (word != "const" && word != "constexpr" && word != "static" && word != "volatile" && word != "std") out.push_back(word);
    at = end;
  }
  return out;
}

std::string arithmetic_type(std::string_view text) {
  std::string out;
  if (text.find('<') != std::string_view::npos) return out;
  for (const std::string_view word : words_of(text)) {
    if (std::find(kArithmetic.begin(), kArithmetic.end(), word) == kArithmetic.end()) return {};
    out += (out.empty() ? "" : " ") + std::string(word);
  }
  return out;
}

std::string member_name(std::string_view variable, const Member& member) { return std::string(variable) + "." + member.name; }

void Structs::add(const syntax::Node& node) {
  Members members;
  const syntax::Node body = node.field("body");
  if (!body) return;
  for (const syntax::Node& field : body.named_children()) {
    if (field.is("comment")) continue;
    const std::string type = arithmetic_type(field.field("type").text());
    if (!field.is("field_declaration") || type.empty()) return;
    bool is_first = true;
    for (const syntax::Node& child : field.named_children()) {
      if (child.is("field_identifier")) {
        members.push_back({std::string(child.text()), type, {}});
        is_first = false;
      } else if (is_first ? !is_type_name(child) : child.kind().ends_with("_declarator") || child.is("bitfield_clause")) {
        return;
      } else if (!is_first) {
        members.back().initial = child;
      }
    }
  }
  if (!members.empty()) all_[std::string(node.field("name").text())] = std::move(members);
}

void Structs::keep_those_taken_apart(const syntax::Node& root) {
  std::vector<std::string> whole;
  for (const syntax::Node& function : syntax::find_all(root, "function_definition"))
    if (of_type(function.field("type").text())) whole.emplace_back(words_of(function.field("type").text())[0]);
  for (const char* kind : {"declaration", "parameter_declaration"})
    for (const syntax::Node& node : syntax::find_all(root, kind)) {
      const syntax::Node function = node.enclosing("function_definition");
      if (!of_type(node.field("type").text()) || !function) continue;
      for (syntax::Node name : node.named_children()) {
        if (name == node.field("type") || name.is("type_qualifier")) continue;
        if (name.is("init_declarator")) name = name.field("declarator");
        if (name.is("reference_declarator")) name = name.named_children().front();
        const auto uses = syntax::find_all(function, "identifier");
        const bool apart = name.is("identifier") && std::all_of(uses.begin(), uses.end(), [&](const syntax::Node& use) { return use.text() != name.text() || is_apart(use); });
        if (!apart) whole.emplace_back(words_of(node.field("type").text())[0]);
      }
    }
  for (const std::string& type : whole) all_.erase(type);
}

const Members* Structs::of_type(std::string_view text) const {
  const auto words = words_of(text);
  const auto found = words.size() == 1 && text.find_first_of("<*&") == std::string_view::npos ? all_.find(std::string(words[0])) : all_.end();
  return found == all_.end() ? nullptr : &found->second;
}

const Members* Structs::of_variable(std::string_view name) const {
  const auto found = in_sight.find(std::string(name));
  return found == in_sight.end() ? nullptr : found->second;
}

}  // namespace kforge::propose::reference
