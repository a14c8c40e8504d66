// The roofline as inline SVG: attainable rate over intensity, both axes logarithmic, candidates as points.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "hardware/data_sheet.h"
#include "hardware/roofline.h"
#include "report/axis.h"
#include "report/plots.h"

namespace kforge::report {
namespace {

constexpr double kWidth = 420, kHeight = 320, kLeft = 52, kRight = 14, kTop = 16, kBottom = 46;

struct Mark {
  std::string name, title;     // "baseline", "winner"
  double us = 0;
  const char* kind = "";       // class: base, step, best
};

// Baseline, then successive winners, the last of them the best.
std::vector<Mark> marks_of(const RunRecord& run, const Standing& s) {
  std::vector<Mark> marks;
  if (s.baseline_us > 0) marks.push_back({"baseline", move_title(s.baseline->candidate), s.baseline_us, "base"});
  for (const std::string& id : run.winners) {
    const TriedCandidate* tried = run.find(id);
    if (!tried || id == run.baseline || id == run.winner || microseconds(*tried) <= 0) continue;
    marks.push_back({"", move_title(tried->candidate), microseconds(*tried), "step"});
  }
  if (s.winner_us > 0 && s.winner != s.baseline) marks.push_back({"winner", move_title(s.winner->candidate), s.winner_us, "best"});
  return marks;
}

struct Roofs {
  double dram = 0, l2 = 0;       // bytes per second
  double compute = 0;            // operations per second
  std::string compute_name;
};

Roofs roofs_of(const hardware::DataSheet& sheet, const RunWork& work) {
  Roofs roofs{sheet.dram_bytes_per_s, sheet.l2_bytes_per_s, hardware::fp32_ops_per_s(sheet), "FP32"};
  const double fp64 = 2 * sheet.fp64_lanes * sheet.multiprocessors * sheet.boost_mhz * 1e6;
  if (work.bound == "tensor") roofs.compute = hardware::tensor_ops_per_s(sheet, "f16"), roofs.compute_name = "tensor f16";
  if (work.bound == "fp64" && fp64 > 0) roofs.compute = fp64, roofs.compute_name = "FP64";
  return roofs;
}

Html label(double x, double y, const char* kind, const std::string& text) {
  const std::string_view which = kind;
  Html open = which == "axis-x" ? Html::figures("<text class=\"tick\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">", x, y)
            : which == "axis-y" ? Html::figures("<text class=\"tick\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">", x, y)
            : which == "end"    ? Html::figures("<text class=\"note\" text-anchor=\"end\" x=\"{:.1f}\" y=\"{:.1f}\">", x, y)
            : which == "middle" ? Html::figures("<text class=\"note\" text-anchor=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">", x, y)
                                : Html::figures("<text class=\"note\" x=\"{:.1f}\" y=\"{:.1f}\">", x, y);
  return open + Html::text(text) + Html::raw("</text>");
}

Html grid(const Axis& x, const Axis& y) {
  Html out;
  for (const double tick : x.ticks()) {
    out += Html::figures("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>", x.place(tick), y.from(), y.to());
    out += label(x.place(tick), y.from() + 15, "axis-x", short_number(tick));
  }
  for (const double tick : y.ticks()) {
    out += Html::figures("<line class=\"grid\" x1=\"{1:.1f}\" x2=\"{2:.1f}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>", y.place(tick), x.from(), x.to());
    out += label(x.from() - 6, y.place(tick) + 4, "axis-y", short_number(tick));
  }
  return out;
}

// Segments of min(bandwidth * intensity, compute).
Html roof(const Axis& x, const Axis& y, double bandwidth, double compute, bool main) {
  const double ridge = compute / bandwidth;
  const double left = x.low(), right = x.high();
  const auto height = [&](double intensity) { return std::max(y.low(), std::min(bandwidth * intensity, compute)); };
  const double from = std::max(left, y.low() / bandwidth), corner = std::clamp(ridge, from, right);
  Html points = Html::figures("{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}", x.place(from), y.place(height(from)), x.place(corner), y.place(height(corner)), x.place(right), y.place(height(right)));
  return (main ? Html::raw("<polyline class=\"roof\" points=\"") : Html::raw("<polyline class=\"roof soft\" points=\"")) + points + Html::raw("\"/>");
}

Html point(double x, double y, const Mark& mark, const std::string& figure) {
  const std::string_view kind = mark.kind;
  Html shape = kind == "best" ? Html::figures("<circle class=\"best\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\">", x, y)
             : kind == "base" ? Html::figures("<circle class=\"base\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\">", x, y)
                              : Html::figures("<circle class=\"step\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\">", x, y);
  shape += Html::element("title", Html::text(mark.title + ": " + figure)) + Html::raw("</circle>");
  if (!mark.name.empty()) shape += label(x + 9, y + 4, "start", mark.name);
  return shape;
}

Html frame(const Html& content, const char (&title)[16]) {
  return Html::figures("<svg class=\"plot\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"", kWidth, kHeight) + Html::text(title) + Html::raw("\">") + content + Html::raw("</svg>");
}

// The intensity at which the slope is named, below it on its right: near the ridge, but where the candidates stand there.
double named_at(double intensity, double ridge, double lowest) {
  constexpr double kRoom = 30;   // times the intensity: how far the words reach
  const double near_ridge = ridge / 3;
  return intensity < near_ridge / 2 || intensity > near_ridge * kRoom ? near_ridge : lowest * 2;
}

Html roofline(const Roofs& roofs, const RunWork& work, const std::vector<Mark>& marks) {
  const double intensity = work.operations / work.cold_bytes(), ridge = roofs.compute / roofs.dram;
  double lowest = std::min(roofs.compute, intensity * roofs.dram);
  for (const Mark& mark : marks) lowest = std::min(lowest, work.operations / (mark.us * 1e-6));
  const Axis x(std::min(intensity, ridge) / 8, std::max(intensity, ridge) * 8, kLeft, kWidth - kRight, true);
  const Axis y(lowest / 3, roofs.compute * 2, kHeight - kBottom, kTop, true);
  Html out = grid(x, y) + roof(x, y, roofs.l2, roofs.compute, false) + roof(x, y, roofs.dram, roofs.compute, true);
  out += Html::figures("<line class=\"here\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>", x.place(intensity), y.from(), y.place(std::min(roofs.compute, intensity * roofs.dram)));
  out += label(kWidth - kRight, y.place(roofs.compute) - 5, "end", roofs.compute_name + " " + engineering(roofs.compute, "FLOP/s"));
  const double at = std::max(named_at(intensity, ridge, x.low()), std::min(3 * y.low() / roofs.dram, 0.6 * ridge));   // well above the axis
  out += label(x.place(at) + 8, y.place(at * roofs.dram) + 13, "start", "DRAM " + engineering(roofs.dram, "B/s"));
  for (const Mark& mark : marks) {
    const double rate = work.operations / (mark.us * 1e-6);
    out += point(x.place(intensity), y.place(rate), mark, time_text(mark.us) + ", " + engineering(rate, "FLOP/s"));
  }
  out += label((kLeft + kWidth - kRight) / 2, kHeight - 8, "middle", "operations per compulsory byte read");
  out += Html::figures("<text class=\"note\" text-anchor=\"middle\" transform=\"rotate(-90)\" x=\"{:.1f}\" y=\"11\">", -(kTop + kHeight - kBottom) / 2) + Html::raw("operations per second</text>");
  return frame(out, "Roofline figure");
}

// For data movement alone.
Html bandwidths(const Roofs& roofs, const RunWork& work, const std::vector<Mark>& marks) {
  const Axis x(0, roofs.dram * 1.08, kLeft + 36, kWidth - kRight, false);
  const double row = std::min(34.0, (kHeight - kTop - kBottom) / static_cast<double>(marks.size() + 1));
  Html out;
  const double bottom = kTop + row * static_cast<double>(marks.size()) + 6;
  for (const double tick : x.ticks(5)) {
    out += Html::figures("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>", x.place(tick), kTop - 4, bottom);
    out += label(x.place(tick), bottom + 15, "axis-x", short_number(tick));
  }
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const double rate = work.cold_bytes() / (marks[i].us * 1e-6), top = kTop + row * static_cast<double>(i);
    const bool best = std::string_view(marks[i].kind) == "best";
    out += best ? Html::figures("<rect class=\"bar best\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>", x.from(), top, std::max(1.0, x.place(rate) - x.from()), row * 0.62)
                : Html::figures("<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>", x.from(), top, std::max(1.0, x.place(rate) - x.from()), row * 0.62);
    out += label(x.from() - 6, top + row * 0.45, "axis-y", marks[i].name.empty() ? "step" : marks[i].name);
    const bool inside = x.place(rate) > kWidth - 120;
    out += label(inside ? kWidth - kRight - 8 : x.place(rate) + 6, top + row * 0.45, inside ? "end" : "start", engineering(rate, "B/s"));
  }
  out += Html::figures("<line class=\"roof\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>", x.place(roofs.dram), kTop - 8, bottom);
  out += label(x.place(roofs.dram), kTop - 10 + 4, "end", "DRAM " + engineering(roofs.dram, "B/s"));
  out += label((x.from() + x.to()) / 2, bottom + 36, "middle", "compulsory bytes read per second");
  return Html::figures("<svg class=\"plot\" viewBox=\"0 -8 {:.0f} {:.0f}\" role=\"img\" aria-label=\"Bandwidth figure\">", kWidth, bottom + 52) + out + Html::raw("</svg>");
}

}  // namespace

Html roofline_plot(const RunRecord& run, const Standing& standing) {
  const auto sheet = hardware::find_sheet(run.gpu);
  const std::vector<Mark> marks = marks_of(run, standing);
  if (!sheet || marks.empty() || standing.work.bytes() <= 0) return {};
  const Roofs roofs = roofs_of(*sheet, standing.work);
  if (standing.work.operations <= 0 || roofs.compute <= 0) return bandwidths(roofs, standing.work, marks);
  return roofline(roofs, standing.work, marks);
}

}  // namespace kforge::report
