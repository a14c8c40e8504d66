#include "build/nvcc_steps.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.h"

namespace kforge::build {
namespace {

using Variables = std::map<std::string, std::string, std::less<>>;

bool is_name(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

// Words as a shell reads them: quotes group, a backslash keeps the next character, $NAME outside single quotes is replaced. Nothing where an
// operator of the shell stands.
std::optional<Command> shell_words(std::string_view line, const Variables& variables) {
  Command words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      word += line[++i];
      in_word = true;
    } else if (c == '$' && quote != '\'') {
      std::size_t end = i + 1;
      while (end < line.size() && is_name(line[end])) ++end;
      const auto found = variables.find(line.substr(i + 1, end - i - 1));
      if (found == variables.end()) return std::nullopt;
      word += found->second;
      in_word = true;
      i = end - 1;
    } else if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote != 0 ? '\0' : c;
      in_word = true;
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else if (quote == 0 && std::string_view("|&;<>()`*?").find(c) != std::string_view::npos) {
      return std::nullopt;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return std::nullopt;
  if (in_word) words.push_back(std::move(word));
  return words;
}

// NAME=value
bool take_variable(std::string_view line, Variables& variables) {
  std::size_t end = 0;
  while (end < line.size() && is_name(line[end])) ++end;
  if (end == 0 || end >= line.size() || line[end] != '=') return false;
  variables[std::string(line.substr(0, end))] = line.substr(end + 1);
  return true;
}

struct StepRow { std::string_view program, needs; Command NvccSteps::*command; };   // program: end of the name; "": the host compiler
constexpr std::array<StepRow, 8> kSteps = {{{"", "-E", &NvccSteps::preprocess_device}, {"", "-E", &NvccSteps::preprocess_host}, {"cudafe++", "", &NvccSteps::cudafe},
    {"cicc", "", &NvccSteps::cicc}, {"ptxas", "", &NvccSteps::ptxas}, {"fatbinary", "", &NvccSteps::fatbinary}, {"", "-c", &NvccSteps::compile_host}, {"", "-shared", &NvccSteps::link}}};

bool fits(const Command& command, const StepRow& row) {
  const std::string_view name = std::string_view(command.front()).substr(command.front().rfind('/') + 1);
  const bool host = name.starts_with("gcc") || name.starts_with("g++");
  return (row.program.empty() ? host : name == row.program) && (row.needs.empty() || std::find(command.begin(), command.end(), row.needs) != command.end());
}

}  // namespace

std::optional<NvccSteps> parse_dryrun(std::string_view output) {
  constexpr std::string_view kStart = "#$ ";
  NvccSteps steps;
  Variables variables;
  std::size_t next = 0;
  for (std::string_view line : split_lines(output)) {
    if (!line.starts_with(kStart)) continue;
    line.remove_prefix(kStart.size());
    if (take_variable(line, variables) || line.starts_with("-- Filter Dependencies --") || line.starts_with("rm ")) continue;
    auto command = shell_words(line, variables);
    if (!command || command->empty() || next == kSteps.size() || !fits(*command, kSteps[next])) return std::nullopt;
    steps.*kSteps[next++].command = std::move(*command);
  }
  if (next != kSteps.size()) return std::nullopt;
  return steps;
}

std::string option_value(const Command& command, std::string_view option) {
  const auto found = std::find(command.begin(), command.end(), option);
  return found == command.end() || found + 1 == command.end() ? std::string() : *(found + 1);
}

std::vector<std::string> marked_files(std::string_view preprocessed) {
  std::vector<std::string> out;
  std::set<std::string, std::less<>> seen;
  for (std::size_t at = 0; at < preprocessed.size();) {
    const std::size_t end = std::min(preprocessed.find('\n', at), preprocessed.size());
    const std::string_view line = preprocessed.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with("# ")) continue;   // # 12 "FILE" 1 3
    const std::size_t open = line.find('"'), close = line.rfind('"');
    if (open == std::string_view::npos || close == open || line[open + 1] == '<') continue;
    const std::string_view quoted = line.substr(open + 1, close - open - 1);
    if (!seen.emplace(quoted).second) continue;
    std::string name;
    for (std::size_t i = 0; i < quoted.size(); ++i) name += quoted[i] == '\\' && i + 1 < quoted.size() ? quoted[++i] : quoted[i];
    if (!name.ends_with("//")) out.push_back(std::move(name));   // # 1 "/the/folder//"
  }
  return out;
}

}  // namespace kforge::build
