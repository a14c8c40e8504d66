#include "cli/documents.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "kforge/report.h"

namespace kforge::cli {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

Expected<std::string> text_of(const std::string& name) {
  std::ifstream file;
  if (name != "-") file.open(name, std::ios::binary);
  std::istream& in = name == "-" ? std::cin : file;
  std::string text;
  for (char block[1 << 16]; in.read(block, sizeof block), in.gcount() > 0;) {
    text.append(block, static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMaxBytes) return fail(ErrorCode::bad_input, "more than 256 MiB of JSON", {name, 0, 0});
  }
  if (text.empty()) return fail(ErrorCode::bad_input, "nothing to read", {name == "-" ? "stdin" : name, 0, 0}, "kforge check TASK CANDIDATE --json writes a verdict");
  return text;
}

Expected<Document> parse(const std::string& text, const std::string& file, std::vector<KernelFigures>* figures) {
  auto run = read_run(text, file);
  if (run && figures) {
    auto counted = read_figures(text, file);
    if (!counted) return Unexpected(counted.error());
    *figures = std::move(*counted);
  }
  if (run) return Document(std::move(*run));
  if (run.error().message.find("'schema'") == std::string::npos) return Unexpected(run.error());
  auto verdict = read_verdict(text, file);
  if (verdict) return Document(std::move(*verdict));
  if (verdict.error().message.find("'schema'") == std::string::npos) return Unexpected(verdict.error());
  return fail(ErrorCode::bad_input, "neither a run nor a verdict: 'schema' is not kforge.run/1 or kforge.verdict/1", {file, 0, 0}, "kforge check --json and kforge report --format json write such documents");
}

}  // namespace

Expected<Document> read_document(const std::string& name, const std::string& store, std::vector<KernelFigures>* figures) {
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(name, ignored) || std::filesystem::is_fifo(name, ignored) || std::filesystem::is_character_file(name, ignored);
  if (name != "-" && !is_file) {
    // Names of runs hold neither; what does was meant as a file, and no store is needed to say that there is none.
    if (name.find_first_of("/.") != std::string::npos)
      return fail(ErrorCode::bad_input, std::filesystem::is_directory(name, ignored) ? "this is a folder, and a document is wanted" : "there is no such file", {name, 0, 0},
                  "kforge check TASK CANDIDATE --json writes a verdict, kforge runs lists the runs");
    auto run = load_run(store, name);
    if (!run) return Unexpected(run.error());
    if (figures) {
      auto counted = load_figures(store, run->id);
      if (!counted) return Unexpected(counted.error());
      *figures = std::move(*counted);
    }
    return Document(std::move(*run));
  }
  const auto text = text_of(name);
  if (!text) return Unexpected(text.error());
  return parse(*text, name == "-" ? "stdin" : name, figures);
}

Expected<RunRecord> read_run_document(const std::string& name, const std::string& store) {
  auto document = read_document(name, store);
  if (!document) return Unexpected(document.error());
  if (auto* run = std::get_if<RunRecord>(&*document)) return std::move(*run);
  return fail(ErrorCode::bad_input, "this is a verdict, and a run is wanted", {name, 0, 0}, "kforge runs lists the runs");
}

}  // namespace kforge::cli
