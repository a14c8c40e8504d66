#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "kforge/doctor.h"

namespace kforge::cli {

int run(const DoctorArguments& arguments) {
  const auto rows = doctor();
  bool complete = true;
  auto json = nlohmann::ordered_json::array();
  for (const DoctorRow& row : rows) {
    complete = complete && (row.found || !row.needed);
    if (arguments.json) {
      json.push_back({{"name", row.name}, {"needed", row.needed}, {"found", row.found}, {"detail", row.detail}, {"how_to_get", row.how_to_get}});
      continue;
    }
    fmt::print("{:<8} {:<18} {}\n", row.found ? "found" : row.needed ? "MISSING" : "missing", row.name, row.detail);
    if (!row.found) fmt::print("{:27} {}\n", "", row.how_to_get);
  }
  if (arguments.json) fmt::print("{}\n", json.dump(2));
  return complete ? 0 : 3;
}

}  // namespace kforge::cli
