// Which bytes of global memory a launch read and wrote, and where in its source: what the race detector knew when the launch ended.
// Launches run here one after the other, whatever a program's streams allow; two that nothing orders must not touch one byte unless
// both read it, or both access it by strong operations. Whoever knows what orders launches (cudart/stream_races.h) compares footprints.
//
// A byte that several places of a launch touch is remembered for one of them. What exceeds kMostRuns is forgotten: a footprint may
// miss bytes, and names none that was not touched.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "emulator/memory.h"
#include "evidence/source.h"

namespace kforge::emulator {

struct Kernel;

class Footprint {
 public:
  static constexpr std::size_t kMostRuns = std::size_t{1} << 20;
  enum class Touch : std::uint8_t { write, read, strong_write, strong_read };   // as the race detector's planes

  struct Run {
    Address first = 0, end = 0;      // [first, end)
    std::uint32_t location = 0;      // of add(); after name_places an index of places()
  };
  struct Meeting {
    Address address = 0;             // the first byte that both touch
    std::uint32_t mine = 0, theirs = 0;   // places
    bool i_write = false, they_write = false;
  };

  void add(Touch touch, Address first, std::uint64_t bytes, std::uint32_t location);
  // Puts the runs into order and joins neighbours of one location. To be called once, before anything below.
  void settle();
  // Turns locations of the kernel into positions.
  void name_places(const Kernel& kernel);
  // Of work that has one place, or none.
  void name_place(evidence::SourcePosition place) { places_.assign(1, std::move(place)); }
  // What the accesses that come before griddepcontrol.wait touch; everything where the kernel has none. After name_places.
  Footprint before_wait() const;

  evidence::SourcePosition place(std::uint32_t index) const { return index < places_.size() ? places_[index] : evidence::SourcePosition{}; }
  bool empty() const;
  std::size_t run_count() const;
  const std::vector<Run>& runs(Touch touch) const { return runs_[static_cast<std::size_t>(touch)]; }

  // The first byte at which the two conflict; nullopt: none, or the two talk to each other by strong operations on one byte (a flag may then order
  // whatever comes after it).
  std::optional<Meeting> conflict(const Footprint& later) const;

 private:
  std::array<std::vector<Run>, 4> runs_;
  std::vector<evidence::SourcePosition> places_;
  std::vector<bool> early_;          // by place: every access there comes before the kernel's griddepcontrol.wait
};

// Looks for griddepcontrol in the kernel, once when it is loaded; before_wait says of each location whether all the kernel's instructions there lead to a
// griddepcontrol.wait and come after none, on every path.
void note_dependence(Kernel& kernel);
// Whether the kernel lets the next one start before it ends (griddepcontrol.launch_dependents).
bool launches_dependents(const Kernel& kernel);
// Whether it has a griddepcontrol.wait.
bool waits_for_primary(const Kernel& kernel);

}  // namespace kforge::emulator
