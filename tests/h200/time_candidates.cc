// Times candidates on a real GPU: events around one launcher call, cold L2, median. For the figures in docs; `kforge` itself times no GPU yet.
//
//   h200_time_candidates build KIT LIST        LIST has lines "NAME TASK.toml CANDIDATE.cu"; objects and tasks into the folder KIT
//   h200_time_candidates time KIT NAME RUNTIME one JSON line a measure size on stdout (RUNTIME: NVIDIA's libcudart)
//
// Each name runs in a process of its own: a crash costs one figure. See docs/h200-goldens.md.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "build/builder.h"

#include "example_runner.h"

namespace kforge {
namespace {

namespace fs = std::filesystem;
using namespace h200;

constexpr int kRounds = 101, kWarmUp = 10;
constexpr std::size_t kFlushBytes = std::size_t{512} << 20;   // several times the largest L2

int build_kit(const fs::path& kit, const std::string& list) {
  std::ifstream lines(list);
  int failures = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, file, candidate;
    if (!(words >> name >> file >> candidate)) continue;
    const task::Task task = need(task::read_task(file));
    build::CandidateRequest request;
    request.source = candidate;
    request.interface = trial::interface_of(task);
    request.flags = task.flags;
    const build::Artefact artefact = need(build::build_candidate(request));
    if (!artefact.ok) {
      std::cerr << candidate << " does not build\n", ++failures;
      continue;
    }
    fs::create_directories(kit / name);
    fs::copy(fs::path(file).parent_path(), kit / name / "task", fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    fs::rename(kit / name / "task" / fs::path(file).filename(), kit / name / "task" / "task.toml");
    fs::copy_file(artefact.shared_object, kit / name / "candidate.so", fs::copy_options::overwrite_existing);
  }
  return failures == 0 ? 0 : 1;
}

// The runtime's functions that timing needs beyond what a trial does.
struct Timer {
  int (*create_event)(void**) = nullptr;
  int (*record)(void*, void*) = nullptr;
  int (*elapsed)(float*, void*, void*) = nullptr;
  int (*memset)(void*, int, std::size_t, void*) = nullptr;
  void* begin = nullptr;
  void* end = nullptr;

  explicit Timer(const std::string& runtime) {
    void* library = dlopen(runtime.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library) stop(dlerror());
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (!function) stop(std::string("the runtime has no ") + name);
    };
    find(create_event, "cudaEventCreate");
    find(record, "cudaEventRecord");
    find(elapsed, "cudaEventElapsedTime");
    find(memset, "cudaMemsetAsync");
  }
};

void need_zero(int error, const char* what) {
  if (error != 0) stop(fmt::format("{}: error {}", what, error));
}

std::vector<float> time_calls(Timer& timer, trial::DeviceApi& api, Launcher launcher, std::vector<void*>& arguments, void* stream) {
  void* flush = nullptr;
  need_zero(api.malloc(&flush, kFlushBytes), "cudaMalloc");
  std::vector<float> us;
  for (int round = -kWarmUp; round < kRounds; ++round) {
    need_zero(timer.memset(flush, round & 0xff, kFlushBytes, stream), "cudaMemsetAsync");
    need_zero(timer.record(timer.begin, stream), "cudaEventRecord");
    need_zero(launcher(arguments.data(), stream), "the launcher");
    need_zero(timer.record(timer.end, stream), "cudaEventRecord");
    need_zero(api.synchronise(), "cudaDeviceSynchronize");
    float ms = 0;
    need_zero(timer.elapsed(&ms, timer.begin, timer.end), "cudaEventElapsedTime");
    if (round >= 0) us.push_back(ms * 1000);
  }
  need_zero(api.free(flush), "cudaFree");
  std::sort(us.begin(), us.end());
  return us;
}

int time_candidate(const fs::path& kit, const std::string& name, const std::string& runtime) {
  const task::Task task = need(task::read_task((kit / name / "task" / "task.toml").string()));
  trial::DeviceApi api;
  if (const std::string why = trial::load_device_api(runtime, api); !why.empty()) stop(why);
  Timer timer(runtime);
  void* handle = dlopen(fs::absolute(kit / name / "candidate.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) stop(dlerror());
  const auto launcher = reinterpret_cast<Launcher>(dlsym(handle, "kforge_call"));
  void* stream = nullptr;
  need_zero(api.create_stream(&stream, 1), "cudaStreamCreateWithFlags");
  need_zero(timer.create_event(&timer.begin), "cudaEventCreate");
  need_zero(timer.create_event(&timer.end), "cudaEventCreate");
  for (const trial::Job& job : every_job(task)) {
    if (!job.run.measure) continue;
    const auto inputs = need(trial::make_inputs(task, job.run, false));
    const trial::CaseLayout layout = need(trial::lay_out(task, job.run.sizes, false));
    std::vector<void*> pointers, arguments;
    std::size_t next = 0;
    for (const trial::TensorPlace& place : layout.places) {
      need_zero(api.malloc(&pointers.emplace_back(), place.bytes), "cudaMalloc");
      if (place.has_input()) need_zero(api.copy(pointers.back(), inputs[next++].data(), place.bytes, 1), "cudaMemcpy");
    }
    auto values = nlohmann::json::parse(trial::request_text(task, layout, job.run.sizes, {})).at("values").get<std::vector<std::uint64_t>>();
    for (void*& pointer : pointers) arguments.push_back(&pointer);
    for (std::uint64_t& value : values) arguments.push_back(&value);
    const auto us = time_calls(timer, api, launcher, arguments, stream);
    std::cout << nlohmann::ordered_json{{"name", name}, {"sizes", job.run.sizes}, {"us", us[us.size() / 2]}, {"us_p10", us[us.size() / 10]}, {"us_p90", us[us.size() * 9 / 10]}, {"rounds", us.size()}}.dump() << std::endl;
    for (void* pointer : pointers) need_zero(api.free(pointer), "cudaFree");
  }
  return 0;
}

}  // namespace
}  // namespace kforge

int main(int argc, char** argv) {
  const std::vector<std::string> a(argv + 1, argv + argc);
  const std::string what = a.empty() ? "" : a[0];
  if (what == "build" && a.size() == 3) return kforge::build_kit(a[1], a[2]);
  if (what == "time" && a.size() == 4) return kforge::time_candidate(a[1], a[2], a[3]);
  std::cerr << "usage: h200_time_candidates build KIT LIST | time KIT NAME RUNTIME\n";
  return 2;
}
