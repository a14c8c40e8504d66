// Writes candidates of the kernel templates for a task: template_points TASK FOLDER [TEMPLATE] [COUNT] [SEED] [PATTERN].
// Each template that applies gives its default point and COUNT - 1 others, spread by the seed, as FOLDER/TEMPLATE-N.cu with the parameters in the
// first line; COUNT 0: every point. A COUNT of "threads=256,vector=4;threads=128" asks for these points, other parameters being at their defaults, whether or
// not the template's constraints hold there. Says which templates do not apply and why.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/files.h"
#include "base/text.h"
#include "hardware/data_sheet.h"
#include "propose/search.h"
#include "propose/template_proposer.h"
#include "task/random.h"

using namespace kforge;

namespace {

int complain(const Error& error) {
  std::fprintf(stderr, "%s\n", to_string(error).c_str());
  return 2;
}

std::string parameters_text(const Candidate& candidate) {
  std::string text;
  for (const auto& [name, value] : candidate.parameters) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

// "threads=256,vector=4" over the defaults.
propose::Values values_of(const propose::Template& made, std::string_view text) {
  propose::Values values;
  for (const propose::TemplateParameter& p : made.parameters) values[p.name] = p.standard;
  for (const std::string_view entry : split(text, ',')) {
    const std::size_t equals = entry.find('=');
    if (equals == entry.npos) continue;
    values[std::string(trim(entry.substr(0, equals)))] = parse_integer(trim(entry.substr(equals + 1))).value_or(0);
  }
  return values;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fprintf(stderr, "template_points TASK FOLDER [TEMPLATE|all] [COUNT] [SEED] [PATTERN]\n");
    return 2;
  }
  const auto task = task::read_task(arguments[1]);
  if (!task) return complain(task.error());
  const auto sheet = hardware::find_sheet(task->gpu);
  if (!sheet) return complain(sheet.error());
  const std::string folder = arguments[2], only = count > 3 ? arguments[3] : "all";
  const std::string points = count > 4 && std::string_view(arguments[4]).find('=') != std::string_view::npos ? arguments[4] : "";
  const std::size_t wanted = count > 4 ? std::strtoull(arguments[4], nullptr, 10) : 1;
  const std::uint64_t seed = count > 5 ? std::strtoull(arguments[5], nullptr, 10) : 1;
  Plan plan;
  plan.guess.pattern = count > 6 ? arguments[6] : task->pattern.empty() ? "unknown" : task->pattern;
  if (auto made = make_directories(folder); !made) return complain(made.error());
  std::vector<std::string> why_not;
  for (const propose::Applied& applied : propose::applied_templates(*task, *sheet, plan, &why_not)) {
    if (only != "all" && only != applied.made.name) continue;
    std::printf("%s: %zu points\n", applied.made.name.c_str(), applied.space.size());
    const auto write = [&](const propose::Values& values, std::size_t i) -> Expected<void> {
      const auto candidate = propose::candidate_at(applied, values);
      if (!candidate) return tl::unexpected(candidate.error());
      return write_file_atomic(folder + "/" + applied.made.name + "-" + std::to_string(i) + ".cu", "// " + parameters_text(*candidate) + "\n" + candidate->source);
    };
    if (!points.empty()) {
      std::size_t i = 0;
      for (const std::string_view point : split(points, ';'))
        if (auto done = write(values_of(applied.made, point), i++); !done) return complain(done.error());
      continue;
    }
    const std::size_t number = wanted == 0 ? applied.space.size() : std::min(wanted, applied.space.size());
    for (std::size_t i = 0; i < number; ++i) {
      const std::size_t point = wanted == 0 ? i : i == 0 ? propose::standard_point(applied) : task::CounterRandom(seed).below(i, applied.space.size());
      if (auto done = write(applied.space.values(point), i); !done) return complain(done.error());
    }
  }
  for (const std::string& line : why_not) std::printf("not %s\n", line.c_str());
  return 0;
}
