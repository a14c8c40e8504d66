#include "cli/arguments.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/run_words.h"
#include "kforge/version.h"

namespace kforge::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  kforge examples/softmax/task.toml\n"
    "  kforge optimize task.toml --from slow.cu -o fast.cu\n"
    "  kforge check task.toml mine.cu --gpu a100 --json > verdict.json\n"
    "  kforge run program.cu -- 1024\n"
    "  kforge runs last --tree\n"
    "Exit codes: 0 done (accepted, goal met), 1 the answer is no, 2 wrong call or task, 3 something is missing here.";

// A number and nothing else: no sign of a whole one, no "nan", no "inf", nothing after it.
struct Numbers { CLI::Validator positive, not_negative, whole, whole_positive; };

const Numbers& numbers() {
  static const Numbers all = [] {
    const auto of = [](const char* what, auto accepts) {
      return CLI::Validator([what, accepts](std::string& text) { return accepts(text) ? std::string() : fmt::format("'{}' is not {}", text, what); }, "");
    };
    const auto real = [](const std::string& text, double least) {
      const auto value = parse_double(text);
      return value && std::isfinite(*value) && *value >= least;
    };
    const auto digits = [](const std::string& text) { return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos; };
    return Numbers{of("a positive number", [=](const std::string& text) { return real(text, std::numeric_limits<double>::min()); }),
                   of("a number of 0 or more", [=](const std::string& text) { return real(text, 0); }),
                   of("a whole number below 2^64", [=](const std::string& text) { return digits(text) && parse_unsigned(text).has_value(); }),
                   of("a whole number of 1 or more, below 2^64", [=](const std::string& text) { return digits(text) && parse_unsigned(text).value_or(0) > 0; })};
  }();
  return all;
}

// No word of the command line may be empty: an empty one is a variable that was not set. Options that are numbers take numbers and nothing else, whatever
// they check besides.
void be_strict(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) continue;
    const std::string type = option->get_type_name();
    if (type.starts_with("UINT")) option->check(numbers().whole);
    if (type.starts_with("FLOAT")) option->check(numbers().not_negative);
    option->check(CLI::Validator([](std::string& text) { return text.empty() ? std::string("an empty argument; was a variable not set?") : std::string(); }, ""));
  }
  for (CLI::App* command : app.get_subcommands({})) be_strict(*command);
}

// Why the first word is no command, "" when it is one, or an option.
std::string unknown_command(const CLI::App& app, const std::string& word) {
  if (word.starts_with('-')) return {};
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), word) != names.end()) return {};
  if (word.ends_with(".cu")) return fmt::format("'{}' is a kernel, and a command was expected: kforge check TASK.toml {}, or kforge run {}", word, word, word);
  const auto near = nearest(word, names);
  return fmt::format("there is no command '{}'; {}", word, near ? "did you mean '" + *near + "'?" : "the commands are " + join(names, ", "));
}

void add_device(CLI::App* command, std::string& device) {
  command->add_option("--device", device, "Where kernels run: emulator (default); gpu or gpu:N of this machine besides (gpu:all for many candidates: a folder, optimize, bench); 'cmd:COMMAND' leaves it to a kforge worker")->option_text("DEVICE");
}

void add_sheet(CLI::App* command, std::string& gpu) { command->add_option("--gpu", gpu, "GPU data sheet by name or path; default: the task's (kforge gpus lists them)"); }

void add_store(CLI::App* command, std::string& store) { command->add_option("--store", store, "Folder of the store; default: $KFORGE_STORE, else .kforge/store"); }

