// Verdicts and runs for people and for programs: terminal, Markdown, JSON, JUnit, SARIF, and one self-contained HTML page.
//
// Every form is made from the value alone: nothing is measured, built or run here, and no file is read but the source that a verdict
// without a run names. All text that comes from candidates, compilers or task files is made harmless for the form that it goes into.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kforge/run.h"
#include "kforge/verdict.h"

namespace kforge {

struct TextOptions {
  bool colour = false;
  bool all_cases = false;     // also the cases and contracts that passed
  int max_findings = 20;      // further ones are counted in one line
};

// Findings alone, with source excerpt and caret.
std::string to_text(const std::vector<Finding>& findings, const TextOptions& options);
// The verdict as a terminal shows it: findings with source excerpt and caret, contracts, cases, the answer last.
// Control characters of the candidate's text are made harmless.
std::string to_text(const Verdict& verdict, const TextOptions& options);
// The run: what was asked, the winner and what it gained, contributions, what is left, the share in the whole, the audit.
std::string to_text(const RunRecord& run, const TextOptions& options);

// The winner's way step by step, for somebody who wants to learn: what was seen, the rule, the change, what it brought; then the
// five-step reading of the winner (occupancy, memory, banks, instruction mix, divergence).
std::string explain_text(const RunRecord& run, const TextOptions& options);

std::string to_markdown(const Verdict& verdict);
std::string to_markdown(const RunRecord& run);

// One page below 1 MB that needs no network: tables, plots as inline SVG, differences, annotated source; light and dark.
std::string to_html(const Verdict& verdict);
std::string to_html(const RunRecord& run);

// SARIF 2.1.0 (OASIS): a result a finding, a rule a contract. Of a run: the findings of the winner, else of the last candidate.
std::string to_sarif(const Verdict& verdict);
std::string to_sarif(const RunRecord& run);

// JUnit XML as CI systems read it: a test case a contract and a case of the check. Of a run: a suite a candidate.
std::string to_junit(const Verdict& verdict);
std::string to_junit(const RunRecord& run);

std::string to_json(const RunRecord& run);   // schema kforge.run/1

// What changed from one source to another, line by line with context; "" when nothing did.
std::string difference_text(std::string_view before, std::string_view after, bool colour);

// What to_json wrote, read back. `file` is what errors name. Errors: bad_input with the key.
Expected<Verdict> read_verdict(std::string_view json, const std::string& file);
Expected<RunRecord> read_run(std::string_view json, const std::string& file);

}  // namespace kforge
