// Every form of a report holds what it must, whatever the text in it; JSON documents are read back as they were.
#include "kforge/figures.h"
#include "kforge/report.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "report/axis.h"
#include "report/audit.h"
#include "report/distance.h"
#include "report/figures.h"
#include "report/html.h"
#include "report/lesson.h"
#include "report/plots.h"
#include "report/sample_run_test.h"
#include "report/story.h"

namespace kforge {
namespace {

using report::kHostile;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

std::vector<std::pair<std::string, std::string>> forms(const RunRecord& run) {
  const Verdict& v = run.tried.back().verdict;
  return {{"run.text", to_text(run, {})}, {"explain.text", explain_text(run, {})}, {"run.md", to_markdown(run)}, {"run.html", to_html(run)}, {"run.sarif", to_sarif(run)},
          {"run.xml", to_junit(run)}, {"run.json", to_json(run)}, {"verdict.text", to_text(v, {})}, {"verdict.md", to_markdown(v)}, {"verdict.html", to_html(v)}, {"verdict.sarif", to_sarif(v)},
          {"verdict.xml", to_junit(v)}, {"verdict.json", to_json(v)}};
}

// KFORGE_WRITE_SAMPLES=FOLDER keeps the sample's forms, to be looked at.
TEST(Report, EveryFormOfTheSampleIsThereAndSmall) {
  const char* folder = std::getenv("KFORGE_WRITE_SAMPLES");
  for (const auto& [name, text] : forms(report::sample_run())) {
    EXPECT_GT(text.size(), 200u) << name;
    EXPECT_LT(text.size(), 1'000'000u) << name;
    if (folder) std::ofstream(std::string(folder) + "/" + name) << text;
  }
}

TEST(Report, TheTerminalAnswersLast) {
  const std::string text = to_text(report::sample_run(), {});
  EXPECT_THAT(text, AllOf(HasSubstr("17.7x faster"), HasSubstr("1.49 times the floor of"), HasSubstr("1.63x"), HasSubstr("coalesce-lanes"), HasSubstr("stagnation row_softmax")));
  EXPECT_GT(text.rfind("stagnation"), text.rfind("Audit"));
}

TEST(Report, ExplainTellsRuleChangeAndGainOfEachStep) {
  const std::string text = explain_text(report::sample_run(), {});
  EXPECT_THAT(text, AllOf(HasSubstr("Step 1: one block a row"), HasSubstr("rule          coalesce-lanes"), HasSubstr("32-byte sectors"), HasSubstr("4.32x (expected 4.00x)"), HasSubstr("Reading the winner in five steps")));
  EXPECT_THAT(text, HasSubstr("+  __shared__ float s[256];"));
}

TEST(Report, ExplainTeachesTheFaultItsPlaceItsReasonAndItsWords) {
  const RunRecord run = report::sample_run();
  for (const std::string& text : {explain_text(run, {}), to_html(run)})
    EXPECT_THAT(text, AllOf(HasSubstr("Where it started"), HasSubstr("4194304 sectors where 524288 would do"), HasSubstr("why here"), HasSubstr("moves at most 4800 GB/s"), HasSubstr("What did not help"), HasSubstr("32 bytes of memory: the least that a request moves"))) << text;
  const std::string text = explain_text(run, {});
  const auto source = split_lines(run.tried[0].candidate.source);
  ASSERT_GE(source.size(), 10u);
  EXPECT_THAT(text, HasSubstr("10 | " + std::string(source[9])));   // the line of the finding
  for (const std::string& told : {text, to_html(run)}) EXPECT_EQ(told.find("moves at most 4800"), told.rfind("moves at most 4800")) << "what was told of the start is not told again";
}

TEST(Report, WordsAreExplainedWhereTheyStandAlone) {
  std::vector<std::string> words;
  for (const report::Word& word : report::words_in("Two warps; a shared memory BANK, no banknote")) words.emplace_back(word.word);
  EXPECT_THAT(words, ElementsAre("bank", "shared memory", "warp"));
}

TEST(Html, NeedsNoNetworkAndRunsNoScript) {
  for (const std::string& page : {to_html(report::sample_run()), to_html(report::hostile_run()), to_html(report::sample_run().tried[0].verdict)}) {
    EXPECT_THAT(page, Not(HasSubstr("http://")));
    EXPECT_THAT(page, Not(HasSubstr("https://")));
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_THAT(page, Not(HasSubstr("<link")));
    EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
    EXPECT_THAT(page, HasSubstr("width=device-width"));
  }
}

TEST(Html, HoldsEverySectionAndBothPlots) {
  const std::string page = to_html(report::sample_run());
  for (const std::string id : {"roofline", "way", "contributions", "left", "whole", "audit", "reading", "source", "plan", "candidates"})
    EXPECT_THAT(page, HasSubstr("<section id=\"" + id + "\">"));
  EXPECT_THAT(page, AllOf(HasSubstr("Roofline figure"), HasSubstr("Candidates over time"), HasSubstr("operations per compulsory byte read"), HasSubstr("4.80 TB/s")));
}

TEST(Report, SourceHasTheFiguresOfItsLinesAndMarksTheBadOnes) {
  const RunRecord run = report::sample_run();
  const std::string file = run.tried.back().verdict.candidate;
  const MetricValues load = {{"smsp__inst_executed.sum", 1000}, {"smsp__thread_inst_executed.sum", 32000}, {"memory_l2_theoretical_sectors_global", 900}, {"memory_l2_theoretical_sectors_global_ideal", 600}};
  const MetricValues sum = {{"smsp__inst_executed.sum", 3000}, {"smsp__thread_inst_executed.sum", 30000}};
  const MetricValues all = {{"smsp__inst_executed.sum", 4000}, {"smsp__thread_inst_executed.sum", 62000}, {"memory_l2_theoretical_sectors_global", 900}, {"memory_l2_theoretical_sectors_global_ideal", 600}};
  const std::vector<KernelFigures> figures = {{kHostile, "_Z12softmax_rows", 1, {}, true, "emulator(ptx)", all, {{file, 15, load}, {file, 17, sum}, {kHostile, 16, sum}, {"", 0, {}}}}};
  const std::string page = to_html(run, figures);
  EXPECT_THAT(page, HasSubstr("<span class=\"fs\"><span class=\"f f0\">25.0%</span><span class=\"f f1\">32.0</span><span class=\"f f2\">100.0%</span><span class=\"f f3 much\">1.50x</span></span>"));
  EXPECT_THAT(page, HasSubstr("<span class=\"fs\"><span class=\"f f0\">75.0%</span><span class=\"f f1 much\">10.0</span><span class=\"f f2\"></span><span class=\"f f3\"></span></span>"));
  EXPECT_EQ(page.find("<span class=\"f f0\">75.0%"), page.rfind("<span class=\"f f0\">75.0%")) << "figures of another file's line";
  EXPECT_THAT(page, AllOf(HasSubstr("on sampled blocks"), Not(HasSubstr("banks: share")))) << "a column without a figure is left out";
  RunRecord unproven = run;
  unproven.winner = unproven.best = "";
  EXPECT_THAT(to_html(unproven, figures), Not(HasSubstr("class=\"fs"))) << "the page shows another candidate's source";

  const auto back = read_figures(to_json(run, figures), "run.json");
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(to_html(run, *back), page) << "a run that was read from JSON shows the same";
  EXPECT_TRUE(read_figures(to_json(run), "run.json")->empty());
  EXPECT_FALSE(read_figures(R"({"kernels": [{"lines": 3}]})", "run.json"));
  EXPECT_THAT(to_markdown(run, figures), AllOf(HasSubstr("## Where the time goes"), HasSubstr("| 15 | 25.0% | 32.0 | 100.0% | **1.50x** |"), HasSubstr("| 17 | 75.0% | **10.0** |")));
  EXPECT_THAT(to_markdown(run), Not(HasSubstr("Where the time goes")));
}

TEST(Report, DeadEndsAreReadBack) {
  RunRecord run = report::sample_run();
  run.dead_ends = {{"c1", "it is \"wrong\""}};
  const auto back = read_run(to_json(run), "run.json");
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(back->dead_ends, run.dead_ends);
}

// A small checker of nesting: every opened element is closed in order, and attributes hold no stray quote or bracket.
std::string ill_nested(const std::string& page) {
  static const std::set<std::string> kVoid = {"meta", "line", "rect", "polyline", "!DOCTYPE"};
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const std::size_t end = page.find('>', at);
    if (end == std::string::npos) return "an unclosed tag at " + page.substr(at, 60);
    const std::string inner = page.substr(at + 1, end - at - 1);
    if (std::count(inner.begin(), inner.end(), '"') % 2 != 0) return "odd quotes in <" + inner + ">";
    const bool closing = inner.starts_with('/');
    const std::string name = inner.substr(closing, inner.find_first_of(" />", closing ? 1 : 0) - closing);
    if (kVoid.contains(name) || inner.ends_with('/')) continue;
    if (!closing) open.push_back(name);
    else if (open.empty() || open.back() != name) return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back()) + " near " + page.substr(at > 80 ? at - 80 : 0, 160);
    else open.pop_back();
    if (name == "style" && !closing) at = page.find("</style>", at) - 1;
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

TEST(Html, IsWellNestedWhateverTheText) {
  EXPECT_EQ(ill_nested(to_html(report::sample_run())), "");
  EXPECT_EQ(ill_nested(to_html(report::hostile_run())), "");
  EXPECT_EQ(ill_nested(to_html(report::hostile_run().tried[0].verdict)), "");
  EXPECT_EQ(ill_nested(to_html(RunRecord{})), "");
  EXPECT_EQ(ill_nested(to_html(Verdict{})), "");
}

TEST(Html, StaysBelowOneMegabyteForALongRunWithLongSources) {
  RunRecord run = report::sample_run();
  std::string big;
  for (int i = 0; i < 3000; ++i) big += "  const float value_" + std::to_string(i) + " = x[" + std::to_string(i) + "] * 2.0f;  // a line of some length, as generated kernels have\n";
  for (int i = 0; i < 600; ++i) {
    TriedCandidate t = run.tried[1];
    t.candidate.id = "long" + std::to_string(i);
    t.candidate.source = big + std::to_string(i);
    if (i % 20 == 0) run.winners.push_back(t.candidate.id);
    run.tried.push_back(std::move(t));
  }
  run.winner = run.winners.back();
  EXPECT_LT(to_html(run).size(), 1'000'000u);
}

TEST(Html, TextIsEscapedAndDirectionOverridesAreShown) {
  EXPECT_EQ(report::Html::text("<a href='x'>\"&").str(), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;");
  EXPECT_EQ(report::Html::text("\xe2\x80\xae").str(), "\xef\xbf\xbd");
  EXPECT_EQ(report::Html::text("\x1b[0m\xff").str(), "\xef\xbf\xbd[0m\xef\xbf\xbd");
  EXPECT_EQ(report::Html::text("\xc3\xa9\xf0\x9f\x98\x80").str(), "\xc3\xa9\xf0\x9f\x98\x80");
}

TEST(Html, MarkdownOfRulesBecomesMarkup) {
  const std::string html = report::markdown_to_html("One `a < b` and **two**\nlines.\n\n- x\n- y\n  more\n\n| h | i |\n|---|---|\n| 1 | `2` |\n").str();
  EXPECT_THAT(html, AllOf(HasSubstr("<code>a &lt; b</code>"), HasSubstr("<strong>two</strong>"), HasSubstr("<li>y more</li>"), HasSubstr("<th>h</th>"), HasSubstr("<td>1</td>")));
}

TEST(Terminal, NoControlCharacterReachesIt) {
  const RunRecord run = report::hostile_run();
  for (const std::string& text : {to_text(run, {}), explain_text(run, {}), to_text(run.tried[0].verdict, {}), to_markdown(run)})
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(Json, OfARunIsReadBackAsItWas) {
  const RunRecord run = report::sample_run();
  const std::string json = to_json(run);
  const auto read = read_run(json, "run.json");
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(to_json(*read), json);
  EXPECT_EQ(read->tried.size(), run.tried.size());
  EXPECT_EQ(read->tried[0].verdict.findings[0].details, run.tried[0].verdict.findings[0].details);
  const auto hostile = read_run(to_json(report::hostile_run()), "run.json");
  EXPECT_TRUE(hostile);
}

TEST(Json, OfAVerdictIsReadBackAsItWas) {
  for (const TriedCandidate& tried : report::sample_run().tried) {
    const std::string json = to_json(tried.verdict);
    const auto read = read_verdict(json, "v.json");
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(to_json(*read), json);
  }
}

TEST(Json, FaultsNameFileAndKey) {
  std::string json = to_json(report::sample_run());
  const auto with = [&](const std::string& from, const std::string& to) { std::string text = json; return text.replace(text.find(from), from.size(), to); };
  struct Row { std::string text, message; int line; };
  for (const Row& row : {Row{"{\n  \"schema\": }", "no JSON document", 2}, Row{with("kforge.run/1", "kforge.run/9"), "expected \"kforge.run/1\" at 'schema'", 0},
                         Row{with("\"seconds\": 41.5", "\"seconds\": \"long\""), "expected a number at 'seconds'", 0},
                         Row{with("\"status\": \"rejected\"", "\"status\": \"maybe\""), "expected one of accepted, rejected, error at 'tried[0].verdict.status'", 0},
                         Row{"[]", "expected a JSON object", 0}, Row{std::string(100000, '['), "nested too deep", 0}, Row{"", "no JSON document", 1}}) {
    const auto read = read_run(row.text, "run.json");
    ASSERT_FALSE(read) << row.message;
    EXPECT_EQ(read.error().where.file, "run.json");
    EXPECT_THAT(read.error().message, HasSubstr(row.message));
    if (row.line > 0) {
      EXPECT_EQ(read.error().where.line, row.line);
    }
  }
}

// Properties that sarif-schema-2.1.0.json requires, and the forms it gives them.
void expect_sarif(const std::string& text, std::size_t results) {
  const Json sarif = Json::parse(text);
  EXPECT_EQ(sarif.at("version"), "2.1.0");
  ASSERT_EQ(sarif.at("runs").size(), 1u);
  const Json& run = sarif["runs"][0];
  const Json& driver = run.at("tool").at("driver");
  EXPECT_FALSE(driver.at("name").get<std::string>().empty());
  for (const Json& rule : driver.at("rules")) EXPECT_TRUE(rule.at("id").is_string() && rule.at("shortDescription").at("text").is_string());
  for (const Json& invocation : run.at("invocations")) EXPECT_TRUE(invocation.at("executionSuccessful").is_boolean());
  ASSERT_EQ(run.at("results").size(), results);
  for (const Json& result : run["results"]) {
    EXPECT_FALSE(result.at("message").at("text").get<std::string>().empty());
    EXPECT_THAT((std::vector<std::string>{"none", "note", "warning", "error"}), testing::Contains(result.at("level").get<std::string>()));
    if (result.contains("ruleIndex")) {
      EXPECT_EQ(driver["rules"][result["ruleIndex"].get<std::size_t>()]["id"], result.at("ruleId"));
    }
    for (const Json& location : result.at("locations")) {
      const Json& physical = location.at("physicalLocation");
      EXPECT_EQ(physical.at("artifactLocation").at("uri").get<std::string>().find_first_of(" <>\"\\^`{|}\x1b"), std::string::npos);
      if (!physical.contains("region")) continue;
      EXPECT_GE(physical["region"].at("startLine").get<int>(), 1);
      EXPECT_GE(physical["region"].value("startColumn", 1), 1);
    }
  }
}

TEST(Sarif, HasWhatTheSchemaRequires) {
  const RunRecord run = report::sample_run();
  expect_sarif(to_sarif(run.tried[0].verdict), 1);
  expect_sarif(to_sarif(run), 1);
  expect_sarif(to_sarif(report::hostile_run()), 2);
  expect_sarif(to_sarif(Verdict{}), 0);
  const Json sarif = Json::parse(to_sarif(run.tried[0].verdict));
  const Json& result = sarif["runs"][0]["results"][0];
  EXPECT_EQ(result["ruleId"], "memory.coalescing");
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["region"]["startLine"], 10);
  EXPECT_EQ(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "examples/softmax/naive.cu");
}

// What Jenkins' junit-10.xsd requires of suites and cases, and that the counts are those of what is inside.
void expect_junit(const std::string& xml) {
  const std::string body = xml.substr(xml.find("<testsuites>"));
  EXPECT_EQ(ill_nested(body), "");
  const auto count = [](const std::string& text, std::string_view word) {
    std::size_t n = 0;
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
    return n;
  };
  std::size_t suites = 0;
  for (std::size_t at = body.find("<testsuite "); at != std::string::npos; at = body.find("<testsuite ", at + 1), ++suites) {
    const std::string suite = body.substr(at, body.find("</testsuite>", at) - at), head = suite.substr(0, suite.find('>'));
    for (const auto& [attribute, element] : std::map<std::string, std::string>{{"tests", "<testcase "}, {"failures", "<failure "}, {"errors", "<error "}, {"skipped", "<skipped "}})
      EXPECT_THAT(head, HasSubstr(" " + attribute + "=\"" + std::to_string(count(suite, element)) + "\"")) << element;
    EXPECT_THAT(head, HasSubstr(" name=\""));
    for (std::size_t c = suite.find("<testcase "); c != std::string::npos; c = suite.find("<testcase ", c + 1)) {
      const std::string test = suite.substr(c, suite.find('>', c) - c);
      EXPECT_THAT(test, AllOf(HasSubstr(" classname=\""), HasSubstr(" name=\""), HasSubstr(" time=\"")));
    }
  }
  EXPECT_GE(suites, 1u);
}

TEST(Junit, HasWhatTheSchemaRequires) {
  for (const RunRecord& run : {report::sample_run(), report::hostile_run(), RunRecord{}}) expect_junit(to_junit(run));
  expect_junit(to_junit(report::sample_run().tried[0].verdict));
  expect_junit(to_junit(report::hostile_run().tried[0].verdict));
  expect_junit(to_junit(Verdict{}));
}

TEST(Junit, CountsWhatItHoldsAndNothingUnknownPasses) {
  const std::string xml = to_junit(report::sample_run().tried[0].verdict);
  EXPECT_THAT(xml, AllOf(HasSubstr("failures=\"2\""), HasSubstr("<failure message=\"required failed: measured 8.00"), HasSubstr("name=\"memory.reuse\"")));
  EXPECT_EQ(ill_nested(xml.substr(xml.find("<testsuites>"))), "");
  const std::string hostile = to_junit(report::hostile_run());
  EXPECT_EQ(ill_nested(hostile.substr(hostile.find("<testsuites>"))), "");
  EXPECT_EQ(hostile.find('\x1b'), std::string::npos);
  Verdict unknown;
  unknown.status = VerdictStatus::error;
  unknown.contracts = {{"numerics", Level::required, Status::unknown, "", "", ""}};
  EXPECT_THAT(to_junit(unknown), HasSubstr("errors=\"2\""));
}

TEST(Figures, AmdahlAndRoofline) {
  RunRecord run = report::sample_run();
  const report::Standing s = report::standing_of(run);
  EXPECT_NEAR(s.speedup, 92.0 / 5.2, 1e-9);
  EXPECT_NEAR(s.roofline_fraction, 3.5 / 5.2, 1e-9);
  EXPECT_NEAR(s.program.speedup, 1 / (0.59 + 0.41 / (92.0 / 5.2)), 1e-9);
  EXPECT_NEAR(s.program.limit, 1 / 0.59, 1e-9);
  run.program_share = 0;
  EXPECT_FALSE(report::standing_of(run).program.stated);
}

// Results may stay in L2: a share "of the roofline" would promise a time that no kernel reaches which writes them to DRAM.
TEST(Figures, TheFloorSaysThatItCountsReadsAlone) {
  const RunRecord run = report::sample_run();
  const report::Standing s = report::standing_of(run);
  ASSERT_EQ(s.work.bound, "dram");
  ASSERT_GT(s.work.write_bytes, 0);
  EXPECT_THAT(report::distance_text(s), AllOf(HasSubstr("1.49 times the floor of 3.5 us (bound by DRAM bandwidth; it counts cold reads alone, for the"), HasSubstr("of results may stay in L2)")));
  EXPECT_THAT(to_text(run, {}), AllOf(HasSubstr(report::distance_text(s)), Not(HasSubstr("of the roofline"))));
  for (const std::string& form : {to_markdown(run), to_html(run)}) EXPECT_THAT(form, AllOf(HasSubstr("may stay in L2"), Not(HasSubstr("% of the roofline"))));
}

TEST(Story, StepsNameWhatWasSeenAndTheRule) {
  const RunRecord run = report::sample_run();
  const auto steps = report::story_of(run);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].answered.at(0)->contract, "memory.coalescing");
  EXPECT_EQ(steps[0].rule->id, "coalesce-lanes");
  EXPECT_NEAR(steps[1].observed_gain, 21.3 / 6.9, 1e-9);
  EXPECT_GT(steps[1].change.added, 10);
}

// A template's candidate is faster than the transformed kernel before it, and no successor of it.
TEST(Story, AnotherLineIsNamedSo) {
  RunRecord run = report::sample_run();
  EXPECT_TRUE(report::story_of(run)[1].descends);
  run.tried[3].candidate.parent.clear();
  const auto steps = report::story_of(run);
  EXPECT_TRUE(steps[0].descends);
  EXPECT_FALSE(steps[1].descends);
  EXPECT_TRUE(steps[1].answered.empty());
  EXPECT_TRUE(steps[2].descends);
  for (const std::string& text : {to_text(run, {}), explain_text(run, {}), to_html(run), to_markdown(run)}) EXPECT_THAT(text, HasSubstr("ew line")) << text;
  EXPECT_THAT(to_text(report::sample_run(), {}), Not(HasSubstr("new line")));
}

TEST(Report, AWrongStartIsNamedAndNothingIsFasterThanIt) {
  RunRecord run = report::sample_run();
  run.tried[0].verdict.why = "fails numerics at 17 x 1000";
  for (ContractReport& c : run.tried[0].verdict.contracts)
    if (c.id == "numerics") c.status = Status::failed;
  EXPECT_EQ(report::standing_of(run).speedup, 0);
  for (const std::string& text : {to_text(run, {}), explain_text(run, {}), to_html(run), to_markdown(run)}) EXPECT_THAT(text, AllOf(HasSubstr("wrong"), HasSubstr("fails numerics at 17 x 1000")));
  Finding& first = run.tried[0].verdict.findings.emplace_back();
  run.tried[0].verdict.findings = {first};
  run.tried[0].verdict.findings[0].message = "expected a declaration";
  run.tried[0].verdict.findings[0].line = 3;
  for (const std::string& text : {to_text(run, {}), explain_text(run, {}), to_html(run), to_markdown(run)}) EXPECT_THAT(text, HasSubstr("17 x 1000: expected a declaration (line 3)"));
}

TEST(Report, AWinnerThatIsSlowerThanItsStartIsNotCalledFaster) {
  RunRecord run = report::sample_run();
  for (TriedCandidate& tried : run.tried)
    if (tried.candidate.id == run.baseline && tried.verdict.time) tried.verdict.time->us = 0.5 * run.find(run.winner)->verdict.time->us;
  EXPECT_THAT(to_text(run, {}), AllOf(HasSubstr("0.50x the speed of"), Not(HasSubstr("0.50x faster"))));
}

TEST(Report, TheFloorSaysWhatItCounts) {
  const RunRecord run = report::sample_run();
  for (const std::string& text : {explain_text(run, {}), to_html(run), to_markdown(run)}) EXPECT_THAT(text, HasSubstr("of results may stay in L2) and"));
}

TEST(Audit, HasFourLayersAndHidesNothingUnknown) {
  const auto layers = report::audit(report::sample_run().tried[0].verdict);
  ASSERT_EQ(layers.size(), 4u);
  std::size_t rows = 0, unknown = 0;
  for (const auto& layer : layers)
    for (const auto& row : layer.rows) ++rows, unknown += row.status == Status::unknown;
  EXPECT_GE(rows, 25u);
  EXPECT_EQ(unknown, 2u);
}

TEST(Audit, FiveStepsAreInOrder) {
  const auto steps = report::five_steps(report::sample_run().tried[0].verdict);
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[0].title, "Occupancy");
  EXPECT_TRUE(steps[0].good);
  EXPECT_FALSE(steps[1].good);
  EXPECT_THAT(steps[1].answer, HasSubstr("memory.coalescing: 8.00"));
}

