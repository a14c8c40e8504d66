// SARIF 2.1.0 (OASIS standard, 27 March 2020): one run, a rule for each contract, a result for each finding. What could not be
// established is a notification of the invocation, so that a reader sees that no result does not mean that all is proven.
#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "judge/contract_table.h"
#include "kforge/report.h"
#include "kforge/version.h"
#include "report/figures.h"
#include "report/json_parts.h"

namespace kforge {
namespace {

using Json = nlohmann::ordered_json;

// A path as a URI reference (RFC 3986): what is not unreserved or '/' is percent-encoded; an absolute path becomes file://.
std::string uri(const std::string& path) {
  static constexpr std::string_view kPlain = "-._~/+@,=";
  std::string out = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kPlain.find(c) != std::string_view::npos;
    if (plain) out += c;
    else out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string_view level(const Finding& finding) {
  static constexpr std::string_view kLevels[] = {"error", "warning", "note"};
  return kLevels[static_cast<int>(finding.severity)];
}

std::string_view level(const judge::ContractRow& row) { return row.level == Level::required ? "error" : row.level == Level::advice ? "warning" : "none"; }

Json rules() {
  Json out = Json::array();
  for (const judge::ContractRow& row : judge::contract_table()) {
    Json rule = {{"id", row.id}, {"shortDescription", {{"text", row.statement}}}, {"defaultConfiguration", {{"level", level(row)}}}};
    rule["fullDescription"] = {{"text", fmt::format("{}. Required: {}.", row.statement, row.required)}};
    if (!row.advice.empty()) rule["help"] = {{"text", row.advice}};
    out.push_back(std::move(rule));
  }
  return out;
}

std::string message_of(const Finding& f) {
  std::string text = f.message.empty() ? f.contract : f.message;
  if (!f.measured.empty()) text += fmt::format(" (measured {}, required {})", f.measured, f.required);
  for (const std::string& advice : f.advice) text += "\nAdvice: " + advice;
  return text;
}

Json location(const std::string& file, std::uint32_t line, std::uint32_t column) {
  Json physical = {{"artifactLocation", {{"uri", uri(file)}}}};
  if (line > 0) {
    physical["region"] = {{"startLine", line}};
    if (column > 0) physical["region"]["startColumn"] = column;
  }
  return {{"physicalLocation", physical}};
}

Json result(const Finding& f, const std::string& candidate) {
  const std::string& file = f.file.empty() ? candidate : f.file;
  Json out = {{"ruleId", f.contract}, {"level", level(f)}, {"message", {{"text", message_of(f)}}}};
  const judge::ContractRow* row = judge::find_contract(f.contract);
  if (row) out["ruleIndex"] = row - judge::contract_table().data();
  if (!file.empty()) out["locations"] = Json::array({location(file, f.line, f.column)});
  if (f.other_line > 0 && !f.other_file.empty()) {
    Json other = location(f.other_file, f.other_line, 0);
    other["message"] = {{"text", "the other party"}};
    out["relatedLocations"] = Json::array({other});
  }
  out["partialFingerprints"] = {{"contractAndLine/v1", fmt::format("{}:{}:{}", f.contract, file, f.line)}};
  out["properties"] = {{"kernel", f.kernel}, {"cause", f.cause}, {"knowledgeRule", f.rule}, {"count", f.count}};
  return out;
}

Json notifications(const Verdict& verdict) {
  Json out = Json::array();
  for (const std::string& item : verdict.unproven) out.push_back({{"level", "note"}, {"message", {{"text", "unproven: " + item}}}});
  return out;
}

}  // namespace

std::string to_sarif(const Verdict& verdict) {
  Json results = Json::array();
  for (const Finding& finding : verdict.findings) results.push_back(result(finding, verdict.candidate));
  const Json driver = {{"name", "Kernel Forge"}, {"version", kVersion}, {"semanticVersion", kVersion}, {"rules", rules()}};
  Json invocation = {{"executionSuccessful", verdict.status != VerdictStatus::error}, {"exitCode", exit_code(verdict)}};
  if (!verdict.unproven.empty()) invocation["toolExecutionNotifications"] = notifications(verdict);
  const Json run = {{"tool", {{"driver", driver}}}, {"invocations", Json::array({invocation})}, {"columnKind", "utf16CodeUnits"}, {"results", results},
                    {"properties", {{"task", verdict.task}, {"gpu", verdict.gpu}, {"device", verdict.device}, {"status", name(verdict.status)}, {"why", verdict.why}}}};
  return report::dump({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}, {"runs", Json::array({run})}});
}

std::string to_sarif(const RunRecord& run) {
  const TriedCandidate* shown = report::shown_of(run);
  return to_sarif(shown ? shown->verdict : Verdict{});
}

}  // namespace kforge
