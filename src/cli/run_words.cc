#include "cli/run_words.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace kforge::cli {
namespace {

// Options of nvcc whose value may be a word of its own.
constexpr std::array kWithValue = std::to_array<std::string_view>({
    "-I", "-D", "-U", "-L", "-l", "-isystem", "-include", "-Xcompiler", "-Xptxas", "-Xlinker", "-Xnvlink", "-Xcudafe", "-arch", "-gencode", "-ccbin", "-std", "-maxrregcount", "-x", "-rdc",
    "-default-stream", "-diag-suppress", "--diag-suppress", "--default-stream"});
// The others, by how they begin.
constexpr std::array kPrefixes = std::to_array<std::string_view>({
    "-I", "-D", "-U", "-L", "-l", "-O", "-g", "-G", "-W", "-std=", "-arch=", "-gencode=", "-Xcompiler=", "-Xptxas=", "-Xlinker=", "-rdc", "-dlto", "-use_fast_math", "-m", "-w", "-extended-lambda",
    "-expt-", "-ftz=", "-fmad=", "-prec-", "-restrict", "-default-stream=", "-diag-suppress=", "-forward-unknown-"});
constexpr std::array kLong = std::to_array<std::string_view>({
    "--expt-", "--extended-lambda", "--std=", "--use_fast_math", "--default-stream", "--fmad", "--ftz", "--prec-", "--relocatable-device-code", "--generate-code", "--gpu-architecture",
    "--compiler-options=", "--diag-suppress", "--ptxas-options=", "--maxrregcount=", "--restrict", "--optimize=", "--generate-line-info", "--forward-unknown-"});

template <std::size_t n>
bool begins(std::string_view word, const std::array<std::string_view, n>& known) {
  return std::any_of(known.begin(), known.end(), [&](std::string_view prefix) { return word.starts_with(prefix); });
}

template <std::size_t n>
bool is_one(std::string_view word, const std::array<std::string_view, n>& known) {
  return std::find(known.begin(), known.end(), word) != known.end();
}

bool is_build_option(std::string_view word) {
  const bool is_short = word.size() > 1 && word[0] == '-' && word[1] != '-';
  return is_short ? begins(word, kPrefixes) || is_one(word, kWithValue) : begins(word, kLong);
}

}  // namespace

RunWords split_run_words(const std::vector<std::string>& words) {
  RunWords out;
  std::size_t i = 0;
  for (; i < words.size() && words[i] != "--"; ++i) {
    if (!is_build_option(words[i])) {
      out.ours.push_back(words[i]);
      continue;
    }
    out.build.push_back(words[i]);
    if (is_one(words[i], kWithValue) && i + 1 < words.size() && words[i + 1] != "--") out.build.push_back(words[++i]);
  }
  if (i < words.size()) out.program.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
  return out;
}

}  // namespace kforge::cli