TEST(Difference, HunksHoldChangesWithContext) {
  const auto d = report::difference("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", "a\nb\nC\nd\ne\nf\ng\nh\ni\nj\nk\n", 1);
  EXPECT_EQ(d.added, 2);
  EXPECT_EQ(d.removed, 1);
  ASSERT_EQ(d.hunks.size(), 2u);
  EXPECT_EQ(d.hunks[0].lines.front().text, "b");
  EXPECT_EQ(d.hunks[1].lines.back().text, "k");
  EXPECT_EQ(d.hunks[1].lines.back().after, 11);
  EXPECT_TRUE(report::difference("x\ny\n", "x\ny\n").hunks.empty());
}

TEST(Axis, TicksAreRoundAndInside) {
  const report::Axis log(0.3, 4000, 0, 100, true), linear(0, 47, 0, 100, false);
  EXPECT_THAT(log.ticks(), testing::ElementsAre(1, 10, 100, 1000));
  EXPECT_THAT(linear.ticks(5), testing::ElementsAre(0, 10, 20, 30, 40));
  EXPECT_NEAR(log.place(0.3), 0, 1e-9);
  EXPECT_NEAR(log.place(1e9), 100, 1e-9);
}

// The name of the slope stands below it and right of the axis, whatever the intensity.
TEST(Plots, TheNameOfTheRoofCrossesNeitherItNorTheAxis) {
  RunRecord run = report::sample_run();
  for (const double operations : {1e4, 1e6, 1e8, 1e10, 1e12}) {
    run.plan.sizes[0].operations = operations;
    const std::string svg = report::roofline_plot(run, report::standing_of(run)).str();
    const auto number_after = [&](std::size_t at, std::string_view word) { return std::strtod(svg.c_str() + svg.find(word, at) + word.size(), nullptr); };
    const std::size_t name = svg.rfind("<text", svg.find(">DRAM")), roof = svg.find("class=\"roof\" points=\"") + 21;
    ASSERT_NE(name, std::string::npos);
    const double x = number_after(name, "x=\""), y = number_after(name, "y=\"");
    double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
    ASSERT_EQ(std::sscanf(svg.c_str() + roof, "%lf,%lf %lf,%lf", &x0, &y0, &x1, &y1), 4) << svg.substr(roof, 60);
    EXPECT_GT(x, 52) << operations;
    const double slope_there = y0 + (y1 - y0) * std::clamp((x - x0) / (x1 - x0), 0.0, 1.0);
    EXPECT_GT(y - 9, slope_there) << operations << ": the words, 9 high, are below the line where they begin, and the line rises";
    EXPECT_LT(y, 320 - 46) << operations;
  }
}

TEST(Plots, DataMovementHasBandwidthBarsAndNothingTimedHasNoPlot) {
  RunRecord run = report::sample_run();
  run.plan.sizes[0].operations = 0;
  EXPECT_THAT(report::roofline_plot(run, report::standing_of(run)).str(), HasSubstr("Bandwidth figure"));
  for (TriedCandidate& t : run.tried) t.verdict.time.reset();
  EXPECT_TRUE(report::roofline_plot(run, report::standing_of(run)).empty());
  EXPECT_TRUE(report::timeline_plot(run, report::standing_of(run)).empty());
}

}  // namespace
}  // namespace kforge
