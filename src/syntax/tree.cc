#include "syntax/tree.h"

#include <fmt/format.h>
#include <tree_sitter/api.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "syntax/grammar.h"

namespace kforge::syntax {

// The visible nodes in order of the text, each before what is below it: parents and neighbours are asked for far more often than texts are parsed, and
// tree-sitter searches for each from the root.
struct ParsedText {
  struct Item {
    const char* kind = "";
    const char* field = nullptr;      // its name in its parent; both live as long as the grammar
    std::uint32_t begin = 0, end = 0, line = 0;
    std::uint32_t parent = 0, after = 0;   // `after`: the first item that is not below this one; the root is its own parent
    bool named = false, has_error = false, missing = false;
    bool comment() const { return std::string_view(kind) == "comment"; }
  };
  std::string source;
  std::vector<Item> items;
};

namespace {

ParsedText::Item item_at(const TSTreeCursor& cursor, std::uint32_t parent) {
  const TSNode node = ts_tree_cursor_current_node(&cursor);
  ParsedText::Item item;
  item.kind = ts_node_type(node);
  item.field = ts_tree_cursor_current_field_name(&cursor);
  item.begin = ts_node_start_byte(node);
  item.end = ts_node_end_byte(node);
  item.line = ts_node_start_point(node).row + 1;
  item.parent = parent;
  item.named = ts_node_is_named(node);
  item.has_error = ts_node_has_error(node);
  item.missing = ts_node_is_missing(node);
  return item;
}

std::vector<ParsedText::Item> items_of(TSNode root) {
  std::vector<ParsedText::Item> out;
  TSTreeCursor cursor = ts_tree_cursor_new(root);
  std::uint32_t parent = 0;
  out.push_back(item_at(cursor, 0));
  const auto add = [&] {
    out.push_back(item_at(cursor, parent));
    return static_cast<std::uint32_t>(out.size() - 1);
  };
  for (std::uint32_t at = 0;;) {
    if (ts_tree_cursor_goto_first_child(&cursor)) {
      parent = at;
      at = add();
      continue;
    }
    bool more = false;
    while (!(more = ts_tree_cursor_goto_next_sibling(&cursor)) && at != 0) {
      out[at].after = static_cast<std::uint32_t>(out.size());
      ts_tree_cursor_goto_parent(&cursor);
      at = parent;
      parent = out[at].parent;
    }
    out[at].after = static_cast<std::uint32_t>(out.size());
    if (!more) break;
    at = add();
  }
  ts_tree_cursor_delete(&cursor);
  return out;
}

}  // namespace

std::string_view Node::kind() const { return text_ ? text_->items[index_].kind : std::string_view{}; }
bool Node::named() const { return text_ && text_->items[index_].named; }
bool Node::has_error() const { return text_ && text_->items[index_].has_error; }
std::size_t Node::begin() const { return text_ ? text_->items[index_].begin : 0; }
std::size_t Node::end() const { return text_ ? text_->items[index_].end : 0; }
std::uint32_t Node::line() const { return text_ ? text_->items[index_].line : 0; }

std::string_view Node::text() const {
  return text_ ? std::string_view(text_->source).substr(begin(), end() - begin()) : std::string_view{};
}

std::string Node::indentation() const {
  if (!text_) return {};
  const std::string_view source = text_->source;
  const std::size_t newline = begin() == 0 ? std::string_view::npos : source.rfind('\n', begin() - 1);
  const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
  return std::string(source.substr(start, std::min(source.find_first_not_of(" \t", start), begin()) - start));
}

Node Node::parent() const { return text_ && index_ != 0 ? Node(text_, text_->items[index_].parent) : Node{}; }

Node Node::field(std::string_view name) const {
  if (!text_) return {};
  for (std::uint32_t i = index_ + 1; i < text_->items[index_].after; i = text_->items[i].after)
    if (text_->items[i].field && text_->items[i].field == name) return {text_, i};
  return {};
}

std::vector<Node> Node::children() const {
  std::vector<Node> out;
  if (!text_) return out;
  for (std::uint32_t i = index_ + 1; i < text_->items[index_].after; i = text_->items[i].after)
    if (!text_->items[i].comment()) out.push_back(Node(text_, i));
  return out;
}

std::vector<Node> Node::named_children() const {
  std::vector<Node> out = children();
  std::erase_if(out, [](const Node& node) { return !node.named(); });
  return out;
}

Node Node::sibling(int step) const {
  const std::vector<Node> all = parent().named_children();
  const auto self = std::lower_bound(all.begin(), all.end(), *this, [](const Node& a, const Node& b) { return a.index_ < b.index_; });
  const bool present = self != all.end() && *self == *this;   // a sign or a comment is not among them
  const std::ptrdiff_t at = (self - all.begin()) + (step > 0 && !present ? 0 : step);
  return at >= 0 && at < std::ssize(all) ? all[static_cast<std::size_t>(at)] : Node{};
}

Node Node::next() const { return sibling(1); }
Node Node::previous() const { return sibling(-1); }

Node Node::enclosing(std::string_view kind) const {
  Node node = parent();
  while (node && !node.is(kind)) node = node.parent();
  return node;
}

bool Node::inside(const Node& outer) const {
  return text_ && text_ == outer.text_ && begin() >= outer.begin() && end() <= outer.end();
}

std::vector<Node> descendants(const Node& root) {
  std::vector<Node> out;
  if (!root) return out;
  const std::vector<ParsedText::Item>& items = root.text_->items;
  for (std::uint32_t i = root.index_; i < items[root.index_].after; ++i)
    if (i == root.index_ || !items[i].comment()) out.push_back(Node(root.text_, i));
  return out;
}

std::vector<Node> find_all(const Node& root, std::string_view kind) {
  std::vector<Node> out = descendants(root);
  std::erase_if(out, [&](const Node& node) { return !node.is(kind); });
  return out;
}

namespace {

// tree-sitter 0.20.7 corrupts its memory when a node gets more than 65,535 children, which one that holds a syntax error can.
constexpr std::size_t kMaxTokens = 60'000;

// At least as many as the tokens of the text: words, and every other character that is no blank.
std::size_t tokens_at_most(std::string_view text) {
  std::size_t out = 0;
  bool in_word = false;
  for (const char c : text) {
    const bool word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (!std::isspace(static_cast<unsigned char>(c)) && !(word && in_word)) ++out;
    in_word = word;
  }
  return out;
}

}  // namespace

Expected<Tree> Tree::parse(std::string source) {
  const auto language = load_grammar();
  if (!language) return Unexpected(language.error());
  if (tokens_at_most(source) > kMaxTokens) return fail(ErrorCode::unsupported, fmt::format("the source has more than {} words and signs, which the parser does not bear", kMaxTokens), {}, "split it");
  if (source.size() > std::numeric_limits<std::uint32_t>::max() / 2) return fail(ErrorCode::unsupported, "the source is larger than 2 GiB", {}, "split it");
  auto text = std::make_shared<ParsedText>();
  text->source = std::move(source);
  TSParser* parser = ts_parser_new();
  ts_parser_set_language(parser, static_cast<const TSLanguage*>(*language));
  TSTree* tree = ts_parser_parse_string(parser, nullptr, text->source.data(), static_cast<std::uint32_t>(text->source.size()));
  ts_parser_delete(parser);
  if (!tree) return fail(ErrorCode::failed, "the source could not be parsed");
  text->items = items_of(ts_tree_root_node(tree));
  ts_tree_delete(tree);
  Tree out;
  out.text_ = std::move(text);
  return out;
}

Node Tree::root() const { return text_ ? Node(text_.get(), 0) : Node{}; }

const std::string& Tree::source() const { return text_->source; }

std::size_t Tree::errors() const {
  if (!text_) return 0;
  return static_cast<std::size_t>(std::count_if(text_->items.begin(), text_->items.end(), [](const ParsedText::Item& item) { return item.missing || std::string_view(item.kind) == "ERROR"; }));
}

void Edits::replace(std::size_t begin, std::size_t end, std::string text) { edits_.push_back({begin, end, std::move(text)}); }

Expected<std::string> Edits::apply(const std::string& source) const {
  std::vector<Edit> sorted = edits_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Edit& a, const Edit& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::string out;
  std::size_t at = 0;
  for (const Edit& edit : sorted) {
    if (edit.begin < at || edit.end < edit.begin || edit.end > source.size()) return fail(ErrorCode::failed, "two edits overlap");
    out.append(source, at, edit.begin - at);
    out += edit.text;
    at = edit.end;
  }
  out.append(source, at);
  return out;
}

Range whole_lines(const Tree& tree, const Node& node) {
  const std::string& source = tree.source();
  const std::size_t newline = node.begin() == 0 ? std::string::npos : source.rfind('\n', node.begin() - 1);
  const std::size_t start = newline == std::string::npos ? 0 : newline + 1;
  const std::size_t stop = std::min(source.find('\n', node.end()), source.size());
  const auto blank = [&](std::size_t from, std::size_t to) {
    return std::all_of(source.begin() + static_cast<std::ptrdiff_t>(from), source.begin() + static_cast<std::ptrdiff_t>(to),
                       [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
  };
  if (!blank(start, node.begin()) || !blank(node.end(), stop)) return {node.begin(), node.end()};
  return {start, std::min(stop + 1, source.size())};
}

}  // namespace kforge::syntax