CLI::App* add(CLI::App& app, CheckArguments& a) {
  auto* check = app.add_subcommand("check", "Judge one candidate kernel against its task's contracts");
  check->add_option("task", a.options.task, "Task file (TOML)")->required();
  check->add_option("candidate", a.options.candidate, "Candidate (.cu), or a folder of them; default: naive.cu beside the task file");
  check->add_option("--out", a.out, "Folder for the verdicts of a folder of candidates; a call that was cut off goes on there");
  check->add_option("--jobs", a.jobs, "Candidates of a folder judged at once; 0: one a core")->capture_default_str();
  add_sheet(check, a.options.gpu);
  add_device(check, a.options.device);
  check->add_option("--time-seconds", a.options.time_seconds, "Seconds for the timed calls of one measure size")->check(numbers().positive)->capture_default_str();
  check->add_flag("--warm", a.options.warm, "Time with a warm L2 cache; default: cold");
  check->add_flag("--sanitize", a.options.sanitize, "With a GPU: run compute-sanitizer's tools on one case");
  check->add_flag("--counters", a.options.counters, "With a GPU: read hardware counters with ncu");
  static const std::vector<std::string> only{"correctness"};
  check->add_option("--only", [&a](const CLI::results_t& values) {
         a.options.only_correctness = values.front() == "correctness";
         return a.options.only_correctness;
       }, "Judge only this group of contracts: correctness")->type_name("GROUP")->check(CLI::IsMember(only));
  check->add_flag("--json", a.json, "Print the verdict as one JSON document (schema kforge.verdict/1)");
  check->add_flag("--all", a.all, "Print the cases and contracts that passed, too");
  check->add_flag("--watch", a.watch, "Judge again whenever the candidate or the task changes, until interrupted; with --json one document a line");
  check->add_option("--seed", a.options.seed, "Seed of inputs and of the warp schedule")->capture_default_str();
  check->add_option("--fresh-seed", a.options.fresh_seed, "Seed of the inputs that no candidate can know; 0: drawn anew, and told in the verdict")->capture_default_str();
  check->add_option("--call-seconds", a.options.call_seconds, "Seconds one call may take")->check(numbers().positive)->capture_default_str();
  check->add_option("--call-instructions", a.options.call_instructions, "Thread-instructions one call may take")->check(numbers().whole_positive)->capture_default_str();
  check->add_option("--measure-instructions", a.options.measure_instructions, "Measure sizes with more thread-instructions run on sampled blocks")
      ->check(numbers().whole_positive)->capture_default_str();
  check->final_callback([&a] {
    if (a.options.task.ends_with(".cu") || a.options.candidate.ends_with(".toml"))
      throw CLI::ValidationError("check", fmt::format("the task file comes first: kforge check {} {}", a.options.candidate.ends_with(".toml") ? a.options.candidate : "TASK.toml", a.options.task));
  });
  check->footer("Examples:\n  kforge check examples/softmax/task.toml examples/softmax/good.cu --gpu h200\n  kforge check task.toml candidates/ --out verdicts");
  return check;
}

CLI::App* add(CLI::App& app, ProfileArguments& a) {
  auto* profile = app.add_subcommand("profile", "Say what a candidate's kernels did: counters per kernel and per source line");
  profile->add_option("task", a.options.task, "Task file (TOML)")->required();
  profile->add_option("candidate", a.options.candidate, "Candidate (.cu); default: naive.cu beside the task file");
  add_sheet(profile, a.options.gpu);
  add_device(profile, a.options.device);
  profile->add_option("--measure-instructions", a.options.measure_instructions, "Measure sizes with more thread-instructions run on sampled blocks")
      ->check(numbers().whole_positive)->capture_default_str();
  profile->add_option("--seed", a.options.seed, "Seed of inputs and of the warp schedule")->capture_default_str();
  profile->add_flag("--all", a.all, "Print every metric of each kernel");
  profile->add_option("--code", a.code, "Print the code in place of figures: ptx, as nvcc made it; sass, machine code with the lines of the source (needs nvdisasm)")->check(CLI::IsMember({"ptx", "sass"}));
  profile->add_option("--format", a.format, "text, json, markdown, or html: the verdict's page with figures beside the lines")->check(CLI::IsMember({"text", "json", "markdown", "html"}))->capture_default_str();
  profile->add_flag_callback("--json", [&a] { a.format = "json"; }, "Print JSON (schema kforge.profile/1), with Nsight Compute's metric names");
  profile->footer("With a GPU it also says where warps wait, by ncu's samples.\nExamples:\n  kforge profile examples/transpose/task.toml examples/transpose/bad/bank_conflicts.cu\n  kforge profile task.toml mine.cu --device gpu:0");
  return profile;
}

