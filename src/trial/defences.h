// What stands between a hostile candidate and an undeserved verdict, one row a defence.
//
// Tests switch single ones off ($KFORGE_DEFENCES_OFF) to show that a cheat then succeeds: that the defence, and no accident, is what stops it. A verdict
// that was reached without one says so.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kforge::trial {

enum class Defence : std::uint8_t {
  files, privileges, calls,                                      // of the sandbox (sandbox.h)
  symbols, imports, libraries,                                   // of the object
  allow, order, coverage, inputs, manners,                       // of what a call does
  poison, repeat, sizes, seeds, degenerate, precision,           // of what comes out of it
  quiet, verify, fresh, clock, witness, physics, persistence, threads,    // of its time
};

struct DefenceRow {
  Defence defence;
  std::string_view name, what;   // what is true while it is on
};
std::span<const DefenceRow> defence_table();

class Defences {
 public:
  Defences() = default;          // all on
  // "poison,verify" leaves these out; "" none. Errors: bad_input for a name that is not in the table.
  static Expected<Defences> without(std::string_view names);

  bool on(Defence defence) const { return !off_[static_cast<std::size_t>(defence)]; }
  std::vector<std::string> names_off() const;

 private:
  std::bitset<32> off_;
};

}  // namespace kforge::trial
