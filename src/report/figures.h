// What a report says about a run in numbers: computed once, shown by every form.
#pragma once

#include <string>
#include <vector>

#include "kforge/run.h"

namespace kforge::report {

// The plan's sizes together: a run's time is the sum over the measure sizes, so its floor is one too.
struct RunWork {
  double operations = 0, read_bytes = 0, write_bytes = 0;
  double floor_us = 0, target_us = 0;
  std::string bound;              // of the size with the largest floor
  double bytes() const { return read_bytes + write_bytes; }
  // What must come from DRAM: inputs, once. Outputs may stay in L2 (contracts.md, "Facts").
  double cold_bytes() const { return read_bytes > 0 ? read_bytes : bytes(); }
};
RunWork work_of(const Plan& plan);
// What the floor counts, in words.
std::string floor_text(const RunWork& work);

// Amdahl's law for the task's [program].
struct ProgramGain {
  bool stated = false;
  double share = 0, total_us = 0;
  double kernel_speedup = 1, speedup = 1;
  double limit = 1;               // with a kernel that takes no time; infinite for share 1
  double total_after_us = 0;
};

struct Standing {
  const TriedCandidate* baseline = nullptr;
  const TriedCandidate* winner = nullptr;
  RunWork work;
  double baseline_us = 0, winner_us = 0;   // 0: not timed
  double speedup = 0;                      // baseline over winner; 0: unknown
  double roofline_fraction = 0;            // floor over winner; 0: unknown
  std::string start_fault;                 // why the kernel that the run started from is wrong; "" when it is right or there is none
  std::string time_source;                 // "modelled", "measured", "": of the winner
  std::string bottleneck;                  // of the winner, in plain words; "" when not known
  ProgramGain program;
};
Standing standing_of(const RunRecord& run);
// Whose verdict a report shows: the winner, else the best right one, else the last one tried; null for an empty run.
const TriedCandidate* shown_of(const RunRecord& run);

double microseconds(const TriedCandidate& tried);   // 0: no time
// The candidate's source by the name that its findings use; "" when the run does not hold it.
std::string_view source_of(const RunRecord& run, const std::string& candidate_id);
std::string sizes_text(const PlanSize& size);       // "rows=4096 cols=1024"
std::string bound_text(const std::string& bound);   // "dram" is "DRAM bandwidth"
std::string time_text(double us);                   // "12.3 us"; "-" for 0
std::string gain_text(double factor);               // "3.14x"; "-" for 0
std::string short_id(const std::string& id);        // the first eight characters
std::string move_title(const Candidate& candidate); // never empty

}  // namespace kforge::report
