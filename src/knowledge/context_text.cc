#include "knowledge/context_text.h"

#include <algorithm>

#include "base/files.h"
#include "base/paths.h"
#include "base/process.h"
#include "base/text.h"

namespace kforge::knowledge {
namespace {

constexpr std::size_t kEnoughLines = 24, kEnoughBytes = 1'600, kMostLines = 60, kMostBytes = 4'000;

std::vector<ContextLine> numbered(std::string_view text) {
  std::vector<ContextLine> out;
  int number = 0;
  for (const std::string_view line : split_lines(text)) out.push_back({++number, std::string(line)});
  return out;
}

Expected<std::string> pdf_text(const std::string& file) {
  if (!find_program("pdftotext"))
    return fail(ErrorCode::unsupported, "PDF needs pdftotext", {file, 0, 0}, "apt-get install poppler-utils");
  ProcessRequest request;
  request.arguments = {"pdftotext", "-layout", "-enc", "UTF-8", file, "-"};
  request.limits.wall_seconds = 60;
  request.limits.memory_bytes = 2ull << 30;
  request.limits.output_bytes = 32ull << 20;
  auto done = run_process(request);
  if (!done) return Unexpected(done.error());
  if (!done->succeeded()) return fail(ErrorCode::failed, "pdftotext: " + describe_end(*done), {file, 0, 0});
  return std::move(done->out);
}

// Level of a Markdown heading; 0: none.
std::size_t heading_level(const std::string& line) {
  const std::size_t level = line.find_first_not_of('#');
  return level == 0 || level > 6 || level == std::string::npos || line[level] != ' ' ? 0 : level;
}

// The longest start of at most `most` bytes that does not end inside a character of UTF-8.
std::string_view start_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 1 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

class Cutter {
 public:
  explicit Cutter(ContextKind kind) : kind_(kind) {}

  std::vector<TextPassage> cut(const std::vector<ContextLine>& lines) {
    for (const ContextLine& line : lines) {
      if (headings_count() && !in_code_) heading(line.text);
      if (line.text.starts_with("```") || line.text.starts_with("~~~")) in_code_ = !in_code_;
      for (std::string_view rest = line.text;;) {   // a line may be longer than a passage
        const std::string_view piece = start_of(rest, kMostBytes);
        add(line.number, piece);
        rest.remove_prefix(piece.size());
        if (rest.empty()) break;
      }
      if (may_end_after(line.text) && (lines_ >= kEnoughLines || now_.text.size() >= kEnoughBytes)) end();
    }
    end();
    return std::move(out_);
  }

 private:
  bool headings_count() const { return kind_ == ContextKind::markdown || kind_ == ContextKind::html; }

  void heading(const std::string& line) {
    const std::size_t level = heading_level(line);
    if (level == 0) return;
    end();
    headings_.resize(std::min(headings_.size(), level - 1));
    headings_.resize(level - 1);
    headings_.push_back(std::string(trim(std::string_view(line).substr(level))));
  }

  bool may_end_after(const std::string& line) const {
    if (in_code_) return false;
    return trim(line).empty() || (kind_ == ContextKind::code && line.starts_with('}'));
  }

  void add(int number, std::string_view text) {
    if (lines_ == kMostLines || (lines_ > 0 && now_.text.size() + text.size() > kMostBytes)) end();
    if (lines_ == 0 && trim(text).empty()) return;
    if (lines_ == 0) now_.first_line = number;
    now_.last_line = number;
    (now_.text += text) += '\n';
    ++lines_;
  }

  void end() {
    if (lines_ == 0) return;
    std::vector<std::string> named;
    for (const std::string& heading : headings_)
      if (!heading.empty()) named.push_back(heading);
    now_.title = join(named, " > ");
    out_.push_back(std::move(now_));
    now_ = {};
    lines_ = 0;
  }

  ContextKind kind_;
  std::vector<TextPassage> out_;
  TextPassage now_;
  std::size_t lines_ = 0;
  std::vector<std::string> headings_;
  bool in_code_ = false;
};

}  // namespace

Expected<std::vector<ContextLine>> context_lines(const ContextFile& file) {
  auto text = file.kind == ContextKind::pdf ? pdf_text(file.path) : read_file(file.path, file.bytes + (1 << 20));
  if (!text) return Unexpected(text.error());
  if (text->find('\0') != std::string::npos) return fail(ErrorCode::unsupported, "binary content", {file.path, 0, 0});
  if (file.kind == ContextKind::html) return html_lines(*text, file.path);
  return numbered(*text);
}

std::vector<TextPassage> cut_into_passages(const std::vector<ContextLine>& lines, ContextKind kind) { return Cutter(kind).cut(lines); }

}  // namespace kforge::knowledge
