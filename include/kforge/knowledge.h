// What is known about making kernels right and fast: rules, and the compilers' messages with cause and fix.
//
// A rule is a Markdown file with a TOML head (docs/knowledge.md). The built-in ones are data/knowledge/*.md, embedded into the
// program; a user's own lie in $KFORGE_KNOWLEDGE, else in .kforge/knowledge of the current folder, and one with a built-in rule's id
// takes its place. Every finding, move and plan step names the rule that it follows by its id.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kforge/error.h"
#include "kforge/verdict.h"

namespace kforge {

// A kernel before and after the rule was followed. Paths start from the project's root; `shows` is the contract that `before` fails
// and `after` passes, or "" where both pass every required contract and time alone differs.
struct KnowledgeExample {
  std::string task, before, after, shows;
  std::string before_source, after_source;   // the files' text
};

struct KnowledgeRule {
  std::string id;                            // "pad-shared-rows"
  std::string title;                         // one line, an order: "Pad the rows of a shared array"
  std::vector<std::string> contracts;        // whose violations it answers
  std::vector<std::string> default_for;      // of those, the ones whose findings cite it when no other rule fits better
  std::vector<std::string> causes;           // words; a finding whose message or cause holds one cites this rule
  std::vector<std::string> patterns;         // words of kforge/plan.h; empty: any
  std::vector<std::string> applies_when;     // conditions on measured quantities, all of which must hold
  double gain_low = 1, gain_high = 1;        // time before over time after, as experience has it; 1 to 1: not about speed
  int min_sm = 0, max_sm = 0;                // architectures; 0: no limit
  std::vector<std::string> sources;
  std::string why, what_to_do;               // Markdown
  std::optional<KnowledgeExample> example;
  std::string file;                          // where it was read; "data/knowledge/ID.md" for a built-in one
  bool built_in = false;
};

// Built-in and user's rules, in order of id. Errors: bad_input with file, line, key and the nearest known key.
Expected<std::vector<KnowledgeRule>> knowledge_rules();
// Errors: bad_input with the nearest known id.
Expected<KnowledgeRule> knowledge_rule(const std::string& id);
// Rules that hold every word (of id, title, contracts, patterns, text; letter case does not count), best first.
Expected<std::vector<KnowledgeRule>> search_knowledge(const std::vector<std::string>& words);
// Checks a rule and copies it into the user's folder; the path it has there. Errors: bad_input (with its place), failed.
Expected<std::string> add_knowledge(const std::string& file);

// The value of a quantity by name, or nothing when it was not measured (docs/knowledge.md lists the names).
using Quantities = std::function<std::optional<double>(std::string_view)>;
// Whether all conditions of the rule hold; nothing when a quantity that decides is not known.
std::optional<bool> applies(const KnowledgeRule& rule, const Quantities& quantities);

// One message of nvcc, ptxas or NVRTC: data/knowledge/compiler-messages.toml.
struct CompilerMessage {
  std::string id;         // "undeclared-identifier"
  std::string tool;       // nvcc, ptxas, nvrtc, ld, c++
  std::string pattern;    // ECMAScript regular expression, searched for in the message
  std::string cause, fix;
};
const std::vector<CompilerMessage>& compiler_messages();
// The first entry of the table whose pattern is found in `message`; null: none.
const CompilerMessage* explain_message(std::string_view message);

// The id of the rule that a finding follows; "" when there is none.
std::string rule_for(const Finding& finding);
// Fills Finding::rule where it is empty; findings of `build` also get the cause and fix of their compiler message.
void cite_rules(Verdict& verdict);

// For people; `colour` as TextOptions.
std::string to_text(const KnowledgeRule& rule, bool colour);
std::string to_json(const std::vector<KnowledgeRule>& rules);   // schema kforge.knowledge/1

}  // namespace kforge
