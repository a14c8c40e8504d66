// The plots of a run as inline SVG. Colours are classes of the page's style, so that they follow light and dark.
#pragma once

#include "report/figures.h"
#include "report/html.h"

namespace kforge::report {

// The GPU's roofs over arithmetic intensity, with baseline and successive winners; for work without arithmetic, bandwidths as bars.
// Empty when the data sheet is not known or nothing was timed.
Html roofline_plot(const RunRecord& run, const Standing& standing);

// Each candidate's time over the time of the run, logarithmic; rejected ones stand in a strip of their own; the best so far is a line.
Html timeline_plot(const RunRecord& run, const Standing& standing);

// Bars of the contributions: how much slower the winner is without each move.
Html contribution_bars(const RunRecord& run);

}  // namespace kforge::report
