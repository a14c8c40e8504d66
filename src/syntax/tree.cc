#include "syntax/tree.h"

#include <fmt/format.h>
#include <tree_sitter/api.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <limits>

#include "syntax/grammar.h"

namespace kforge::syntax {

static_assert(sizeof(TSNode) == 32);

template <class Raw>
Raw Node::raw() const {
  Raw out{};
  std::copy(context_.begin(), context_.end(), out.context);
  out.id = id_;
  out.tree = static_cast<const TSTree*>(tree_);
  return out;
}

template <class Raw>
Node Node::wrap(const Raw& raw) const {
  Node out;
  std::copy(std::begin(raw.context), std::end(raw.context), out.context_.begin());
  out.id_ = raw.id;
  out.tree_ = raw.tree;
  out.source_ = source_;
  return out;
}

std::string_view Node::kind() const { return id_ ? ts_node_type(raw<TSNode>()) : std::string_view{}; }
bool Node::named() const { return id_ && ts_node_is_named(raw<TSNode>()); }
bool Node::has_error() const { return id_ && ts_node_has_error(raw<TSNode>()); }
std::size_t Node::begin() const { return id_ ? ts_node_start_byte(raw<TSNode>()) : 0; }
std::size_t Node::end() const { return id_ ? ts_node_end_byte(raw<TSNode>()) : 0; }
std::uint32_t Node::line() const { return id_ ? ts_node_start_point(raw<TSNode>()).row + 1 : 0; }

std::string_view Node::text() const {
  return id_ ? std::string_view(*source_).substr(begin(), end() - begin()) : std::string_view{};
}

std::string Node::indentation() const {
  if (!id_) return {};
  const std::string_view source = *source_;
  const std::size_t newline = begin() == 0 ? std::string_view::npos : source.rfind('\n', begin() - 1);
  const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
  return std::string(source.substr(start, std::min(source.find_first_not_of(" \t", start), begin()) - start));
}

Node Node::parent() const { return id_ ? wrap(ts_node_parent(raw<TSNode>())) : Node{}; }

Node Node::field(std::string_view name) const {
  return id_ ? wrap(ts_node_child_by_field_name(raw<TSNode>(), name.data(), static_cast<std::uint32_t>(name.size()))) : Node{};
}

std::vector<Node> Node::children() const {
  std::vector<Node> out;
  if (!id_) return out;
  TSTreeCursor cursor = ts_tree_cursor_new(raw<TSNode>());
  if (ts_tree_cursor_goto_first_child(&cursor)) {
    do {
      const Node child = wrap(ts_tree_cursor_current_node(&cursor));
      if (!child.is("comment")) out.push_back(child);
    } while (ts_tree_cursor_goto_next_sibling(&cursor));
  }
  ts_tree_cursor_delete(&cursor);
  return out;
}

std::vector<Node> Node::named_children() const {
  std::vector<Node> out = children();
  std::erase_if(out, [](const Node& node) { return !node.named(); });
  return out;
}

Node Node::next() const {
  if (!id_) return {};
  Node node = wrap(ts_node_next_named_sibling(raw<TSNode>()));
  while (node.is("comment")) node = wrap(ts_node_next_named_sibling(node.raw<TSNode>()));
  return node;
}

Node Node::previous() const {
  if (!id_) return {};
  Node node = wrap(ts_node_prev_named_sibling(raw<TSNode>()));
  while (node.is("comment")) node = wrap(ts_node_prev_named_sibling(node.raw<TSNode>()));
  return node;
}

Node Node::enclosing(std::string_view kind) const {
  Node node = parent();
  while (node && !node.is(kind)) node = node.parent();
  return node;
}

bool Node::inside(const Node& outer) const {
  return id_ && outer && tree_ == outer.tree_ && begin() >= outer.begin() && end() <= outer.end();
}

std::vector<Node> descendants(const Node& root) {
  std::vector<Node> out;
  if (!root) return out;
  std::vector<Node> open{root};
  while (!open.empty()) {
    const Node node = open.back();
    open.pop_back();
    out.push_back(node);
    std::vector<Node> children = node.children();
    open.insert(open.end(), children.rbegin(), children.rend());
  }
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
  Tree out;
  out.source_ = std::make_shared<const std::string>(std::move(source));
  TSParser* parser = ts_parser_new();
  ts_parser_set_language(parser, static_cast<const TSLanguage*>(*language));
  TSTree* tree = ts_parser_parse_string(parser, nullptr, out.source_->data(), static_cast<std::uint32_t>(out.source_->size()));
  ts_parser_delete(parser);
  if (!tree) return fail(ErrorCode::failed, "the source could not be parsed");
  out.tree_ = std::shared_ptr<void>(tree, [](void* done) { ts_tree_delete(static_cast<TSTree*>(done)); });
  return out;
}

Node Tree::root() const {
  if (!tree_) return {};
  Node origin;
  origin.source_ = source_.get();
  return origin.wrap(ts_tree_root_node(static_cast<const TSTree*>(tree_.get())));
}

std::size_t Tree::errors() const {
  std::size_t out = 0;
  for (const Node& node : descendants(root())) {
    out += node.is("ERROR") || ts_node_is_missing(node.raw<TSNode>()) ? 1 : 0;
  }
  return out;
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
