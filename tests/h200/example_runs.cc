// Runs the examples' kernels on NVIDIA's runtime and on the emulated one, and compares the outputs: with each other bit for bit, and with the
// reference by the judge's numerics. The candidates' objects are those that `kforge check` runs (design.md, invariant 2): only the runtime that is loaded differs.
//
//   h200_example_runs build KIT                           objects, PTX, cubins and references of examples/ into the folder KIT
//   h200_example_runs run KIT NAME RUNTIME OUT            every case, outputs appended to OUT/NAME.bin; NAME is "softmax-good"
//   h200_example_runs worker KIT NAME RUNTIME OUT PROGRAM the same in kforge-worker
//   h200_example_runs measure KIT NAME RUNTIME            one call at the measure size (for ncu)
//   h200_example_runs compare KIT NAME GPU EMULATOR       JSON of both folders' outputs on stdout
//
// KIT also holds the examples' folders, so that it is all that another machine needs. See docs/h200-goldens.md.
#include <dlfcn.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/hash.h"
#include "build/builder.h"
#include "judge/numerics.h"
#include "task/cases.h"
#include "trial/references.h"
#include "trial/tensors.h"
#include "trial/trial.h"
#include "trial/worker_process.h"

#include "example_runner.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using namespace h200;

std::string example_of(const std::string& name) { return name.substr(0, name.find('-')); }
task::Task task_of(const fs::path& kit, const std::string& name) { return need(task::read_task((kit / "examples" / example_of(name) / "task.toml").string())); }

void put_file(const fs::path& from, const fs::path& to) { fs::copy_file(from, to, fs::copy_options::overwrite_existing); }