// "2e9", "60s", "2e9,60s".
bool read_limit(const std::string& text, ProgramOptions& options) {
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const bool seconds = word.ends_with('s');
    const auto value = parse_double(std::string_view(word).substr(0, word.size() - (seconds ? 1 : 0)));
    if (!value || !(*value > 0) || *value > 1e18) return false;
    if (seconds) options.limit_seconds = *value;
    else options.limit_instructions = static_cast<std::uint64_t>(*value);
  }
  return !text.empty() && text.back() != ',';
}

CLI::App* add(CLI::App& app, RunArguments& a) {
  auto* run = app.add_subcommand("run", "Run any CUDA program on the emulated GPU: kforge run PROGRAM.cu [more.cu ...] [OPTIONS, nvcc's too] [-- ARGS]");
  run->add_option("program", a.options.files, "Sources (.cu, .cpp, .c; objects and libraries are linked), or a program that links the shared libcudart.so.13 or .12")->required();
  run->add_option("--gpu", a.options.gpu, "GPU data sheet by name or path (kforge gpus lists them)")->capture_default_str();
  std::string names;
  for (const ProgramCheck& check : program_checks()) names += (names.empty() ? "" : ", ") + check.name + (check.fast ? " (fast)" : "");
  run->add_option("--checks", a.options.checks, "none, fast, all, or some of these with commas between: " + names)->capture_default_str();
  run->add_flag("--stats", a.stats, "Say how many kernels and thread-instructions ran, and how fast (stderr)");
  run->add_option_function<std::string>("--profile", [&a](const std::string& file) {
    a.profile = file;
    a.options.profile = true;
  }, "Write a profile per kernel and source line as JSON, with Nsight Compute's metric names");
  run->add_option("--seed", a.options.seed, "Seed of the warp schedule")->capture_default_str();
  run->add_option_function<std::string>("--limit", [&a](const std::string& text) {
    if (!read_limit(text, a.options)) throw CLI::ValidationError("--limit", fmt::format("expected a number of thread-instructions (2e9), of seconds (60s), or both (2e9,60s), each above 0, and found '{}'; without --limit there is none", text));
  }, "Most thread-instructions on the GPU, or seconds of the program, or both: 2e9, 60s, 2e9,60s");
  run->footer("nvcc's options (-I, -D, -std=, -O, -l, -Xcompiler, -rdc, --expt-..., --extended-lambda, ...) go to nvcc; what stands after -- goes to the program.\n"
              "The program's output and exit code pass through; 86 when a check found an error, 125 when the program could not be run, 2 for a wrong call.\n"
              "Examples:\n  kforge run vector_add.cu\n  kforge run main.cu kernels.cu -Iinclude -std=c++20 --checks all -- --size 1024\n"
              "  kforge run ./program --gpu a100 --stats --profile profile.json -- input.dat");
  return run;
}

CLI::App* add(CLI::App& app, BenchArguments& a) {
  auto* bench = app.add_subcommand("bench", "Time kernels of one task against each other on a real GPU");
  BenchOptions& o = a.options;
  bench->add_option("task", o.task, "Task file (TOML)")->required();
  bench->add_option("candidates", o.candidates, "Candidates (.cu)");
  bench->add_option("--with", o.baselines, "Also a library: cublas, cublaslt, cub, cudnn, pytorch, pytorch-compile; several with commas")->delimiter(',')->check(CLI::IsMember(std::vector<std::string>{"cublas", "cublaslt", "cub", "cudnn", "pytorch", "pytorch-compile"}));
  bench->add_option("--beside", o.beside, "A program with a timing loop of its own that takes turns with the candidates (docs/timing.md)")->type_name("COMMAND");
  bench->add_option("--gpu", o.gpu, "GPU data sheet by name or path, or this; default: the task's");
  bench->add_option("--device", o.device, "gpu, gpu:N of this machine, or gpu:all: the candidates are spread over its GPUs")->capture_default_str();
  bench->add_option("--time-seconds", o.seconds, "Seconds for the timed calls of one size and candidate")->check(numbers().positive)->capture_default_str();
  bench->add_flag("--warm", o.warm, "Time with a warm L2 cache; default: cold");
  auto* json = bench->add_flag("--json", a.json, "Print JSON (schema kforge.bench/1)");
  bench->add_flag("--csv", a.csv, "Print CSV")->excludes(json);
  bench->footer("Example:\n  kforge bench examples/softmax/task.toml examples/softmax/naive.cu examples/softmax/good.cu");
  return bench;
}

