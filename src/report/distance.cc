#include "report/distance.h"

#include <fmt/format.h>

#include "base/text.h"

namespace kforge::report {

std::string distance_text(const Standing& s) {
  if (!(s.roofline_fraction > 0)) return {};
  std::string counts = "bound by " + bound_text(s.work.bound);
  if (s.work.bound == "dram" && s.work.write_bytes > 0) counts += fmt::format("; it counts cold reads alone, for the {} of results may stay in L2", human_bytes(s.work.write_bytes));
  return fmt::format("{:.3g} times the floor of {} ({})", 1 / s.roofline_fraction, time_text(s.work.floor_us), counts);
}

}  // namespace kforge::report
