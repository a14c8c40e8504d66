#include "cli/person.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/foreground.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "kforge/report.h"

namespace kforge::cli {
namespace {

std::vector<std::string> files_of(const Review& review) {
  std::vector<std::string> out;
  for (const std::string& one : {review.plan, review.prompt})
    if (!one.empty()) out.push_back(one);
  out.insert(out.end(), review.candidates.begin(), review.candidates.end());
  return out;
}

void open_editor(const Review& review) {
  const char* named = std::getenv("VISUAL");
  if (!named || !*named) named = std::getenv("EDITOR");
  ForegroundRequest request;
  for (const std::string_view word : split_words(named && *named ? named : "vi")) request.arguments.emplace_back(word);
  for (const std::string& file : files_of(review)) request.arguments.push_back(file);
  for (char** entry = environ; *entry != nullptr; ++entry) request.environment.emplace_back(*entry);
  if (const auto ended = run_in_foreground(request); !ended) fmt::print(stderr, "{}\n", to_string(ended.error()));
}

// Of each candidate against what it was made from.
void show_differences(const Review& review) {
  const bool colour = wants_colour(STDERR_FILENO);
  for (std::size_t i = 0; i < review.candidates.size(); ++i) {
    const auto now = read_file(review.candidates[i]);
    const auto before = i < review.parents.size() && !review.parents[i].empty() ? read_file(review.parents[i]) : Expected<std::string>("");
    if (!now || !before) continue;   // a removed one
    fmt::print(stderr, "--- {}\n+++ {}\n{}", review.parents[i].empty() ? "(nothing)" : review.parents[i], review.candidates[i], difference_text(*before, *now, colour));
  }
}

}  // namespace

ReviewAnswer ask_person(const Review& review) {
  fmt::print(stderr, "\nround {} of run {}\n", review.round, review.run);
  if (!review.plan.empty()) fmt::print(stderr, "  plan        {}\n", review.plan);
  if (!review.prompt.empty()) fmt::print(stderr, "  prompt      {}\n", review.prompt);
  for (const std::string& path : review.candidates) fmt::print(stderr, "  candidate   {}\n", path);
  if (!review.problem.empty()) fmt::print(stderr, "  problem     {}\n", review.problem);
  ReviewAnswer out;
  for (;;) {
    fmt::print(stderr, "Enter goes on with what the files say, e edits them, d shows the differences, q stops here; anything else is a note: ");
    std::string line;
    if (!std::getline(std::cin, line) || trim(line) == "q") {
      out.stop = true;
      return out;
    }
    const std::string word(trim(line));
    if (word.empty()) return out;
    if (word == "e") open_editor(review);
    else if (word == "d") show_differences(review);
    else out.note += (out.note.empty() ? "" : "; ") + word;
  }
}

}  // namespace kforge::cli
