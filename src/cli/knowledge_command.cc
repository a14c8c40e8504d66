// `kforge knowledge`: rules searched, shown and added.
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/report_arguments.h"
#include "cli/terminal.h"
#include "kforge/context.h"
#include "kforge/knowledge.h"
#include "kforge/learn.h"

namespace kforge::cli {
namespace {

int search_folders(const KnowledgeArguments& arguments) {
  std::string query;
  for (const std::string& word : arguments.words) query += (query.empty() ? "" : " ") + word;
  const auto answer = search_context(arguments.context, query, arguments.count);
  if (!answer) return report_error(answer.error());
  std::fputs((arguments.json ? to_json(*answer) : to_text(*answer)).c_str(), stdout);
  return answer->passages.empty() ? 1 : 0;
}

int show_cases(const KnowledgeArguments& arguments) {
  const auto cases = search_cases(arguments.store, arguments.words, arguments.count);
  if (!cases) return report_error(cases.error());
  if (arguments.json) std::fputs(to_json(*cases).c_str(), stdout);
  else if (cases->empty()) fmt::print("no case{}: runs of kforge optimize whose winner is proven leave them\n", arguments.words.empty() ? "" : " holds all of these words");
  else
    for (const KnowledgeCase& known : *cases) std::fputs(to_text(known, cases->size() == 1).c_str(), stdout);
  return cases->empty() ? 1 : 0;
}

int search(const KnowledgeArguments& arguments) {
  const auto rules = search_knowledge(arguments.words);
  if (!rules) return report_error(rules.error());
  if (arguments.json) {
    std::fputs(to_json(*rules).c_str(), stdout);
    return 0;
  }
  for (const KnowledgeRule& rule : *rules) fmt::print("{:<26} {}{}\n", rule.id, rule.title, rule.built_in ? "" : "  (" + rule.file + ")");
  // Words of a compiler's message find its entry, too.
  std::string all;
  for (const std::string& word : arguments.words) all += (all.empty() ? "" : " ") + word;
  const CompilerMessage* message = all.empty() ? nullptr : explain_message(all);
  if (message) fmt::print("\ncompiler message {} ({})\n  cause  {}\n  fix    {}\n", message->id, message->tool, message->cause, message->fix);
  if (!rules->empty() || message) return 0;
  fmt::print("no rule holds all of these words\n");
  return 1;
}

int show(const KnowledgeArguments& arguments) {
  const auto rule = knowledge_rule(arguments.words.front());
  if (!rule) return report_error(rule.error());
  std::fputs(arguments.json ? to_json(std::vector{*rule}).c_str() : to_text(*rule, wants_colour(STDOUT_FILENO)).c_str(), stdout);
  return 0;
}

int add(const KnowledgeArguments& arguments) {
  const auto path = add_knowledge(arguments.words.front());
  if (!path) return report_error(path.error());
  fmt::print("{}\n", *path);
  return 0;
}

}  // namespace

int run(const KnowledgeArguments& arguments) {
  if (arguments.verb == "cases") return show_cases(arguments);
  if (!arguments.context.empty()) return search_folders(arguments);
  if (arguments.words.empty() || arguments.verb == "search") return search(arguments);
  return arguments.verb == "show" ? show(arguments) : add(arguments);
}

}  // namespace kforge::cli
