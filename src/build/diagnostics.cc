// Compiler output to Diagnostics. One row of kForms for each way in which the tools write a message; the first row that
// takes a line wins. Lines that no row takes are context (source echo, carets, instantiation chains): of them only
// indented continuations ("argument types are: ..."), the innermost instantiation and the caret's column are kept.
#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "build/builder.h"

namespace kforge::build {
namespace {

struct Word { std::string_view text; Severity severity; };
constexpr std::array<Word, 9> kSeverityWords = {{{"catastrophic error", Severity::error}, {"internal error", Severity::error},
    {"fatal error", Severity::error}, {"error", Severity::error}, {"Error", Severity::error} /* of the assembler */, {"warning", Severity::warning}, {"Warning", Severity::warning},
    {"note", Severity::note}, {"remark", Severity::note}}};

// "error: text", "error #20: text", "warning #177-D: text" at the start of `text`.
bool take_severity(std::string_view text, Diagnostic& diagnostic) {
  for (const Word& word : kSeverityWords) {
    if (!text.starts_with(word.text)) continue;
    std::string_view rest = text.substr(word.text.size());
    if (rest.starts_with(" #")) rest = rest.substr(std::min(rest.size(), rest.find(':')));
    if (!rest.starts_with(':')) return false;
    diagnostic.severity = word.severity;
    diagnostic.message = trim(rest.substr(1));
    return true;
  }
  return false;
}

std::optional<int> number(std::string_view text) {
  const auto value = parse_unsigned(text);
  if (!value || *value > INT32_MAX || text.starts_with("0x")) return std::nullopt;
  return static_cast<int>(*value);
}

// FILE(LINE): error ...          cudafe++, cicc, NVRTC
bool edg_form(std::string_view line, Diagnostic& diagnostic) {
  for (std::size_t close = line.find("): "); close != std::string_view::npos; close = line.find("): ", close + 1)) {
    const std::size_t open = line.rfind('(', close);
    if (open == std::string_view::npos || open == 0) continue;
    const auto where = number(line.substr(open + 1, close - open - 1));
    if (!where || !take_severity(line.substr(close + 3), diagnostic)) continue;
    diagnostic.file = line.substr(0, open);
    diagnostic.line = *where;
    diagnostic.tool = "nvcc";
    return true;
  }
  // Notes lack the colon: "FILE(LINE): note #3196-D: ..." has it, "FILE(LINE) (col. 7): ..." is not written by 13.0.
  return false;
}

// At end of source: error: expected a "}"
bool edg_end_form(std::string_view line, Diagnostic& diagnostic) {
  constexpr std::string_view kStart = "At end of source: ";
  if (!line.starts_with(kStart) || !take_severity(line.substr(kStart.size()), diagnostic)) return false;
  diagnostic.tool = "nvcc";
  return true;
}

// warning: FILE(LINE): Warning: ...        the device code generator
bool nvvm_form(std::string_view line, Diagnostic& diagnostic) {
  for (const std::string_view start : {"warning: ", "error: "}) {
    if (line.starts_with(start) && edg_form(line.substr(start.size()), diagnostic)) return true;
  }
  return false;
}

// ptxas FILE, line N; error   : ...
bool ptxas_line_form(std::string_view line, Diagnostic& diagnostic) {
  constexpr std::string_view kLine = ", line ";
  if (!line.starts_with("ptxas ")) return false;
  const std::size_t comma = line.find(kLine), semicolon = line.find("; ", comma);
  if (comma == std::string_view::npos || semicolon == std::string_view::npos) return false;
  const auto where = number(line.substr(comma + kLine.size(), semicolon - comma - kLine.size()));
  const std::string_view rest = line.substr(semicolon + 2);
  const std::size_t colon = rest.find(':');
  if (!where || colon == std::string_view::npos) return false;
  const std::string_view word = trim(rest.substr(0, colon));
  if (word == "info") return false;
  diagnostic.severity = word == "warning" ? Severity::warning : Severity::error;
  diagnostic.file = line.substr(6, comma - 6);
  diagnostic.line = *where;
  diagnostic.message = trim(rest.substr(colon + 1));
  diagnostic.tool = "ptxas";
  return true;
}

// ptxas fatal   : ..., nvcc error   : 'cicc' died due to signal 6, nvlink warning : ...
bool tool_form(std::string_view line, Diagnostic& diagnostic) {
  const std::size_t colon = line.find(':');
  const auto words = split_words(line.substr(0, colon));
  if (colon == std::string_view::npos || words.size() != 2) return false;
  constexpr std::array<std::string_view, 7> kTools = {"ptxas", "nvcc", "nvlink", "fatbinary", "cicc", "cudafe++", "cudafe"};
  const bool known = std::find(kTools.begin(), kTools.end(), words[0]) != kTools.end();
  if (!known || (words[1] != "fatal" && words[1] != "error" && words[1] != "warning")) return false;
  diagnostic.severity = words[1] == "warning" ? Severity::warning : Severity::error;
  diagnostic.message = trim(line.substr(colon + 1));
  diagnostic.tool = words[0];
  return true;
}

// nvrtc: error: ..., collect2: error: ..., cc1plus: error: ..., /usr/bin/ld.gold: error: ..., mold: error: ...
bool program_form(std::string_view line, Diagnostic& diagnostic) {
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return false;
  std::string_view program = line.substr(0, colon);
  program = program.substr(program.rfind('/') + 1);
  struct Row { std::string_view start, tool; };
  constexpr std::array<Row, 12> kPrograms = {{{"nvrtc", "nvrtc"}, {"collect2", "ld"}, {"mold", "ld"}, {"ld.", "ld"}, {"ld", "ld"},
      {"cc1plus", "c++"}, {"g++", "c++"}, {"c++", "c++"}, {"gcc", "c++"}, {"clang", "c++"}, {"x86_64-linux-gnu-", "c++"}, {"as", "c++"}}};
  for (const Row& row : kPrograms) {
    if (!program.starts_with(row.start) || program.find(' ') != std::string_view::npos) continue;
    if (!take_severity(line.substr(colon + 2), diagnostic)) continue;
    diagnostic.tool = row.tool;
    return true;
  }
  return false;
}

// PLACE: undefined reference to `f()', PLACE: multiple definition of `f()', /usr/bin/ld: cannot find -lfoo: ...
bool linker_form(std::string_view line, Diagnostic& diagnostic) {
  for (const std::string_view what : {"undefined reference to ", "multiple definition of ", "cannot find ", "undefined symbol: "}) {
    const std::size_t at = line.find(what);
    if (at == std::string_view::npos || at < 2 || line.substr(at - 2, 2) != ": ") continue;
    diagnostic.message = line.substr(at);
    diagnostic.tool = "ld";
    return true;
  }
  return false;
}

// FILE:LINE:COLUMN: error: ..., FILE:LINE: error: ...
bool gcc_form(std::string_view line, Diagnostic& diagnostic) {
  for (std::size_t colon = line.find(": "); colon != std::string_view::npos; colon = line.find(": ", colon + 1)) {
    if (!take_severity(line.substr(colon + 2), diagnostic)) continue;
    const auto parts = split(line.substr(0, colon), ':');
    const auto last = parts.size() > 1 ? number(parts.back()) : std::nullopt;
    const auto before = parts.size() > 2 ? number(parts[parts.size() - 2]) : std::nullopt;
    if (!last) return false;
    std::size_t tail = parts.back().size() + 1;
    if (before) tail += parts[parts.size() - 2].size() + 1;
    diagnostic.file = line.substr(0, colon - tail);
    diagnostic.line = before ? *before : *last;
    diagnostic.column = before ? *last : 0;
    diagnostic.tool = "c++";
    return true;
  }
  return false;
}

using Form = bool (*)(std::string_view, Diagnostic&);
constexpr std::array<Form, 8> kForms = {ptxas_line_form, tool_form, edg_end_form, nvvm_form, edg_form, program_form, linker_form, gcc_form};

std::optional<Diagnostic> parse_line(std::string_view line) {
  if (line.empty() || line.front() == ' ' || line.size() > 100'000) return std::nullopt;
  for (const Form form : kForms) {
    Diagnostic diagnostic;
    if (form(line, diagnostic)) return diagnostic;
  }
  return std::nullopt;
}

// How cudafe++ echoes CUDA's keywords, and what stands in the file.
struct Echo { std::string_view echoed, written; };
constexpr std::array<Echo, 6> kEchoes = {{{"__attribute__((global))", "__global__"}, {"__attribute__((device))", "__device__"}, {"__attribute__((host))", "__host__"},
    {"__attribute__((shared))", "__shared__"}, {"__attribute__((constant))", "__constant__"}, {"__attribute__((managed))", "__managed__"}}};

// Column of an EDG caret line under its source echo, both indented by two. The echo has its macros expanded; CUDA's own keywords
// are put back, and 0 is the answer where other attributes stand before the caret: the echo then is not the text of the file.
int caret_column(std::string_view echo, std::string_view caret) {
  const std::size_t at = caret.find('^');
  if (!echo.starts_with("  ") || trim(caret) != "^" || at < 2 || at > echo.size()) return 0;
  std::string_view before = echo.substr(2, at - 2);
  std::size_t column = before.size() + 1;
  for (std::size_t found = before.find("__attribute__(("); found != std::string_view::npos; found = before.find("__attribute__((")) {
    before.remove_prefix(found);
    const auto keyword = std::find_if(kEchoes.begin(), kEchoes.end(), [&](const Echo& row) { return before.starts_with(row.echoed); });
    if (keyword == kEchoes.end()) return 0;
    column -= keyword->echoed.size() - keyword->written.size();
    before.remove_prefix(keyword->echoed.size());
  }
  return static_cast<int>(column);
}

bool is_redundant(const Diagnostic& diagnostic, const std::vector<Diagnostic>& all) {
  struct Row { std::string_view tool, start; };
  constexpr std::array<Row, 4> kSummaries = {{{"ptxas", "Ptx assembly aborted"}, {"ld", "ld returned"}, {"c++", "linker command failed"}, {"nvcc", "error limit reached"}}};
  for (const Row& row : kSummaries) {
    if (diagnostic.tool != row.tool || !diagnostic.message.starts_with(row.start)) continue;
    for (const Diagnostic& other : all) {
      if (&other != &diagnostic && other.severity == Severity::error) return true;
    }
  }
  for (const Diagnostic& other : all) {   // the host and the device pass say the same
    if (&other == &diagnostic) return false;
    if (other.file == diagnostic.file && other.line == diagnostic.line && other.message == diagnostic.message) return true;
  }
  return false;
}

}  // namespace

std::vector<Diagnostic> parse_diagnostics(std::string_view tool_output) {
  std::vector<Diagnostic> all;
  std::string_view previous;
  bool in_message = false;
  for (const std::string_view line : split_lines(tool_output)) {
    if (auto diagnostic = parse_line(line)) {
      all.push_back(std::move(*diagnostic));
      in_message = true;
    } else if (in_message && line.starts_with("            ") && all.back().tool == "nvcc" && trim(line) != "^") {
      all.back().message += " " + std::string(trim(line));
    } else if (!all.empty() && all.back().tool == "nvcc" && line.starts_with("          detected during")) {
      all.back().message += " (" + std::string(trim(line)) + ")";   // the user's own line where the fault stands in a header
      in_message = false;
    } else {
      in_message = false;
      if (!all.empty() && all.back().column == 0 && all.back().tool == "nvcc") all.back().column = caret_column(previous, line);
    }
    previous = line;
    if (all.size() >= 1000) break;   // a report for people; the first errors are the ones that matter
  }
  std::vector<Diagnostic> out;
  for (const Diagnostic& diagnostic : all) {
    if (!is_redundant(diagnostic, all)) out.push_back(diagnostic);
  }
  return out;
}

}  // namespace kforge::build
