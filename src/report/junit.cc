// JUnit XML as Jenkins, GitLab and the like read it: a suite for contracts and one for cases. An unknown contract that is required is an
// error, an unknown advice is skipped: neither is a pass.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "kforge/report.h"
#include "report/figures.h"
#include "report/html.h"

namespace kforge {
namespace {

using report::xml_escape;

struct TestCase {
  std::string class_name, name;
  double seconds = 0;
  enum class Outcome { passed, failed, error, skipped } outcome = Outcome::passed;
  std::string message, text;
};

std::string to_xml(const TestCase& c) {
  std::string out = fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"", xml_escape(c.class_name), xml_escape(c.name), std::isfinite(c.seconds) ? c.seconds : 0);
  static constexpr std::string_view kElements[] = {"", "failure", "error", "skipped"};
  const std::string_view element = kElements[static_cast<int>(c.outcome)];
  if (element.empty()) return out + "/>\n";
  return out + fmt::format(">\n      <{0} message=\"{1}\">{2}</{0}>\n    </testcase>\n", element, xml_escape(c.message), xml_escape(c.text));
}

std::string findings_of(const Verdict& verdict, const std::string& contract) {
  std::string text;
  for (const Finding& f : verdict.findings) {
    if (f.contract != contract) continue;
    text += fmt::format("{}:{}: {}\n", f.file, f.line, f.message);
    for (const std::string& advice : f.advice) text += "  advice: " + advice + "\n";
  }
  return text;
}

TestCase test_case(const Verdict& verdict, const ContractReport& c) {
  TestCase test{"contracts", c.id, 0, TestCase::Outcome::passed, {}, {}};
  const bool required = c.level == Level::required;
  if (c.status == Status::failed && required) test.outcome = TestCase::Outcome::failed;
  else if (c.status == Status::unknown && required) test.outcome = TestCase::Outcome::error;
  else if (c.status != Status::passed) test.outcome = TestCase::Outcome::skipped;
  test.message = fmt::format("{} {}: measured {}, required {}", name(c.level), name(c.status), c.measured.empty() ? "nothing" : c.measured, c.required);
  test.text = findings_of(verdict, c.id);
  return test;
}

TestCase test_case(const CaseReport& c) {
  TestCase test{"cases", {}, 0, TestCase::Outcome::passed, c.why, {}};
  for (const auto& [key, value] : c.sizes) test.name += fmt::format("{}{}={}", test.name.empty() ? "" : " ", key, value);
  test.name += " values=" + c.values + (c.call > 0 ? fmt::format(" call {}", c.call + 1) : "");
  if (c.status == Status::failed) test.outcome = TestCase::Outcome::failed;
  else if (c.status != Status::passed) test.outcome = TestCase::Outcome::skipped;
  return test;
}

std::string suite(const std::string& name, double seconds, const std::vector<TestCase>& cases) {
  const auto count = [&](TestCase::Outcome outcome) { return std::count_if(cases.begin(), cases.end(), [&](const TestCase& c) { return c.outcome == outcome; }); };
  std::string out = fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n", xml_escape(name), cases.size(),
                                count(TestCase::Outcome::failed), count(TestCase::Outcome::error), count(TestCase::Outcome::skipped), std::isfinite(seconds) ? seconds : 0);
  for (const TestCase& c : cases) out += to_xml(c);
  return out + "  </testsuite>\n";
}

std::string whole(const std::string& suites) { return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n" + suites + "</testsuites>\n"; }

std::vector<TestCase> cases_of(const Verdict& verdict) {
  std::vector<TestCase> cases;
  TestCase answer{"verdict", verdict.candidate.empty() ? "verdict" : verdict.candidate, verdict.seconds, TestCase::Outcome::passed, verdict.why, {}};
  if (verdict.status == VerdictStatus::rejected) answer.outcome = TestCase::Outcome::failed;
  if (verdict.status == VerdictStatus::error) answer.outcome = TestCase::Outcome::error;
  cases.push_back(std::move(answer));
  for (const ContractReport& contract : verdict.contracts)
    if (contract.status != Status::off) cases.push_back(test_case(verdict, contract));
  for (const CaseReport& c : verdict.cases) cases.push_back(test_case(c));
  return cases;
}

}  // namespace

std::string to_junit(const Verdict& verdict) { return whole(suite("kforge check " + verdict.task, verdict.seconds, cases_of(verdict))); }

// Rejected candidates are the search at work, no failure of the run: the winner's verdict is what counts, and whether the goal was met.
std::string to_junit(const RunRecord& run) {
  std::vector<TestCase> cases;
  TestCase goal{"run", "outcome", run.seconds, TestCase::Outcome::passed, run.outcome + ": " + run.outcome_why, {}};
  if (run.winner.empty()) goal.outcome = TestCase::Outcome::failed;
  if (run.outcome == "failed") goal.outcome = TestCase::Outcome::error;
  if (run.outcome == "running" || run.outcome == "interrupted") goal.outcome = TestCase::Outcome::skipped;
  cases.push_back(std::move(goal));
  for (const TriedCandidate& tried : run.tried) {
    TestCase c{"candidates", report::short_id(tried.candidate.id) + " " + report::move_title(tried.candidate), tried.build_s + tried.judge_s, TestCase::Outcome::passed, tried.verdict.why, {}};
    if (tried.verdict.status != VerdictStatus::accepted) c.outcome = TestCase::Outcome::skipped;
    cases.push_back(std::move(c));
  }
  std::string suites = suite("kforge optimize " + run.task_name, run.seconds, cases);
  if (const TriedCandidate* winner = run.find(run.winner)) suites += suite("winner of " + run.task_name, winner->judge_s, cases_of(winner->verdict));
  return whole(suites);
}

}  // namespace kforge