CLI::App* add(CLI::App& app, WorkerArguments& a) {
  auto* worker = app.add_subcommand("worker", "Judge for another machine: requests on stdin, answers on stdout (docs/remote.md)");
  add_device(worker, a.device);
  worker->footer("Example:\n  kforge check task.toml mine.cu --device 'cmd:ssh gpuhost kforge worker --device gpu:0'");
  return worker;
}

CLI::App* add(CLI::App& app, GpusArguments& a) {
  auto* gpus = app.add_subcommand("gpus", "List the GPU data sheets");
  gpus->add_option("name", a.name, "Show one GPU");
  gpus->add_flag("--this", a.here, "Print a data sheet (TOML) of the GPU of this machine");
  gpus->add_option("--index", a.index, "With --this: which GPU, as CUDA counts")->capture_default_str();
  gpus->add_flag("--json", a.json, "Print JSON");
  gpus->footer("Examples:\n  kforge gpus h200\n  kforge gpus --this > mine.toml");
  return gpus;
}

CLI::App* add(CLI::App& app, DoctorArguments& a) {
  auto* doctor = app.add_subcommand("doctor", "Say what this machine has and lacks");
  doctor->add_flag("--json", a.json, "Print JSON");
  doctor->footer("Example:\n  kforge doctor");
  return doctor;
}

CLI::App* add(CLI::App& app, McpArguments& a) {
  auto* mcp = app.add_subcommand("mcp", "Serve the forge's tools to coding agents by the Model Context Protocol (docs/agents.md)");
  mcp->add_option("--root", a.options.roots, "Task files and candidates are read below this folder only; may be repeated; default: the current folder")->option_text("DIR")->allow_extra_args(false);
  mcp->add_option("--context", a.options.context, "Folder of documents and code for search_context; may be repeated")->option_text("DIR")->allow_extra_args(false);
  auto* http = mcp->add_flag("--http", a.http, "Serve HTTP on 127.0.0.1 in place of standard input and output");
  mcp->add_option("--port", a.options.port, "With --http: the port; 0 takes a free one and says it")->capture_default_str()->needs(http);
  mcp->add_option("--token-file", a.token_file, "With --http: requests must carry this file's one line as bearer token; $KFORGE_MCP_TOKEN does the same")->needs(http);
  mcp->add_option("--calls", a.options.calls, "Tool calls that run at once; further ones wait")->check(numbers().whole_positive)->capture_default_str();
  add_store(mcp, a.options.store);
  mcp->footer("Examples:\n  kforge mcp --root ~/kernels --context ~/cuda-docs\n  kforge mcp --http --port 7800");
  return mcp;
}

void add_model(CLI::App* command, OptimizeOptions& o) {
  std::string known;
  for (const std::string& row : model_providers()) known += "\n  " + row;
  constexpr const char* kGroup = "Language model (docs/models.md)";
  ModelOptions& m = o.model;
  command->add_option("--llm", m.spec, "Let a model propose kernels, too:" + known)->option_text("PROVIDER[:MODEL]")->group(kGroup);
  command->add_option("--llm-url", m.url, "Base URL of the model's server")->group(kGroup);
  command->add_option("--llm-key-file", m.key_file, "File of mode 0600 that holds the key; default: the provider's environment variable")->group(kGroup);
  command->add_option("--llm-effort", m.effort, "How much the model thinks: low, medium, high; default: as the provider has it")->group(kGroup);
  command->add_option("--llm-tools", m.tools, "Offer it tools (check, profile, sweep, ...): on, off; default: as its provider usually can")->group(kGroup);
  command->add_option("--llm-at-once", m.at_once, "Moves it is asked for in a round")->check(numbers().whole_positive)->capture_default_str()->group(kGroup);
  command->add_option("--max-tokens", m.tokens, "Tokens that the run may use, in and out; 0: no limit")->capture_default_str()->group(kGroup);
  command->add_option("--max-money", m.money, "US dollars that the run may cost; 0: no limit")->check(numbers().positive)->capture_default_str()->group(kGroup);
  command->add_option("--prompt-tokens", m.prompt_tokens, "Tokens of one prompt")->check(numbers().whole_positive)->capture_default_str()->group(kGroup);
  command->add_option("--answer-tokens", m.answer_tokens, "Tokens of one answer")->check(numbers().whole_positive)->capture_default_str()->group(kGroup);
  command->add_flag("--bare-feedback", m.bare_feedback, "Tell it only whether a kernel builds, how wrong it is, and its time")->group(kGroup);
  command->add_option("--context", m.context, "Folder of documents and code to cite from; may be repeated")->option_text("DIR")->allow_extra_args(false)->group(kGroup);
  command->add_option("--from-gpu", m.from_gpu, "The start was written for this GPU: port it first")->group(kGroup);
  command->add_option("--proposers", o.proposers, "Who proposes: of template, transform, sweep, model, with commas between; default: all")->delimiter(',')->allow_extra_args(false)->group(kGroup);
}

