// The page of a single verdict, and of a profile: the same with figures beside the lines.
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "kforge/profile.h"
#include "kforge/report.h"
#include "report/page_parts.h"

namespace kforge {

namespace {

std::string page(const Verdict& v, const std::string& source, const report::SourceFigures& figures) {
  using namespace report;
  Html body = Html::element("h1", Html::text(v.candidate) + Html::raw(" ") + badge(v.status));
  body += Html::element("p", "lead", Html::text(fmt::format("Task {} on {}: {} ({}).", v.task, v.device, v.why, human_seconds(v.seconds))));
  body += section(Html::raw("findings"), Html::raw("Findings"), findings_list(v));
  body += section(Html::raw("audit"), Html::raw("Audit"), audit_table(v));
  body += section(Html::raw("reading"), Html::raw("Five-step reading"), reading_list(v));
  if (!source.empty()) body += section(Html::raw("source"), Html::raw("Source"), annotated_source(source, v.findings, figures));
  Html unproven;
  for (const std::string& item : v.unproven) unproven += Html::element("li", Html::text(item));
  if (!unproven.empty()) body += section(Html::raw("unproven"), Html::raw("Unproven"), Html::element("ul", unproven));
  body += section(Html::raw("resources"), Html::raw("Resources"), resources_table(v));
  body += section(Html::raw("cases"), Html::raw("Cases"), cases_table(v));
  return document("Kernel Forge: " + v.candidate, body);
}

}  // namespace

std::string to_html(const Verdict& v) { return page(v, read_file(v.candidate, 1 << 20).value_or(""), {}); }

std::string to_html(const Profile& profile) { return page(profile.verdict, profile.candidate_text, report::source_figures(profile.kernels, profile.candidate)); }

}  // namespace kforge
