// Text of HTML pages, by the parser gumbo (HTML5, with the source's positions).
#include <algorithm>
#include <array>
#include <cctype>
#include <memory_resource>

#include <gumbo.h>

#include "knowledge/context_text.h"

namespace kforge::knowledge {
namespace {

// More would be slow: the parser looks through all open elements again and again.
constexpr int kMaxOpenElements = 3'000;

// Elements without an end tag, or whose end tag is often left out: they do not nest.
constexpr std::array<std::string_view, 26> kNoEnd{"br", "hr", "img", "input", "meta", "link", "area", "base", "col", "embed", "source", "track", "wbr",
                                                  "p",  "li", "td",  "tr",    "th",   "dt",   "dd",   "option", "tbody", "thead", "tfoot", "param", "colgroup"};

bool nests_deeply(std::string_view html) {
  int open = 0;
  for (std::size_t at = html.find('<'); at != std::string_view::npos && at + 1 < html.size(); at = html.find('<', at + 1)) {
    if (html[at + 1] == '/') { open = std::max(0, open - 1); continue; }
    if (!std::isalpha(static_cast<unsigned char>(html[at + 1]))) continue;
    std::string name;
    for (std::size_t i = at + 1; i < html.size() && name.size() < 16 && std::isalnum(static_cast<unsigned char>(html[i])); ++i)
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(html[i])));
    if (std::find(kNoEnd.begin(), kNoEnd.end(), name) == kNoEnd.end() && ++open > kMaxOpenElements) return true;
  }
  return false;
}

bool is_hidden(GumboTag tag) {
  return tag == GUMBO_TAG_SCRIPT || tag == GUMBO_TAG_STYLE || tag == GUMBO_TAG_TEMPLATE || tag == GUMBO_TAG_NOSCRIPT || tag == GUMBO_TAG_SVG;
}

bool is_inline(GumboTag tag) {
  switch (tag) {
    case GUMBO_TAG_A: case GUMBO_TAG_ABBR: case GUMBO_TAG_B: case GUMBO_TAG_CODE: case GUMBO_TAG_EM: case GUMBO_TAG_FONT: case GUMBO_TAG_I: case GUMBO_TAG_IMG: case GUMBO_TAG_KBD:
    case GUMBO_TAG_LABEL: case GUMBO_TAG_MARK: case GUMBO_TAG_Q: case GUMBO_TAG_S: case GUMBO_TAG_SAMP: case GUMBO_TAG_SMALL: case GUMBO_TAG_SPAN: case GUMBO_TAG_STRONG: case GUMBO_TAG_SUB:
    case GUMBO_TAG_SUP: case GUMBO_TAG_TT: case GUMBO_TAG_U: case GUMBO_TAG_VAR: return true;
    default: return false;
  }
}

int heading_level(GumboTag tag) {
  constexpr std::array kHeadings{GUMBO_TAG_H1, GUMBO_TAG_H2, GUMBO_TAG_H3, GUMBO_TAG_H4, GUMBO_TAG_H5, GUMBO_TAG_H6};
  const auto at = std::find(kHeadings.begin(), kHeadings.end(), tag);
  return at == kHeadings.end() ? tag == GUMBO_TAG_TITLE ? 1 : 0 : static_cast<int>(at - kHeadings.begin()) + 1;
}

class PageText {
 public:
  std::vector<ContextLine> of(const GumboNode* root) {
    struct Step { const GumboNode* node; bool leaving; };
    std::vector<Step> steps{{root, false}};   // no recursion: pages come from strangers
    while (!steps.empty()) {
      const auto [node, leaving] = steps.back();
      steps.pop_back();
      if (leaving) { leave(node->v.element.tag); continue; }
      if (node->type != GUMBO_NODE_ELEMENT) { text(*node); continue; }
      const GumboElement& element = node->v.element;
      if (is_hidden(element.tag)) continue;
      enter(element.tag);
      steps.push_back({node, true});
      for (unsigned i = element.children.length; i > 0; --i) steps.push_back({static_cast<const GumboNode*>(element.children.data[i - 1]), false});
    }
    end_line();
    return std::move(lines_);
  }

 private:
  void enter(GumboTag tag) {
    if (!is_inline(tag)) end_line();
    if (const int level = heading_level(tag); level > 0) prefix_ = std::string(static_cast<std::size_t>(level), '#') + ' ';
    else if (tag == GUMBO_TAG_LI) prefix_ = "- ";
    if (tag == GUMBO_TAG_PRE) ++preformatted_;
  }

  void leave(GumboTag tag) {
    if (tag == GUMBO_TAG_PRE) --preformatted_;
    if (is_inline(tag)) return;
    end_line();
    prefix_.clear();
    if (!lines_.empty() && !lines_.back().text.empty()) lines_.push_back({lines_.back().number, ""});   // paragraphs stay apart
  }

  void text(const GumboNode& node) {
    if (node.type != GUMBO_NODE_TEXT && node.type != GUMBO_NODE_WHITESPACE && node.type != GUMBO_NODE_CDATA) return;
    int line = static_cast<int>(node.v.text.start_pos.line);
    for (const char* c = node.v.text.text; *c; ++c) {
      if (*c == '\n') ++line;
      if (preformatted_ > 0 && *c == '\n') end_line();
      else if (preformatted_ > 0) put(*c, line);
      else if (!std::isspace(static_cast<unsigned char>(*c))) put(*c, line);
      else if (!now_.empty() && now_.back() != ' ') now_ += ' ';
    }
  }

  void put(char c, int line) {
    if (now_.empty()) {
      number_ = line;
      now_ = std::exchange(prefix_, {});
    }
    now_ += c;
  }

  void end_line() {
    while (now_.ends_with(' ')) now_.pop_back();
    if (!now_.empty()) lines_.push_back({number_, std::move(now_)});
    now_.clear();
  }

  std::vector<ContextLine> lines_;
  std::string now_, prefix_;
  int number_ = 1, preformatted_ = 0;
};

}  // namespace

Expected<std::vector<ContextLine>> html_lines(std::string_view html, const std::string& file) {
  if (nests_deeply(html)) return fail(ErrorCode::unsupported, "its tags nest too deeply", {file, 0, 0});
  // One arena for the whole tree: the parser's own way to free a tree calls itself once a level.
  std::pmr::monotonic_buffer_resource arena(1 << 16);
  GumboOptions options = kGumboDefaultOptions;
  options.userdata = &arena;
  options.allocator = [](void* memory, std::size_t bytes) { return static_cast<std::pmr::monotonic_buffer_resource*>(memory)->allocate(bytes, alignof(std::max_align_t)); };
  options.deallocator = [](void*, void*) {};
  options.max_errors = 0;
  const GumboOutput* page = gumbo_parse_with_options(&options, html.data(), html.size());
  if (!page || !page->root) return fail(ErrorCode::unsupported, "it cannot be read as HTML", {file, 0, 0});
  return PageText().of(page->root);
}

}  // namespace kforge::knowledge