CLI::App* add(CLI::App& app, OptimizeArguments& a) {
  auto* optimize = app.add_subcommand("optimize", "Forge a kernel for a task: plan, generate, judge, search, report");
  OptimizeOptions& o = a.options;
  optimize->add_option("task", o.task, "Task file (TOML); not with --resume");
  optimize->add_option("--from", o.from, "A slow kernel to start from; default: naive.cu beside the task file");
  optimize->add_option("--plan", o.plan, "An edited plan (kforge plan TASK writes one)");
  optimize->add_flag_callback("--no-templates", [&o] { o.templates = false; }, "Change the given kernel alone: no kernel that is written anew");
  add_sheet(optimize, o.gpu);
  add_device(optimize, o.device);
  auto* seconds = optimize->add_option("--budget-seconds", o.budget.seconds, "Seconds that the run may take; with --llm an hour unless stated")->check(numbers().positive)->capture_default_str();
  optimize->add_option("--candidates", o.budget.candidates, "Candidates that it may judge")->check(numbers().whole_positive)->capture_default_str();
  optimize->add_option("--stagnation", o.budget.stagnation, "Candidates without a better one after which it stops; 0: never")->capture_default_str();
  optimize->add_option("--seed", o.seed, "Seed of inputs, schedules and search")->capture_default_str();
  optimize->add_option("--fresh-seed", o.fresh_seed, "Seed of the inputs that winners are proven on, which no candidate can know; 0: drawn anew")->capture_default_str();
  optimize->add_option("--jobs", o.jobs, "Candidates built and judged at once; 0: one a core")->capture_default_str();
  optimize->add_option("--resume", o.resume, "Go on with a run: its name, a unique prefix, or last: the last one that did not end");
  optimize->add_flag("--review{usual}", a.review, "Stop to look and edit: of plan, candidate, feedback (what a model is told), with commas between; by itself the first two");
  add_model(optimize, o);
  optimize->add_flag("--json", a.json, "Print the run as one JSON document (schema kforge.run/1)");
  optimize->add_option("-o,--output", a.output, "Write the winner to this file, too");
  add_store(optimize, o.store);
  optimize->final_callback([&o, seconds] {
    if (!o.model.spec.empty() && seconds->count() == 0) o.budget.seconds = 3600;   // a model thinks longer than a template
    if (o.task.empty() && o.resume.empty()) throw CLI::ValidationError("optimize", "neither a task file nor --resume RUN was given: give one of them");
    if (!o.task.empty() && !o.resume.empty()) throw CLI::ValidationError("optimize", fmt::format("the task file {} and --resume {} were both given: leave out the task file to go on with a run (it has its own), or --resume to begin one", o.task, o.resume));
  });
  optimize->footer("Examples:\n  kforge optimize examples/softmax/task.toml\n  kforge optimize task.toml --from slow.cu --budget-seconds 60 -o fast.cu\n  kforge optimize --resume last");
  return optimize;
}

