// The time model beside an NVIDIA H200: every duration of bench/results/h200-examples.jsonl against what is modelled for the same kernel, sizes and
// sheet. Prints the table of docs/time-model.md. Nothing here needs a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "build/builder.h"
#include "evidence/launch_log_bytes.h"
#include "example_runner.h"
#include "judge/modelled_time.h"
#include "trial/trial.h"

namespace kforge::h200 {
namespace {

struct Point {
  std::string name;
  double measured = 0, modelled = 0;
  std::string terms;
  double error() const { return modelled / measured; }
};

hardware::ModelledTime model(const std::string& task_file, const std::string& source, const task::Sizes& sizes) {
  const task::Task task = need(task::read_task(task_file));
  build::CandidateRequest request;
  request.source = source;
  request.interface = trial::interface_of(task);
  request.flags = task.flags;
  const build::Artefact artefact = need(build::build_candidate(request));
  if (!artefact.ok) stop(source + " does not build");
  Runner runner(KFORGE_BINARY_DIR "/bin/libkforge_cudart.so", artefact.shared_object, true);
  const auto jobs = every_job(task);
  const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const trial::Job& j) { return j.run.measure && j.run.sizes == sizes; });
  if (job == jobs.end()) stop(source + " is not measured at these sizes");
  runner.call(task, sizes, need(trial::make_inputs(task, job->run, true)));
  evidence::LaunchLog log;
  if (std::string error; !evidence::from_bytes(runner.log(), log, error)) stop(error);
  const hardware::DataSheet sheet = need(hardware::find_sheet("h200"));
  judge::PerformanceInput input;
  input.task = &task;
  input.sheet = &sheet;
  input.reports = &artefact.kernels;
  input.kernels = &log.kernels;
  judge::add_tensor_bytes(input, sizes);
  const auto time = judge::modelled_time(input);
  if (!time) stop(source + " has no modelled time");
  return *time;
}

std::vector<Point> all_points() {
  std::vector<Point> points;
  std::ifstream lines(KFORGE_SOURCE_DIR "/bench/results/h200-examples.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const auto row = nlohmann::json::parse(line);
    Point point{row.at("name"), row.at("us"), 0, ""};
    const std::size_t dash = point.name.find('-');
    const std::string folder = KFORGE_SOURCE_DIR "/examples/" + point.name.substr(0, dash);
    const auto time = model(folder + "/task.toml", folder + "/" + point.name.substr(dash + 1) + ".cu", row.at("sizes").get<task::Sizes>());
    point.modelled = time.us;
    for (std::size_t i = 0; i < std::min<std::size_t>(4, time.terms.size()); ++i) point.terms += fmt::format("{} {:.1f}{}", time.terms[i].name, time.terms[i].us, i < 3 ? ", " : "");
    points.push_back(point);
  }
  return points;
}

// Of Spearman: 1 when both orders are the same.
double rank_correlation(const std::vector<Point>& points) {
  const auto rank = [&](double Point::*field, const Point& p) {
    return static_cast<double>(std::count_if(points.begin(), points.end(), [&](const Point& q) { return q.*field < p.*field; }));
  };
  double squares = 0;
  for (const Point& p : points) squares += std::pow(rank(&Point::measured, p) - rank(&Point::modelled, p), 2);
  const auto n = static_cast<double>(points.size());
  return 1 - 6 * squares / (n * (n * n - 1));
}

TEST(TimeModelOnH200, FollowsWhatWasMeasured) {
  const std::vector<Point> points = all_points();
  ASSERT_EQ(points.size(), 18u);
  double logs = 0;
  int near = 0;
  for (const Point& p : points) {
    std::cout << fmt::format("| {:18} | {:7.1f} | {:7.1f} | {:4.2f} | {} |\n", p.name, p.measured, p.modelled, p.error(), p.terms);
    logs += std::abs(std::log(p.error()));
    near += p.error() > 1 / 1.5 && p.error() < 1.5;
  }
  const double geometric = std::exp(logs / static_cast<double>(points.size())), ranks = rank_correlation(points);
  std::cout << fmt::format("within a factor 1.5: {} of {}; mean factor {:.2f}; rank correlation {:.3f}\n", near, points.size(), geometric, ranks);
  EXPECT_GE(near, 14);
  EXPECT_LE(geometric, 1.35);
  EXPECT_GE(ranks, 0.95);
  for (const Point& naive : points) {
    if (!naive.name.ends_with("-naive")) continue;
    const auto good = std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.name == naive.name.substr(0, naive.name.find('-')) + "-good"; });
    ASSERT_NE(good, points.end());
    EXPECT_GT(naive.modelled, 1.5 * good->modelled) << naive.name;
  }
}

}  // namespace
}  // namespace kforge::h200
