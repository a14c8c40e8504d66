// HTML that is safe by construction: text becomes Html only through text(), which escapes it; raw() is for literals of this program.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

namespace kforge::report {

class Html {
 public:
  Html() = default;
  // A literal of this program's own; nothing else may be passed (the length in the type keeps std::string out).
  template <std::size_t N>
  static Html raw(const char (&literal)[N]) { return Html(std::string(literal, N - 1)); }
  // Any text: markup characters and control characters (but line breaks and tabs) become harmless, malformed UTF-8 becomes U+FFFD.
  static Html text(std::string_view any);
  // A format string of this program's own with numbers, for the coordinates of SVG.
  template <class... Numbers>
  static Html figures(fmt::format_string<Numbers...> literal, Numbers&&... numbers) {
    static_assert((std::is_arithmetic_v<std::remove_cvref_t<Numbers>> && ...), "text goes through Html::text");
    return Html(fmt::format(literal, std::forward<Numbers>(numbers)...));
  }

  Html& operator+=(const Html& other) {
    html_ += other.html_;
    return *this;
  }
  friend Html operator+(Html a, const Html& b) { return a += b; }
  // <tag class="...">content</tag>; `tag` and `classes` are literals.
  template <std::size_t N, std::size_t M>
  static Html element(const char (&tag)[N], const char (&classes)[M], const Html& content) {
    return wrapped({tag, N - 1}, {classes, M - 1}, content);
  }
  template <std::size_t N>
  static Html element(const char (&tag)[N], const Html& content) { return wrapped({tag, N - 1}, {}, content); }

  bool empty() const { return html_.empty(); }
  std::size_t size() const { return html_.size(); }
  const std::string& str() const { return html_; }

 private:
  explicit Html(std::string html) : html_(std::move(html)) {}
  static Html wrapped(std::string_view tag, std::string_view classes, const Html& content);
  std::string html_;
};

// Headings, paragraphs, lists, tables, `code` and **bold** of a rule's Markdown; everything else is text.
Html markdown_to_html(std::string_view markdown);

// The same care for XML 1.0 attributes and text (JUnit): control characters are left out.
std::string xml_escape(std::string_view any);
// For Markdown table cells and paragraphs: no markup, no line break, no pipe.
std::string markdown_escape(std::string_view any);

}  // namespace kforge::report
