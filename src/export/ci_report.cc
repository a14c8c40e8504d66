// A report of recorded pairs as a table, JUnit and JSON.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "kforge/export.h"
#include "report/html.h"
#include "report/json_parts.h"
#include "report/style.h"

namespace kforge {
namespace {

using report::Colour;
using report::printable;

Colour colour_of(PairOutcome outcome) {
  static constexpr Colour kColours[] = {Colour::green, Colour::blue, Colour::red, Colour::red};
  return kColours[static_cast<int>(outcome)];
}

std::string time(double us) { return us > 0 ? fmt::format("{:.4g}", us) : "-"; }

}  // namespace

std::string to_text(const CiReport& ci, bool colour) {
  const report::Painter paint(colour);
  std::size_t widest = 4;
  for (const PairResult& p : ci.pairs) widest = std::max(widest, p.pair.name.size());
  std::string out = paint(Colour::bold, fmt::format("{:<{}}  {:<9}  {:<8}  {:>10}  {:>10}  {:>7}", "pair", widest, "outcome", "expected", "us then", "us now", "seconds")) + "\n";
  for (const PairResult& p : ci.pairs) {
    out += fmt::format("{:<{}}  {}  {:<8}  {:>10}  {:>10}  {:>7.1f}\n", printable(p.pair.name), widest, paint(colour_of(p.outcome), fmt::format("{:<9}", name(p.outcome))), name(p.pair.expected.status), time(p.expected_us),
                       time(p.us), p.seconds);
    for (const std::string& reason : p.reasons) out += fmt::format("  {}\n", printable(reason));
  }
  const auto count = [&](PairOutcome outcome) { return std::count_if(ci.pairs.begin(), ci.pairs.end(), [&](const PairResult& p) { return p.outcome == outcome; }); };
  out += fmt::format("{} {}: {} the same, {} better, {} regressed, {} could not be judged\n", ci.passed() ? paint(Colour::green, "passed") : paint(Colour::red, "failed"), counted(ci.pairs.size(), "pair"), count(PairOutcome::same),
                     count(PairOutcome::better), count(PairOutcome::regressed), count(PairOutcome::failed));
  if (count(PairOutcome::better) > 0) out += "what is better is recorded anew with --record, so that it stays so\n";
  return out;
}

std::string to_junit(const CiReport& ci) {
  using report::xml_escape;
  std::string cases;
  std::size_t failures = 0, errors = 0;
  double seconds = 0;
  for (const PairResult& p : ci.pairs) {
    seconds += p.seconds;
    cases += fmt::format("    <testcase classname=\"ci\" name=\"{}\" time=\"{:.3f}\"", xml_escape(p.pair.name), p.seconds);
    const bool regressed = p.outcome == PairOutcome::regressed, failed = p.outcome == PairOutcome::failed;
    failures += regressed;
    errors += failed;
    if (!regressed && !failed) {
      cases += "/>\n";
      continue;
    }
    std::string text;
    for (const std::string& reason : p.reasons) text += reason + "\n";
    cases += fmt::format(">\n      <{0} message=\"{1}\">{2}</{0}>\n    </testcase>\n", regressed ? "failure" : "error", xml_escape(p.reasons.empty() ? std::string() : p.reasons.front()), xml_escape(text));
  }
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"kforge ci\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\" time=\"{:.3f}\">\n{}  </testsuite>\n</testsuites>\n", ci.pairs.size(),
                     failures, errors, seconds, cases);
}

std::string to_json(const CiReport& ci) {
  using Json = nlohmann::ordered_json;
  Json pairs = Json::array();
  for (const PairResult& p : ci.pairs)
    pairs.push_back({{"name", p.pair.name}, {"task", p.pair.task}, {"candidate", p.pair.candidate}, {"gpu", p.pair.gpu}, {"outcome", name(p.outcome)}, {"expected", name(p.pair.expected.status)},
                     {"reasons", p.reasons}, {"expected_us", p.expected_us}, {"us", p.us}, {"seconds", p.seconds}});
  return report::dump(Json{{"schema", "kforge.ci-report/1"}, {"passed", ci.passed()}, {"pairs", pairs}});
}

}  // namespace kforge