CLI::App* add(CLI::App& app, PlanArguments& a) {
  auto* plan = app.add_subcommand("plan", "Say what a task computes, what bounds it, and what is to be tried in which order and why");
  plan->add_option("task", a.task, "Task file (TOML)")->required();
  add_sheet(plan, a.gpu);
  plan->add_flag("--json", a.json, "Print JSON (schema kforge.plan/1)");
  plan->add_option("-o,--output", a.output, "Write the plan to this file (TOML), to be edited and given to optimize --plan");
  plan->footer("Examples:\n  kforge plan examples/softmax/task.toml\n  kforge plan task.toml --gpu a100 -o plan.toml");
  return plan;
}

CLI::App* add(CLI::App& app, RunsArguments& a) {
  auto* runs = app.add_subcommand("runs", "List the runs of the store, or show one");
  runs->add_option("run", a.run, "A run: its name, a unique prefix, or last");
  runs->add_flag("--tree", a.tree, "Its moves as a tree, with times and verdicts");
  runs->add_flag("--steps", a.steps, "What it wrote down as it went");
  runs->add_flag("--costs", a.costs, "Where its time went, by stage");
  runs->add_option("--training-records", a.training_records, "Write what can be learnt from it to this file, one JSON document a line; - for stdout");
  runs->add_option("--messages", a.messages, "Write its exchanges with language models to this file, for --llm replay:FILE; - for stdout");
  runs->add_flag("--json", a.json, "Print JSON");
  add_store(runs, a.store);
  runs->footer("Examples:\n  kforge runs\n  kforge runs last --tree");
  return runs;
}

CLI::App* add(CLI::App& app, KnowledgeArguments& a) {
  auto* knowledge = app.add_subcommand("knowledge", "Rules of the field: search them, show one, add your own");
  knowledge->require_subcommand(1);
  const auto verb = [&](const char* name, const char* what, const char* words, const char* meaning, bool required, const char* example) {
    auto* sub = knowledge->add_subcommand(name, what);
    sub->add_option(words, a.words, meaning)->required(required);
    sub->add_flag("--json", a.json, "Print JSON (schema kforge.knowledge/1)");
    sub->footer(std::string("Example:\n  kforge knowledge ") + name + " " + example);
    sub->preparse_callback([&a, name](std::size_t) { a.verb = name; });   // the command's own callback runs before a verb's would
    return sub;
  };
  auto* search = verb("search", "Rules that hold all words; without words: all", "words", "Words", false, "bank conflict");
  search->add_option("--context", a.context, "Search this folder of documents and code in place of the rules; may be repeated")->option_text("DIR")->allow_extra_args(false);
  search->add_option("--count", a.count, "With --context: passages at most")->check(numbers().whole_positive)->capture_default_str();
  auto* cases = verb("cases", "Moves that won in runs of the store: before, after, finding, gain, GPU", "words", "Words that a case must hold; without words: all", false, "shared.banks");
  cases->add_option("--count", a.count, "Cases at most, largest gain first")->check(numbers().whole_positive)->capture_default_str();
  add_store(cases, a.store);
  verb("show", "One rule with its example", "id", "The rule's id", true, "pad-shared-rows");
  verb("add", "Check a rule of yours and take it in", "file", "A Markdown file (docs/knowledge.md)", true, "ours.md");
  knowledge->footer("Examples:\n  kforge knowledge search bank conflict\n  kforge knowledge search cp.async.bulk --context ~/cuda-docs\n  kforge knowledge show pad-shared-rows\n  kforge knowledge add ours.md");
  return knowledge;
}

CLI::App* add(CLI::App& app, ReportArguments& a) {
  auto* report = app.add_subcommand("report", "Report a run or a verdict as text, Markdown, JSON, JUnit, SARIF or a page");
  report->add_option("run,--verdict", a.run, "What to report. A run: its name, a unique prefix, or last; or a file that check or report wrote as JSON; - reads stdin");
  report->add_option("--format", a.format, "text, markdown, json, junit, sarif or html")->check(CLI::IsMember(std::vector<std::string>{"text", "markdown", "json", "junit", "sarif", "html"}))->capture_default_str();
  report->add_option("-o,--output", a.output, "Write to this file; default: stdout");
  report->add_flag("--all", a.all, "Text: also what passed, and every candidate");
  add_store(report, a.store);
  report->final_callback([&a] {
    if (a.run.empty()) throw CLI::ValidationError("report", "which run, or which file? kforge report last, say");
  });
  report->footer("Examples:\n  kforge report last --format html -o report.html\n  kforge check task.toml mine.cu --json | kforge report - --format sarif -o verdict.sarif");
  return report;
}

