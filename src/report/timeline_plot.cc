// The candidates of a run over time as inline SVG: modelled or measured time of each, the best so far as a line.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/axis.h"
#include "report/plots.h"

namespace kforge::report {
namespace {

constexpr double kWidth = 420, kHeight = 280, kLeft = 58, kRight = 14, kTop = 14, kBottom = 64, kStrip = 18;

double ended(const TriedCandidate& tried) { return tried.started_s + tried.build_s + tried.judge_s; }

struct Range { double low = 0, high = 0; };

Range time_range(const RunRecord& run, double floor_us) {
  Range range{floor_us > 0 ? floor_us : INFINITY, 0};
  for (const TriedCandidate& tried : run.tried) {
    const double us = microseconds(tried);
    if (us <= 0) continue;
    range.low = std::min(range.low, us);
    range.high = std::max(range.high, us);
  }
  if (range.high > 0 && range.high < range.low * 1.5) range.high = range.low * 1.5;
  return range;
}

Html tick(double x, double y, bool end, const std::string& text) {
  return (end ? Html::figures("<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">", x, y)
              : Html::figures("<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">", x, y)) + Html::text(text) + Html::raw("</text>");
}

Html axes(const Axis& x, const Axis& y) {
  Html out;
  for (const double value : y.ticks(7)) {
    out += Html::figures("<line class=\"grid\" x1=\"{1:.1f}\" x2=\"{2:.1f}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>", y.place(value), x.from(), x.to());
    out += tick(x.from() - 6, y.place(value) + 4, true, time_text(value));
  }
  for (const double value : x.ticks(6)) out += tick(x.place(value), kHeight - kBottom + kStrip + 24, false, fmt::format("{:g} s", value));
  return out;
}

// The best time so far as steps; judged by the run's own list of winners.
Html best_line(const RunRecord& run, const Axis& x, const Axis& y) {
  Html points;
  double last = 0;
  for (const std::string& id : run.winners) {
    const TriedCandidate* tried = run.find(id);
    if (!tried || microseconds(*tried) <= 0) continue;
    const double at = x.place(ended(*tried)), height = y.place(microseconds(*tried));
    if (last > 0) points += Html::figures(" {:.1f},{:.1f}", at, last);
    points += Html::figures(" {:.1f},{:.1f}", at, height);
    last = height;
  }
  if (last > 0) points += Html::figures(" {:.1f},{:.1f}", x.to(), last);
  return points.empty() ? Html() : Html::raw("<polyline class=\"best-line\" points=\"") + points + Html::raw("\"/>");
}

Html mark(const RunRecord& run, const TriedCandidate& tried, const Axis& x, const Axis& y) {
  const double us = microseconds(tried), at = x.place(ended(tried));
  const bool accepted = tried.verdict.status == VerdictStatus::accepted, best = tried.candidate.id == run.winner;
  const Html title = Html::element("title", Html::text(fmt::format("{}: {}{}", move_title(tried.candidate), us > 0 ? time_text(us) + ", " : "", tried.verdict.why)));
  if (us <= 0 || !accepted) {
    const double height = us > 0 ? y.place(us) : kHeight - kBottom + kStrip - 4;
    return Html::figures("<path class=\"cross\" d=\"M{:.1f} {:.1f}l6 6m0 -6l-6 6\">", at - 3, height - 3) + title + Html::raw("</path>");
  }
  const double height = y.place(us);
  const Html circle = best ? Html::figures("<circle class=\"best\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\">", at, height)
                    : tried.reused ? Html::figures("<circle class=\"step reused\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\">", at, height)
                                   : Html::figures("<circle class=\"step\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\">", at, height);
  return circle + title + Html::raw("</circle>");
}

Html floor_line(double floor_us, const Axis& x, const Axis& y) {
  if (floor_us <= 0) return {};
  return Html::figures("<line class=\"roof\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", x.from(), x.to(), y.place(floor_us), y.place(floor_us)) +
         Html::figures("<text class=\"note\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">floor</text>", x.to(), y.place(floor_us) - 4);
}

}  // namespace

Html timeline_plot(const RunRecord& run, const Standing& standing) {
  const Range range = time_range(run, standing.work.floor_us);
  if (run.tried.empty() || range.high <= 0) return {};
  double last = 1;
  for (const TriedCandidate& tried : run.tried) last = std::max(last, ended(tried));
  const Axis x(0, last * 1.02, kLeft, kWidth - kRight, false), y(range.low / 1.25, range.high * 1.25, kHeight - kBottom, kTop, true);
  Html out = axes(x, y);
  out += Html::figures("<rect class=\"strip\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>", x.from(), kHeight - kBottom + 4, x.to() - x.from(), kStrip);
  out += tick(x.from() - 6, kHeight - kBottom + kStrip, true, "no time");
  out += floor_line(standing.work.floor_us, x, y) + best_line(run, x, y);
  for (const TriedCandidate& tried : run.tried) out += mark(run, tried, x, y);
  out += Html::figures("<text class=\"note\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">time of the run</text>", (x.from() + x.to()) / 2, kHeight - 6);
  return Html::figures("<svg class=\"plot\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"Candidates over time\">", kWidth, kHeight) + out + Html::raw("</svg>");
}

Html contribution_bars(const RunRecord& run) {
  double most = 1;
  for (const Contribution& c : run.contributions) most = std::max(most, std::isfinite(c.factor) ? c.factor : 1);
  Html rows;
  for (const Contribution& c : run.contributions) {
    const double part = most > 1 ? std::clamp(std::log(std::max(1.0, c.factor)) / std::log(most), 0.0, 1.0) : 0;
    const Html title = Html::text(c.move.title.empty() ? c.move.id : c.move.title);
    rows += Html::raw("<tr>") + Html::element("td", title + Html::element("span", "sub", Html::text(c.how))) +
            Html::raw("<td class=\"bar-cell\">") + Html::figures("<span class=\"hbar\" style=\"width:{:.1f}%\"></span>", 4 + 96 * part) + Html::raw("</td>") +
            Html::element("td", "num", Html::text(gain_text(c.factor))) + Html::raw("</tr>\n");
  }
  if (rows.empty()) return {};
  return Html::element("table", "bars", Html::raw("<thead><tr><th>Move</th><th class=\"bar-cell\">Slower without it</th><th class=\"num\">Factor</th></tr></thead>") + Html::element("tbody", rows));
}

}  // namespace kforge::report