int build_kit(const fs::path& kit) {
  fs::create_directories(kit);
  fs::copy(fs::path(KFORGE_SOURCE_DIR) / "examples", kit / "examples", fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  for (const char* example : {"softmax", "transpose", "sgemm", "sobel"}) {
    const task::Task task = task_of(kit, example);
    build::ReferenceRequest reference;
    reference.source = task.reference;
    reference.interface = trial::reference_interface_of(task);
    put_file(need(build::build_reference(reference)).shared_object, kit / (std::string(example) + "-reference.so"));
    for (const char* which : {"naive", "good"}) {
      build::CandidateRequest request;
      request.source = (fs::path(KFORGE_SOURCE_DIR) / "examples" / example / (std::string(which) + ".cu")).string();
      request.interface = trial::interface_of(task);
      request.flags = task.flags;
      const build::Artefact artefact = need(build::build_candidate(request));
      if (!artefact.ok) stop(request.source + " does not build");
      const std::string name = fmt::format("{}-{}", example, which);
      put_file(artefact.shared_object, kit / (name + ".so"));
      put_file(artefact.ptx_path, kit / (name + ".ptx"));
      put_file(artefact.cubin_path, kit / (name + ".cubin"));
    }
  }
  return 0;
}

void append(std::ofstream& file, const std::vector<Bytes>& outputs) {
  for (const Bytes& output : outputs) file.write(reinterpret_cast<const char*>(output.data()), static_cast<std::streamsize>(output.size()));
}

int run(const fs::path& kit, const std::string& name, const std::string& runtime, const fs::path& out) {
  const task::Task task = task_of(kit, name);
  Runner runner(runtime, (kit / (name + ".so")).string());
  fs::create_directories(out);
  std::ofstream file(out / (name + ".bin"), std::ios::binary);
  for (const trial::Job& job : every_job(task)) append(file, runner.call(task, job.run.sizes, need(trial::make_inputs(task, job.run, false))));
  return 0;
}

int run_in_worker(const fs::path& kit, const std::string& name, const std::string& runtime, const fs::path& out, const std::string& program) {
  const task::Task task = task_of(kit, name);
  trial::WorkerOptions options;
  options.program = program;
  options.runtime = runtime;
  options.object = fs::absolute(kit / (name + ".so")).string();
  options.configure = R"({"sheet": "h200", "safety": false, "profile": false, "seed": 1})";
  const auto worker = need(trial::WorkerProcess::start(options));
  const auto fail = [](const trial::Answer& answer) { stop(fmt::format("worker: {} {} {}", answer.error, answer.fault.contract, answer.fault.message)); };
  if (!worker->started().ok) fail(worker->started());
  fs::create_directories(out);
  std::ofstream file(out / (name + ".bin"), std::ios::binary);
  std::uint64_t serial = 0;
  for (const trial::Job& job : every_job(task)) {
    const trial::CaseLayout layout = need(trial::lay_out(task, job.run.sizes, false));
    const auto inputs = need(trial::make_inputs(task, job.run, false));
    if (!worker->arena().reserve(layout.arena_bytes)) stop("no memory for the arena");
    std::size_t next = 0;
    for (const auto& place : layout.places)
      if (place.has_input()) std::memcpy(worker->arena().data() + place.in, inputs[next].data(), place.bytes), ++next;
    trial::CallOptions call;
    call.serial = ++serial;
    call.seconds = 600;
    const trial::Answer answer = worker->call(trial::request_text(task, layout, job.run.sizes, call), {.seconds = 600, .thread_instructions = 0});
    if (!answer.ok) fail(answer);
    const auto reply = nlohmann::json::parse(answer.json);
    if (reply.at("returned") != 0 || !reply.at("completed").get<bool>()) stop("worker: " + answer.json.substr(0, 300));
    std::vector<Bytes> outputs;
    for (const auto& place : layout.places)
      if (place.has_output()) outputs.emplace_back(worker->arena().data() + place.out, worker->arena().data() + place.out + place.bytes);
    append(file, outputs);
  }
  return 0;
}

int run_measure(const fs::path& kit, const std::string& name, const std::string& runtime) {
  const task::Task task = task_of(kit, name);
  Runner runner(runtime, (kit / (name + ".so")).string());
  for (const trial::Job& job : every_job(task))
    if (job.run.measure) runner.call(task, job.run.sizes, need(trial::make_inputs(task, job.run, false)));
  return 0;
}

std::vector<std::vector<double>> reference_outputs(Launcher reference, const task::Task& task, const task::Sizes& sizes, const std::vector<Bytes>& inputs) {
  const trial::CaseLayout layout = need(trial::lay_out(task, sizes, true));
  std::vector<Bytes> buffers;
  std::size_t next = 0;
  for (const auto& place : layout.places) {
    buffers.emplace_back(place.bytes);
    if (place.has_input()) trial::store_for_reference(place, inputs[next++], buffers.back().data());
  }
  const auto request = nlohmann::json::parse(trial::request_text(task, layout, sizes, {}));
  auto values = request.at("values").get<std::vector<std::uint64_t>>();
  std::vector<void*> pointers, arguments;
  for (Bytes& buffer : buffers) pointers.push_back(buffer.data());
  for (void*& pointer : pointers) arguments.push_back(&pointer);
  for (std::uint64_t& value : values) arguments.push_back(&value);
  reference(arguments.data(), nullptr);
  std::vector<std::vector<double>> out;
  for (std::size_t i = 0; i < layout.places.size(); ++i)
    if (layout.places[i].has_output()) out.push_back(trial::gather_reference(layout.places[i], buffers[i].data()));
  return out;
}

struct Difference { std::uint64_t elements = 0, differing = 0, largest_ulps = 0; };

// Distance in units in the last place of f32, all examples' output type.
void add_difference(const Bytes& a, const Bytes& b, Difference& sum) {
  for (std::size_t i = 0; i + 4 <= a.size(); i += 4) {
    std::int32_t x, y;
    std::memcpy(&x, a.data() + i, 4);
    std::memcpy(&y, b.data() + i, 4);
    ++sum.elements;
    if (x == y) continue;
    ++sum.differing;
    const auto ordered = [](std::int32_t v) { return v < 0 ? std::int64_t{INT32_MIN} - v : std::int64_t{v}; };
    sum.largest_ulps = std::max<std::uint64_t>(sum.largest_ulps, static_cast<std::uint64_t>(std::llabs(ordered(x) - ordered(y))));
  }
}

std::vector<Bytes> read_outputs(std::ifstream& file, const task::Task& task, const task::Sizes& sizes) {
  std::vector<Bytes> out;
  for (const auto& place : need(trial::lay_out(task, sizes, false)).places) {
    if (!place.has_output()) continue;
    Bytes& bytes = out.emplace_back(place.bytes);
    if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()))) stop("a file of outputs is too short");
  }
  return out;
}

