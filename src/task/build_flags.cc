#include "task/build_flags.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "task/section.h"

namespace kforge::task {
namespace {

// Options that decide what is made, for which GPU, and where: the build's own, whatever form they are written in.
constexpr auto kOwnOptions = std::to_array<std::string_view>({"-o", "--output-file", "-c", "--compile", "-dc", "--device-c", "-dw", "--device-w", "-E", "--preprocess", "-ptx", "--ptx", "-cubin", "--cubin", "-fatbin", "--fatbin",
    "-lib", "--lib", "-link", "--link", "-dlink", "--device-link", "-run", "--run", "-shared", "--shared", "-arch", "--gpu-architecture", "-code", "--gpu-code", "-gencode", "--generate-code", "-x", "--x", "-cudart", "--cudart",
    "-ccbin", "--compiler-bindir", "-odir", "--output-directory", "-rdc", "--relocatable-device-code"});
constexpr auto kOwnPrefixes = std::to_array<std::string_view>({"-M", "--generate-dependenc", "--dependency", "-keep", "--keep", "-dryrun", "--dryrun", "-compress-mode", "--compress-mode"});
// Options whose value may be a word of its own.
constexpr auto kWithValue = std::to_array<std::string_view>({"-I", "--include-path", "-isystem", "--system-include", "-include", "--pre-include", "-D", "--define-macro", "-U", "--undefine-macro", "-L", "--library-path", "-l", "--library", "-std", "--std",
    "-Xcompiler", "--compiler-options", "-Xptxas", "--ptxas-options", "-Xlinker", "--linker-options", "-maxrregcount", "--maxrregcount", "-diag-suppress", "--diag-suppress", "-diag-error", "-diag-warn", "-O", "--optimize"});

bool among(const auto& words, std::string_view word) { return std::find(words.begin(), words.end(), word) != words.end(); }

bool is_own(std::string_view option) {
  return among(kOwnOptions, option) || std::any_of(kOwnPrefixes.begin(), kOwnPrefixes.end(), [&](std::string_view prefix) { return option.starts_with(prefix); });
}

}  // namespace

Expected<std::vector<std::string>> read_flags(const TomlValue& value) {
  auto flags = read_texts(value);
  if (!flags) return Unexpected(flags.error());
  bool value_next = false;
  for (std::size_t i = 0; i < flags->size(); ++i) {
    const std::string& flag = (*flags)[i];
    const std::string_view option = std::string_view(flag).substr(0, flag.find('='));
    if (std::exchange(value_next, false)) continue;
    if (flag.find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos) return wrong_value(value.items[i], "a flag of the compiler with a line break or a zero byte in it", "one flag is one word");
    if (!flag.starts_with('-')) return wrong_value(value.items[i], fmt::format("'{}' is no option of nvcc: it does not begin with '-'", printable(flag)), "files and sources are no flags; each word is a string of its own");
    if (is_own(option)) return wrong_value(value.items[i], fmt::format("'{}' is the build's own to choose", printable(flag)), "flags say how code is compiled, such as -maxrregcount=64, -DTILE=32 or --use_fast_math; the GPU stands in [hardware]");
    value_next = among(kWithValue, flag);
  }
  if (value_next) return wrong_value(value.items.back(), fmt::format("'{}' lacks its value", printable(flags->back())), "its value is the next string");
  return flags;
}

}  // namespace kforge::task
