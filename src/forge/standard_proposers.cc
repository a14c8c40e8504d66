#include "forge/standard_proposers.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "model/sweep_proposer.h"
#include "propose/template_proposer.h"
#include "propose/transform_proposer.h"

namespace kforge::forge {
namespace {

struct Row {
  std::string_view name;
  std::unique_ptr<propose::Proposer> (*make)();   // null: made elsewhere
};
constexpr std::array<Row, 4> kRows{{{"template", propose::make_template_proposer}, {"transform", propose::make_transform_proposer}, {"sweep", model::make_sweep_proposer}, {"model", nullptr}}};

}  // namespace

bool asks_for(const std::vector<std::string>& names, std::string_view name) { return names.empty() || std::find(names.begin(), names.end(), name) != names.end(); }

Expected<Proposers> standard_proposers(const std::vector<std::string>& names) {
  std::vector<std::string_view> known;
  for (const Row& row : kRows) known.push_back(row.name);
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const auto near = nearest(name, known);
      return fail(ErrorCode::bad_input, fmt::format("there is no proposer '{}'", name), {}, near ? fmt::format("did you mean '{}'?", *near) : "known ones: template, transform, sweep, model");
    }
  Proposers out;
  for (const Row& row : kRows)
    if (row.make && asks_for(names, row.name)) out.push_back(row.make());
  return out;
}

}  // namespace kforge::forge