std::string hash_of(const std::vector<Bytes>& outputs) {
  Hasher hasher;
  for (const Bytes& output : outputs) hasher.update({reinterpret_cast<const char*>(output.data()), output.size()});
  return hasher.hex();
}

Json judge_draws(const task::Task& task, const trial::Job& job, const std::vector<std::vector<Bytes>>& calls, const std::vector<std::vector<std::vector<double>>>& references) {
  Json verdicts = Json::array();
  std::size_t output = 0;
  for (const task::Tensor& tensor : task.tensors) {
    if (tensor.role == task::Role::in) continue;
    const auto layout = need(task::layout(tensor, job.run.sizes));
    std::vector<judge::Draw> draws;
    for (std::size_t c = 0; c < calls.size(); ++c) draws.push_back({.out = calls[c][output], .reference = references[c][output], .exact = {}, .inputs = {}});
    const auto errors = judge::compare(draws, layout, need(judge::numerics_options(task, tensor, job.run.sizes)));
    verdicts.push_back({{"passed", errors.passed}, {"max_abs", errors.max_abs}, {"rel_l2", errors.rel_l2}, {"mismatched", errors.mismatched}, {"why", errors.why}});
    ++output;
  }
  return verdicts;
}

int compare_outputs(const fs::path& kit, const std::string& name, const fs::path& gpu, const fs::path& emulator) {
  const task::Task task = task_of(kit, name);
  void* handle = dlopen(fs::absolute(kit / (example_of(name) + "-reference.so")).c_str(), RTLD_NOW);
  if (!handle) stop(dlerror());
  const auto reference = reinterpret_cast<Launcher>(dlsym(handle, "kforge_call"));
  std::ifstream gpu_file(gpu / (name + ".bin"), std::ios::binary), emulator_file(emulator / (name + ".bin"), std::ios::binary);
  Json cases = Json::array();
  std::vector<std::vector<Bytes>> gpu_calls, emulator_calls;
  std::vector<std::vector<std::vector<double>>> references;
  Json hashes = Json::array();
  Difference difference;
  for (const trial::Job& job : every_job(task)) {
    if (job.call == 0) gpu_calls.clear(), emulator_calls.clear(), references.clear(), hashes = Json::array(), difference = {};
    const auto inputs = need(trial::make_inputs(task, job.run, false));
    gpu_calls.push_back(read_outputs(gpu_file, task, job.run.sizes));
    emulator_calls.push_back(read_outputs(emulator_file, task, job.run.sizes));
    references.push_back(reference_outputs(reference, task, job.run.sizes, inputs));
    for (std::size_t i = 0; i < gpu_calls.back().size(); ++i) add_difference(gpu_calls.back()[i], emulator_calls.back()[i], difference);
    hashes.push_back(hash_of(gpu_calls.back()));
    if (job.call + 1 < job.run.calls) continue;
    cases.push_back({{"sizes", job.run.sizes}, {"values", job.run.values}, {"measure", job.run.measure}, {"calls", job.run.calls}, {"elements", difference.elements},
        {"differ_from_emulator", difference.differing}, {"largest_ulps", difference.largest_ulps}, {"gpu", judge_draws(task, job, gpu_calls, references)},
        {"emulator", judge_draws(task, job, emulator_calls, references)}, {"gpu_hashes", hashes}});
  }
  std::cout << Json{{"name", name}, {"cases", cases}}.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace kforge

int main(int argc, char** argv) {
  const std::vector<std::string> a(argv + 1, argv + argc);
  const std::string what = a.empty() ? "" : a[0];
  if (what == "build" && a.size() == 2) return kforge::build_kit(a[1]);
  if (what == "run" && a.size() == 5) return kforge::run(a[1], a[2], a[3], a[4]);
  if (what == "worker" && a.size() == 6) return kforge::run_in_worker(a[1], a[2], a[3], a[4], a[5]);
  if (what == "measure" && a.size() == 4) return kforge::run_measure(a[1], a[2], a[3]);
  if (what == "compare" && a.size() == 5) return kforge::compare_outputs(a[1], a[2], a[3], a[4]);
  std::cerr << "usage: h200_example_runs build|run|worker|measure|compare ... (the head of example_runs.cc)\n";
  return 2;
}
