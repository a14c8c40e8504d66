#include "report/page_parts.h"

#include <algorithm>

#include <fmt/format.h>

#include "report/audit.h"
#include "report/page_style.h"

namespace kforge::report {

std::string document(const std::string& title, const Html& body) {
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  out += "<meta name=\"color-scheme\" content=\"light dark\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n";
  out += "<title>" + Html::text(title).str() + "</title>\n<style>\n" + std::string(page_style()) + "</style>\n</head>\n<body>\n<main>\n";
  return out + body.str() + "</main>\n</body>\n</html>\n";
}

Html badge(Status status) {
  switch (status) {
    case Status::passed: return Html::element("span", "badge good", Html::raw("passed"));
    case Status::failed: return Html::element("span", "badge bad", Html::raw("failed"));
    case Status::unknown: return Html::element("span", "badge warn", Html::raw("unknown"));
    case Status::off: return Html::element("span", "badge", Html::raw("off"));
    case Status::skipped: return Html::element("span", "badge", Html::raw("skipped"));
  }
  return {};
}

Html badge(VerdictStatus status) {
  switch (status) {
    case VerdictStatus::accepted: return Html::element("span", "badge good", Html::raw("accepted"));
    case VerdictStatus::rejected: return Html::element("span", "badge bad", Html::raw("rejected"));
    case VerdictStatus::error: return Html::element("span", "badge warn", Html::raw("error"));
  }
  return {};
}

Html section(const Html& id, const Html& heading, const Html& content) {
  if (content.empty()) return {};
  return Html::raw("<section id=\"") + id + Html::raw("\">\n") + Html::element("h2", heading) + content + Html::raw("</section>\n");
}

Html pair(const Html& key, const Html& value) { return Html::element("div", Html::element("dt", key) + Html::element("dd", value)); }

namespace {

Html audit_row(const AuditRow& row) {
  const Html name = Html::element("code", Html::text(row.contract)) + Html::element("span", "sub", Html::text(row.statement));
  const Html level = row.level == Level::advice ? Html::element("span", "sub", Html::raw("advice")) : Html();
  return Html::element("tr", Html::element("td", name) + Html::element("td", badge(row.status) + level) + Html::element("td", Html::text(row.expected)) +
                                 Html::element("td", Html::text(row.measured) + (row.evidence.empty() ? Html() : Html::element("span", "sub", Html::text(row.evidence)))) +
                                 Html::element("td", Html::text(row.cause)));
}

}  // namespace

Html audit_table(const Verdict& verdict) {
  Html out;
  int number = 0;
  for (const AuditLayer& layer : audit(verdict)) {
    ++number;
    if (layer.rows.empty()) continue;
    Html rows;
    for (const AuditRow& row : layer.rows) rows += audit_row(row);
    out += Html::raw("<tbody>") + Html::raw("<tr class=\"layer\"><th colspan=\"5\" scope=\"rowgroup\">") + Html::figures("{}. ", number) + Html::text(layer.title) + Html::raw("</th></tr>\n") + rows + Html::raw("</tbody>\n");
  }
  if (out.empty()) return {};
  const Html head = Html::raw("<thead><tr><th>Metric</th><th>Status</th><th>Expected</th><th>Measured</th><th>Likely cause</th></tr></thead>\n");
  return Html::element("div", "scroll", Html::element("table", "audit", head + out));
}

Html reading_list(const Verdict& verdict) {
  Html items;
  for (const ReadingStep& step : five_steps(verdict)) {
    const bool bad = std::any_of(step.rows.begin(), step.rows.end(), [](const AuditRow& row) { return row.status == Status::failed; });
    const Html mark = step.good ? badge(Status::passed) : bad ? badge(Status::failed) : badge(Status::unknown);
    items += Html::element("li", Html::element("strong", Html::text(step.title)) + Html::raw(" ") + mark + Html::element("span", "sub", Html::text(step.question)) + Html::element("p", Html::text(step.answer)));
  }
  return Html::element("ol", "steps", items);
}

namespace {

Html place_of(const Finding& f) {
  std::string place = f.file;
  if (f.line > 0) place += fmt::format(":{}", f.line);
  return Html::element("code", Html::text(place));
}

Html rows_of(const Finding& f) {
  Html out;
  const auto row = [&](const Html& key, const std::string& value) {
    if (!value.empty()) out += pair(key, Html::text(value));
  };
  row(Html::raw("kernel"), f.kernel);
  row(Html::raw("measured"), f.measured);
  row(Html::raw("required"), f.required);
  row(Html::raw("cause"), f.cause);
  if (f.other_line > 0) row(Html::raw("other"), fmt::format("{}:{}", f.other_file, f.other_line));
  if (f.count > 1) row(Html::raw("times"), std::to_string(f.count));
  for (const std::string& advice : f.advice) row(Html::raw("advice"), advice);
  row(Html::raw("rule"), f.rule);
  return Html::element("dl", "facts", out);
}

constexpr std::size_t kMaxFindings = 40;

}  // namespace

Html findings_list(const Verdict& verdict) {
  Html out;
  for (std::size_t i = 0; i < verdict.findings.size() && i < kMaxFindings; ++i) {
    const Finding& f = verdict.findings[i];
    const Html mark = f.severity == Severity::error ? Html::element("span", "badge bad", Html::text(f.contract)) : Html::element("span", "badge warn", Html::text(f.contract));
    Html details;
    for (const std::string& line : f.details) details += Html::text(line) + Html::raw("\n");
    out += Html::element("article", "finding", Html::element("h3", mark + Html::raw(" ") + place_of(f)) + Html::element("p", Html::text(f.message)) + rows_of(f) +
                                                   (details.empty() ? Html() : Html::element("pre", "details", details)));
  }
  if (verdict.findings.size() > kMaxFindings) out += Html::element("p", Html::figures("... and {} more findings.", verdict.findings.size() - kMaxFindings));
  return out;
}

constexpr std::size_t kMaxLineBytes = 400;

Html difference_view(const Difference& difference) {
  constexpr std::size_t kMaxShown = 600;
  if (difference.too_large) return Html::element("p", Html::raw("Too large to compare."));
  Html out;
  std::size_t shown = 0;
  for (const Hunk& hunk : difference.hunks) {
    if (!out.empty()) out += Html::element("div", "gap", Html::raw("..."));
    for (const DiffLine& line : hunk.lines) {
      if (++shown > kMaxShown) return Html::element("div", "code diff", out + Html::element("div", "gap", Html::raw("cut here")));
      const Html content = Html::element("span", "n", line.after > 0 ? Html::figures("{}", line.after) : Html()) +
                           Html::element("span", "s", line.kind == '+' ? Html::raw("+") : line.kind == '-' ? Html::raw("&minus;") : Html()) +
                           Html::element("span", "c", Html::text(std::string_view(line.text).substr(0, kMaxLineBytes)));
      out += line.kind == '+' ? Html::element("div", "l add", content) : line.kind == '-' ? Html::element("div", "l del", content) : Html::element("div", "l", content);
    }
  }
  return out.empty() ? Html::element("p", Html::raw("The sources are equal.")) : Html::element("div", "code diff", out);
}

namespace {

std::string case_name(const CaseReport& c) {
  std::string text;
  for (const auto& [key, value] : c.sizes) text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  if (c.values != "declared") text += " " + c.values;
  if (c.call > 0) text += fmt::format(" call {}", c.call + 1);
  return text;
}

}  // namespace

Html cases_table(const Verdict& verdict) {
  Html rows;
  for (const CaseReport& c : verdict.cases) {
    double abs = 0, l2 = 0;
    for (const TensorReport& t : c.tensors) abs = std::max(abs, t.max_abs), l2 = std::max(l2, t.rel_l2);
    const bool compared = !c.tensors.empty();
    rows += Html::element("tr", Html::element("td", Html::text(case_name(c))) + Html::element("td", badge(c.status)) +
                                    Html::element("td", "num", compared ? Html::figures("{:.3g}", abs) : Html()) + Html::element("td", "num", compared ? Html::figures("{:.3g}", l2) : Html()) +
                                    Html::element("td", Html::text(c.why)));
  }
  if (rows.empty()) return {};
  const Html head = Html::raw("<thead><tr><th>Sizes and values</th><th>Status</th><th class=\"num\">Max abs error</th><th class=\"num\">Rel L2</th><th>Why</th></tr></thead>");
  return Html::element("div", "scroll", Html::element("table", head + Html::element("tbody", rows)));
}

Html resources_table(const Verdict& verdict) {
  Html rows;
  for (const ResourceReport& r : verdict.resources)
    rows += Html::element("tr", Html::element("td", Html::element("code", Html::text(r.kernel))) + Html::element("td", "num", Html::figures("{}", r.registers)) +
                                    Html::element("td", "num", Html::figures("{}", r.shared_bytes)) + Html::element("td", "num", Html::figures("{}", r.spill_bytes)) +
                                    Html::element("td", "num", Html::figures("{}", r.warps_per_sm)) + Html::element("td", Html::text(r.limiter)));
  if (rows.empty()) return {};
  const Html head = Html::raw("<thead><tr><th>Kernel</th><th class=\"num\">Registers</th><th class=\"num\">Shared bytes</th><th class=\"num\">Spilled bytes</th><th class=\"num\">Warps per SM</th><th>Limited by</th></tr></thead>");
  return Html::element("div", "scroll", Html::element("table", head + Html::element("tbody", rows)));
}

}  // namespace kforge::report
