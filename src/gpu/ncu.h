// Nsight Compute's raw page as values: one row a kernel launch, a column a metric.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kforge::gpu {

struct CounterRow {
  std::string kernel;                        // as ncu prints it
  std::map<std::string, double> metrics;     // what is missing or no number is absent
};

struct NcuReport {
  std::vector<CounterRow> rows;
  int passes = 0;                            // how often ncu ran the kernel that took most runs; 0: not told
  std::string trouble;                       // why there are none: no permission, another version, ...; "" when there are
};

// The output of `ncu --csv --page raw --print-units base`: lines of ncu's own ("==PROF== ...") and of the program around a header, a line of units, and rows.
NcuReport read_ncu(std::string_view text);

}  // namespace kforge::gpu
