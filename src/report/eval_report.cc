// An evaluation as a table and as JSON.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "kforge/eval.h"
#include "report/style.h"

namespace kforge {
namespace {

using Json = nlohmann::ordered_json;

double share(const EvalReport& report, const std::function<bool(const EvalRow&)>& counts) {
  return report.rows.empty() ? 0 : static_cast<double>(std::count_if(report.rows.begin(), report.rows.end(), counts)) / static_cast<double>(report.rows.size());
}

std::string dollars_text(const std::optional<double>& dollars) { return dollars ? fmt::format("{:.3f}", *dollars) : "unknown"; }

Json or_null(double value) { return value > 0 ? Json(value) : Json(nullptr); }

std::uint64_t tokens(const EvalReport& report) {
  std::uint64_t sum = 0;
  for (const EvalRow& row : report.rows) sum += row.input_tokens + row.output_tokens;
  return sum;
}

double seconds(const EvalReport& report) {
  double sum = 0;
  for (const EvalRow& row : report.rows) sum += row.seconds;
  return sum;
}

}  // namespace

double EvalReport::correct_rate() const { return share(*this, [](const EvalRow& row) { return row.correct; }); }
double EvalReport::fast(double p) const { return share(*this, [&](const EvalRow& row) { return row.correct && row.speedup > p; }); }
std::optional<double> EvalReport::dollars() const {
  double sum = 0;
  for (const EvalRow& row : rows) {
    if (!row.dollars) return std::nullopt;
    sum += *row.dollars;
  }
  return sum;
}

std::string to_text(const EvalReport& report) {
  std::string out = fmt::format("{:<24} {:<8} {:>9} {:>12} {:>8} {:>7} {:>10} {:>9} {:>8}  {}\n", "task", "kernel", "right", "us", "speedup", "answers", "tokens", "dollars", "seconds", "outcome");
  for (const EvalRow& row : report.rows)
    out += fmt::format("{:<24} {:<8} {:>9} {:>12} {:>8} {:>7} {:>10} {:>9} {:>8.0f}  {}\n", report::printable(row.task), row.accepted ? "accepted" : row.correct ? "right" : "none", fmt::format("{}/{}", row.right, row.candidates),
                       row.us > 0 ? fmt::format("{:.4g}", row.us) : "-", row.speedup > 0 ? fmt::format("{:.2f}x", row.speedup) : "-", row.answers, row.input_tokens + row.output_tokens, dollars_text(row.dollars), row.seconds,
                       report::printable(row.outcome == "failed" ? row.why : row.outcome));
  out += fmt::format("\ncorrect {:.0f}%", 100 * report.correct_rate());
  for (const double p : kFastThresholds) out += fmt::format(", fast_{:g} {:.0f}%", p, 100 * report.fast(p));
  return out + fmt::format(" of {}; {}, {} dollars, {:.0f} s{}\n", counted(report.rows.size(), "task"), counted(tokens(report), "token"), dollars_text(report.dollars()), seconds(report), report.llm.empty() ? "" : "; " + report::printable(report.llm));
}

std::string to_json(const EvalReport& report) {
  Json rows = Json::array(), fast = Json::object();
  for (const EvalRow& row : report.rows)
    rows.push_back({{"task", row.task}, {"path", row.path}, {"run", row.run}, {"outcome", row.outcome}, {"why", row.why}, {"correct", row.correct}, {"accepted", row.accepted}, {"us", or_null(row.us)}, {"baseline_us", or_null(row.baseline_us)},
                    {"speedup", or_null(row.speedup)}, {"time_source", row.time_source}, {"candidates", row.candidates}, {"right", row.right}, {"answers", row.answers}, {"input_tokens", row.input_tokens},
                    {"output_tokens", row.output_tokens}, {"dollars", row.dollars ? Json(*row.dollars) : Json(nullptr)}, {"seconds", row.seconds}});
  for (const double p : kFastThresholds) fast[fmt::format("{:g}", p)] = report.fast(p);
  const auto dollars = report.dollars();
  const Json json{{"schema", "kforge.eval/1"}, {"suite", report.suite}, {"llm", report.llm}, {"correct_rate", report.correct_rate()}, {"fast_p", std::move(fast)}, {"tokens", tokens(report)},
                  {"dollars", dollars ? Json(*dollars) : Json(nullptr)}, {"seconds", seconds(report)}, {"tasks", std::move(rows)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kforge
