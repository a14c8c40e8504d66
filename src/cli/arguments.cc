#include "cli/arguments.h"

#include <sstream>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "kforge/version.h"

namespace kforge::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  kforge check examples/softmax/task.toml examples/softmax/good.cu\n"
    "  kforge check task.toml mine.cu --gpu a100 --json > verdict.json\n"
    "  kforge gpus\n"
    "Exit codes: 0 accepted, 1 rejected, 2 wrong call or task, 3 something is missing here.";

void add_check(CLI::App& app, CheckArguments& a) {
  auto* check = app.add_subcommand("check", "Judge one candidate kernel against its task's contracts");
  check->add_option("task", a.options.task, "Task file (TOML)")->required();
  check->add_option("candidate", a.options.candidate, "Candidate (.cu); default: naive.cu beside the task file");
  check->add_option("--gpu", a.options.gpu, "GPU data sheet by name or path; default: the task's (kforge gpus lists them)");
  static const std::vector<std::string> only{"correctness"};
  check->add_option("--only", [&a](const CLI::results_t& values) {
         a.options.only_correctness = values.front() == "correctness";
         return a.options.only_correctness;
       }, "Judge only this group of contracts: correctness")->check(CLI::IsMember(only));
  check->add_flag("--json", a.json, "Print the verdict as one JSON document (schema kforge.verdict/1)");
  check->add_flag("--all", a.all, "Print the cases and contracts that passed, too");
  check->add_option("--seed", a.options.seed, "Seed of inputs and of the warp schedule")->capture_default_str();
  check->add_option("--call-seconds", a.options.call_seconds, "Seconds one call may take")->check(CLI::PositiveNumber)->capture_default_str();
  check->add_option("--call-instructions", a.options.call_instructions, "Thread-instructions one call may take")->check(CLI::PositiveNumber)->capture_default_str();
  check->add_option("--measure-instructions", a.options.measure_instructions, "Measure sizes with more thread-instructions run on sampled blocks")
      ->check(CLI::PositiveNumber)->capture_default_str();
  check->footer("Example:\n  kforge check examples/softmax/task.toml examples/softmax/good.cu --gpu h200");
}

void add_gpus(CLI::App& app, GpusArguments& a) {
  auto* gpus = app.add_subcommand("gpus", "List the GPU data sheets");
  gpus->add_option("name", a.name, "Show one GPU");
  gpus->add_flag("--json", a.json, "Print JSON");
  gpus->footer("Example:\n  kforge gpus h200");
}

void add_doctor(CLI::App& app, DoctorArguments& a) {
  auto* doctor = app.add_subcommand("doctor", "Say what this machine has and lacks");
  doctor->add_flag("--json", a.json, "Print JSON");
  doctor->footer("Example:\n  kforge doctor");
}

std::vector<std::string> with_command(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && std::string_view(words.front()).ends_with(".toml")) words.insert(words.begin(), "check");
  return {words.rbegin(), words.rend()};    // CLI11 takes them last first
}

}  // namespace

Invocation parse_arguments(int argc, const char* const* argv) {
  CheckArguments check;
  GpusArguments gpus;
  DoctorArguments doctor;
  CLI::App app("Kernel Forge: forges CUDA kernels that meet their goal, with proof", "kforge");
  app.set_version_flag("--version", std::string("kforge ") + kVersion);
  app.require_subcommand(1);
  app.footer(kFooter);
  add_check(app, check);
  add_gpus(app, gpus);
  add_doctor(app, doctor);
  try {
    app.parse(with_command(argc, argv));
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    const bool answered = app.exit(error, out, err) == 0;
    return Finished{answered ? 0 : 2, out.str(), err.str()};
  }
  if (app.got_subcommand("gpus")) return gpus;
  if (app.got_subcommand("doctor")) return doctor;
  return check;
}

}  // namespace kforge::cli
