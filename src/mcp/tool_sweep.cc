#include <fmt/format.h>

#include "base/text.h"
#include "kforge/sweep.h"
#include "mcp/tool_words.h"

namespace kforge::mcp {

Expected<Answer> sweep_parameters(const ToolCall& call) {
  constexpr std::size_t kShown = 8;
  auto options = check_options(call);
  if (!options) return Unexpected(options.error());
  if (options->candidate.empty()) return fail(ErrorCode::bad_input, "a sweep needs a candidate's path or its source");
  SweepOptions wanted;
  wanted.check = *options;
  wanted.points = static_cast<std::uint64_t>(call.integer("points", 16));
  for (const auto& [name, values] : (*call.arguments)["parameters"].items())
    for (const Json& value : values) wanted.parameters[name].push_back(value.is_string() ? value.get<std::string>() : value.dump());
  const auto points = sweep(wanted);
  if (!points) return Unexpected(points.error());
  Answer answer;
  answer.data["points"] = Json::array();
  for (const SweepPoint& point : *points) {
    Json values = Json::object();
    std::vector<std::string> words;
    for (const auto& [name, value] : point.values) {
      values[name] = value;
      words.push_back(name + "=" + value);
    }
    if (answer.data["points"].size() < kShown)
      answer.text += fmt::format("{:<9} {:>12} {}: {}\n", point.status, point.us > 0 ? fmt::format("{:.4g} us", point.us) : "no time", join(words, " "), point.why);
    answer.data["points"].push_back({{"values", std::move(values)}, {"status", point.status}, {"us", point.us > 0 ? Json(point.us) : Json(nullptr)}, {"why", point.why}});
  }
  if (points->size() > kShown) answer.text += fmt::format("and {} more, in the structured answer\n", points->size() - kShown);
  if (points->front().status == "accepted") add_link(answer, call.workspace->keep("source", "text/x-cuda", "the source of the best point", points->front().source));
  return answer;
}

}  // namespace kforge::mcp