CLI::App* add(CLI::App& app, ExplainArguments& a) {
  auto* explain = app.add_subcommand("explain", "Walk through a run: what was seen, the rule, the change, the gain");
  explain->add_option("run", a.run, "A run: its name, a unique prefix, or last; or a file that report wrote as JSON")->required();
  add_store(explain, a.store);
  explain->footer("Example:\n  kforge explain last");
  return explain;
}

CLI::App* add(CLI::App& app, ExportArguments& a) {
  auto* out = app.add_subcommand("export", "Write a run's winner as a folder that builds by itself");
  out->add_option("runs", a.runs, "Runs: names, unique prefixes, or last; several runs of one task at different sizes make one library")->required();
  out->add_option_function<std::string>("--as", [&a](const std::string& form) { a.options.form = form == "cpp" ? ExportForm::cpp : ExportForm::cuda; },
                                        "cuda: kernel, C header, CMake, test; cpp: also a checked C++ header and an installable package")->check(CLI::IsMember({"cuda", "cpp"}))->default_str("cuda");
  out->add_option("-o,--output", a.options.folder, "The folder; default: the task's name");
  out->add_flag("--force", a.options.overwrite, "Write into a folder that is not empty");
  out->add_flag("--json", a.json, "Print JSON");
  add_store(out, a.store);
  out->footer("Example:\n  kforge export last --as cpp -o softmax");
  return out;
}

CLI::App* add(CLI::App& app, EvalArguments& a) {
  auto* eval = app.add_subcommand("eval", "Optimize every task of a suite: how many come out right, and how much faster");
  OptimizeOptions& o = a.options.optimize;
  eval->add_option("suite", a.options.suite, "A folder with task.toml files below it, or a text file with a task's path a line")->required();
  eval->add_option("--gpu", o.gpu, "GPU data sheet by name or path; default: each task's");
  add_device(eval, o.device);
  eval->add_option("--budget-seconds", o.budget.seconds, "Seconds for each task")->check(numbers().positive)->capture_default_str();
  eval->add_option("--candidates", o.budget.candidates, "Candidates that are judged for each task")->check(numbers().whole_positive)->capture_default_str();
  eval->add_option("--seed", o.seed, "Seed of inputs, schedules and search")->capture_default_str();
  eval->add_option("--jobs", o.jobs, "Candidates built and judged at once; 0: one a core")->capture_default_str();
  add_model(eval, o);
  eval->add_flag("--json", a.json, "Print JSON (schema kforge.eval/1)");
  add_store(eval, o.store);
  eval->footer("Example:\n  kforge eval examples --candidates 10 --json > eval.json");
  return eval;
}

// Typed as `kforge export dataset` (with_command).
CLI::App* add(CLI::App& app, DatasetArguments& a) {
  auto* dataset = app.add_subcommand("export-dataset", "kforge export dataset: write what runs teach, one JSON document a line");
  dataset->add_option("runs", a.runs, "Runs: names, unique prefixes, or last; default: all of the store");
  dataset->add_flag("--preferences", a.preferences, "Pairs of a better and a worse kernel in place of records");
  dataset->add_option("-o,--output", a.output, "Write to this file; - is stdout")->capture_default_str();
  add_store(dataset, a.store);
  dataset->footer("Examples:\n  kforge export dataset -o records.jsonl\n  kforge export dataset last --preferences -o pairs.jsonl");
  return dataset;
}

