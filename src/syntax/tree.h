// A syntax tree of CUDA source, and edits of its text.
//
// The tree is concrete: every byte of the source belongs to a node or lies between two, so that a change is an edit of the text at a
// node's place, and all that is not edited (comments, names, formatting, macros) stays as the user wrote it. A `Node` is a cheap handle
// that is valid as long as its `Tree` or a copy of it; the null node answers every question with nothing. Kinds and fields are those of the grammar
// ("for_statement", "condition"). Trees come from text that may be wrong: a part that does not parse has has_error().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kforge::syntax {

struct ParsedText;

class Node {
 public:
  Node() = default;
  explicit operator bool() const { return text_ != nullptr; }
  bool operator==(const Node& other) const = default;

  std::string_view kind() const;
  bool is(std::string_view wanted) const { return kind() == wanted; }
  bool named() const;
  bool has_error() const;
  std::string_view text() const;
  std::size_t begin() const;       // byte offsets into the source
  std::size_t end() const;
  std::uint32_t line() const;      // from 1
  std::string indentation() const; // the white space before the first token of the node's line

  Node parent() const;
  Node field(std::string_view name) const;
  std::vector<Node> children() const;        // all tokens, comments left out
  std::vector<Node> named_children() const;  // comments left out
  Node next() const;                         // named siblings, comments left out
  Node previous() const;
  Node enclosing(std::string_view kind) const;  // nearest ancestor of that kind, itself excluded
  bool inside(const Node& outer) const;         // outer itself included

 private:
  friend class Tree;
  friend std::vector<Node> descendants(const Node& root);
  Node(const ParsedText* text, std::uint32_t index) : text_(text), index_(index) {}
  Node sibling(int step) const;
  const ParsedText* text_ = nullptr;
  std::uint32_t index_ = 0;
};

// All nodes below and including `root`, in order of the text; comments left out.
std::vector<Node> descendants(const Node& root);
std::vector<Node> find_all(const Node& root, std::string_view kind);

class Tree {
 public:
  Tree() = default;            // of no text: its root is null
  // Errors: as load_grammar; failed (the parser gave up); unsupported (more than 60,000 words and signs).
  static Expected<Tree> parse(std::string source);
  Node root() const;
  const std::string& source() const;   // REQUIRES: made by parse
  std::size_t errors() const;  // places that do not parse, or where a token is missing

 private:
  std::shared_ptr<const ParsedText> text_;
};

// Replacements of disjoint ranges of one text, made all at once.
class Edits {
 public:
  void replace(std::size_t begin, std::size_t end, std::string text);
  void replace(const Node& node, std::string text) { replace(node.begin(), node.end(), std::move(text)); }
  void insert(std::size_t at, std::string text) { replace(at, at, std::move(text)); }
  bool empty() const { return edits_.empty(); }
  // The changed text; insertions at one place keep their order. Errors: failed when two replacements overlap.
  Expected<std::string> apply(const std::string& source) const;

 private:
  struct Edit {
    std::size_t begin, end;
    std::string text;
  };
  std::vector<Edit> edits_;
};

// The whole lines that a statement stands on when nothing else stands on them, so that it can go without leaving an empty line;
// else the node's own range.
struct Range { std::size_t begin, end; };
Range whole_lines(const Tree& tree, const Node& node);

}  // namespace kforge::syntax
