// A program that `kforge run` started: what it asked for (KFORGE_RUN), and the report that it is left when the program ends.
//
// KFORGE_RUN is JSON: {"sheet": NAME or PATH, "safety": bool, "forgiving": bool, "profile": bool, "seed": N, "instructions": N (0: no limit), "sites": bool (keep
// the places of allocations), "report": FOLDER}. Every process that uses the runtime writes FOLDER/PID.json: a line of figures, then
// evidence::to_json(LaunchLog). It is
// rewritten when a launch found something new and every few seconds, so that a crash or a kill loses little.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cudart/call_site.h"
#include "emulator/device.h"

namespace kforge::cudart {

class Context;
struct Settings;

class Session {
 public:
  // Reads KFORGE_RUN, once. False when the program was not started by `kforge run`.
  bool begin(Settings& settings);
  bool active() const { return !folder_.empty(); }
  const emulator::Limits& limits() const { return limits_; }

  void add_launch(const emulator::LaunchResult& result);
  // Writes the report if something new is known; at the end always.
  void report(Context& context, bool at_end);
  // Remembers where an allocation, named by its label, was made.
  void remember(const std::string& label);
  // The device goes (cudaDeviceReset): what it saw is kept.
  void keep(Context& context);

 private:
  void write(Context& context, bool at_end);

  std::string folder_;
  bool sites_ = false;                 // whether places of allocations are asked for
  std::map<std::string, std::vector<CallFrame>> places_;   // by label
  emulator::Limits limits_;
  evidence::LaunchLog kept_;           // of earlier devices
  std::uint64_t launches_ = 0, thread_instructions_ = 0;
  double seconds_ = 0;                 // of launches
  std::size_t reported_ = 0;           // violations
  std::chrono::steady_clock::time_point written_;
};

}  // namespace kforge::cudart