CLI::App* add(CLI::App& app, CiArguments& a) {
  auto* ci = app.add_subcommand("ci", "Judge recorded pairs of task and candidate again; fail on regressions");
  ci->add_option("folder", a.folder, "Folder of the records (*.ci.json)")->required();
  ci->add_option("--record", a.record, "TASK CANDIDATE: judge this pair and record its verdict in the folder")->expected(2);
  ci->add_option("--name", a.name, "Name of the record; default: of task and candidate");
  ci->add_option("--gpu", a.gpu, "GPU data sheet of the record; default: the task's");
  ci->add_flag("--only-correctness", a.only_correctness, "The record judges correctness alone");
  ci->add_option("--slower", a.slower, "A longer time by more than this part is a regression")->capture_default_str();
  ci->add_option("--junit", a.junit, "Write a JUnit report to this file");
  ci->add_flag("--json", a.json, "Print JSON (schema kforge.ci-report/1)");
  ci->footer("Examples:\n  kforge ci kernels/ci --record kernels/softmax/task.toml kernels/softmax/fast.cu\n  kforge ci kernels/ci --junit ci.xml");
  return ci;
}

// One line a command: its arguments' struct. The chosen one's is what parse_arguments gives back.
template <class... Arguments>
void add_commands(CLI::App& app, Invocation& chosen) {
  const auto add_one = [&]<class A>(std::shared_ptr<A> arguments) {
    add(app, *arguments)->parse_complete_callback([&chosen, arguments] { chosen = *arguments; });
  };
  (add_one(std::make_shared<Arguments>()), ...);
}

std::vector<std::string> with_command(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && std::string_view(words.front()).ends_with(".toml")) words.insert(words.begin(), "optimize");
  if (words.size() >= 2 && words[0] == "export" && words[1] == "dataset") {
    words.erase(words.begin());
    words.front() = "export-dataset";
  }
  return {words.rbegin(), words.rend()};    // CLI11 takes them last first
}

// "--review plan,candidate" as "--review=plan,candidate": a flag's value stands behind "=". The words are in reverse order.
std::vector<std::string> with_review_joined(std::vector<std::string> words) {
  for (std::size_t i = words.size(); i-- > 1;) {
    if (words[i] != "--review") continue;
    bool kinds = true;
    std::istringstream text(words[i - 1]);
    for (std::string word; std::getline(text, word, ',');) kinds = kinds && (word == "plan" || word == "candidate" || word == "feedback");
    if (!kinds || words[i - 1].empty()) continue;
    words[i] += "=" + words[i - 1];
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) - 1);
    break;
  }
  return words;
}

}  // namespace

Invocation parse_arguments(int argc, const char* const* argv) {
  Invocation chosen;
  CLI::App app("Kernel Forge: forges CUDA kernels that meet their goal, with proof", "kforge");
  app.set_version_flag("--version", std::string("kforge ") + kVersion);
  app.require_subcommand(1);
  app.footer(kFooter);
  add_commands<OptimizeArguments, CheckArguments, ProfileArguments, BenchArguments, WorkerArguments, RunArguments, PlanArguments, RunsArguments, GpusArguments, DoctorArguments, McpArguments, KnowledgeArguments, ReportArguments, ExplainArguments, ExportArguments, DatasetArguments, EvalArguments, CiArguments>(app, chosen);
  std::vector<std::string> words = with_review_joined(with_command(argc, argv));
  const bool is_run = !words.empty() && words.back() == "run";
  RunWords parts;
  if (is_run) {
    parts = split_run_words({words.rbegin() + 1, words.rend()});
    words.assign(parts.ours.rbegin(), parts.ours.rend());
    words.emplace_back("run");
  }
  const std::string command = words.empty() || words.back().starts_with('-') ? "" : replace_all(words.back(), "export-dataset", "export dataset") + " ";
  be_strict(app);
  if (const std::string why = words.empty() ? "" : unknown_command(app, words.back()); !why.empty()) return Finished{2, "", "kforge: " + why + "\n  hint: kforge --help shows the commands\n"};
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    const bool answered = app.exit(error, out, err) == 0;
    if (answered) return Finished{0, out.str(), err.str()};
    return Finished{2, "", fmt::format("kforge: {}\n  hint: kforge {}--help shows how it is called\n", error.what(), command)};
  }
  if (auto* run = std::get_if<RunArguments>(&chosen)) {
    run->options.build_flags = std::move(parts.build);
    run->options.arguments = std::move(parts.program);
  }
  return chosen;
}

}  // namespace kforge::cli
