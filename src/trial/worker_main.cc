// kforge-worker: the process in which a candidate (or the task's reference) lives. It is started by the parent with a socket at
// descriptor 3, the arena at 4 and perhaps inputs at 5, loads the runtime, shuts itself in, loads the object, and then runs one call a request.
//
// Nothing here is trusted by the parent: the candidate shares this process. What must stay secret or true (expected
// outputs, inputs, verdicts) is never here.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trial/device_api.h"
#include "trial/protocol.h"
#include "trial/sandbox.h"
#include "trial/worker_request.h"
#include "trial/worker_timing.h"

namespace kforge::trial {
namespace {

// Bytes that are NaN in every floating format, and differ from call to call: 0x7f81 and up, in 16-bit units.
void fill_poison(std::vector<std::uint16_t>& poison, std::uint64_t call) {
  const auto unit = static_cast<std::uint16_t>(0x7f81 + call % 0x7e);
  std::fill(poison.begin(), poison.end(), unit);
}

class CandidateRunner {
 public:
  explicit CandidateRunner(Launcher launcher) : launcher_(launcher) {}

  // What the runtime saw of the last call, as it tells it.
  const std::string& log() const { return log_; }

  Json run(const Json& request, Arena& arena) {
    log_.clear();
    const std::vector<TensorRequest> tensors = read_tensors(request);
    if (request.at("reset").get<bool>() && device_api.emulated()) {
      device_api.reset();
      pointers_.clear();
      stream_ = nullptr;
    }
    if (!stream_ && device_api.create_stream(&stream_, kNonBlockingStream) != 0) return failure("no stream can be made");
    if (request.at("new_case").get<bool>() || pointers_.size() != tensors.size()) {
      if (std::string why = allocate(tensors); !why.empty()) return failure(why);
    }
    const Inputs inputs(arena, request.value("sealed_bytes", std::uint64_t{0}));
    if (std::string why = fill(tensors, inputs, request.at("serial")); !why.empty()) return failure(why);
    return call(request, tensors, arena);
  }

 private:
  std::string allocate(const std::vector<TensorRequest>& tensors) {
    for (void* pointer : pointers_) device_api.free(pointer);
    pointers_.clear();
    for (const TensorRequest& tensor : tensors) {
      void* pointer = nullptr;
      if (device_api.malloc(&pointer, tensor.bytes) != 0) return "no device memory for tensor '" + tensor.name + "'";
      pointers_.push_back(pointer);
      if (device_api.emulated() && pointer) device_api.describe(pointer, tensor.name.c_str(), tensor.role, tensor.element_bytes);
      if (device_api.describe_layout && pointer && !tensor.shape.empty())
        device_api.describe_layout(pointer, tensor.shape.data(), tensor.strides.data(), tensor.shape.size());
    }
    return {};
  }

  std::string fill(const std::vector<TensorRequest>& tensors, const Inputs& inputs, std::uint64_t serial) {
    if (!inputs) return "the inputs cannot be mapped";
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const TensorRequest& tensor = tensors[i];
      if (tensor.bytes == 0) continue;
      if (tensor.has_input()) {
        if (device_api.copy(pointers_[i], inputs.at(tensor.offset_in), tensor.bytes, kHostToDevice) != 0) return "an input cannot be copied to the device";
        continue;
      }
      std::vector<std::uint16_t> poison(tensor.bytes / 2 + 1);
      fill_poison(poison, serial);
      if (device_api.copy(pointers_[i], poison.data(), tensor.bytes, kHostToDevice) != 0) return "an output cannot be poisoned";
      if (device_api.emulated()) device_api.mark_uninitialised(pointers_[i], tensor.bytes);
    }
    return {};
  }

  Json call(const Json& request, const std::vector<TensorRequest>& tensors, Arena& arena) {
    std::vector<void*> pointers = pointers_;
    std::vector<std::uint64_t> values = read_values(request.at("values"));
    std::vector<void*> arguments;
    for (void*& pointer : pointers) arguments.push_back(&pointer);
    for (std::uint64_t& value : values) arguments.push_back(&value);
    device_api.last_error();
    if (device_api.emulated() && request.contains("schedule_seed")) device_api.configure(Json{{"seed", request["schedule_seed"]}}.dump().c_str());
    if (device_api.emulated()) device_api.begin_call(stream_, request.at("thread_instructions"), request.at("seconds"), request.at("sampled_blocks"));
    const int returned = launcher_(arguments.data(), stream_);
    Json reply = {{"ok", true}, {"returned", returned}, {"completed", true}, {"detail", ""}};
    if (device_api.emulated()) {
      std::size_t bytes = 0;
      const char* log = device_api.end_call(returned, &bytes);
      log_.assign(log ? log : "", log ? bytes : 0);
    } else if (const int error = wait_for_device(); error != 0) {
      reply["completed"] = false;
      reply["detail"] = device_api.error_name(error);
    }
    if (request.at("outputs").get<bool>()) copy_back(tensors, arena, reply);
    return reply;
  }

  void copy_back(const std::vector<TensorRequest>& tensors, Arena& arena, Json& reply) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].bytes == 0) continue;
      if (const int error = device_api.copy(arena.at(tensors[i].offset_out), pointers_[i], tensors[i].bytes, kDeviceToHost); error != 0) {
        reply["completed"] = false;
        if (reply["detail"].get_ref<const std::string&>().empty()) reply["detail"] = device_api.error_name(error);
      }
    }
  }

  Launcher launcher_;
  void* stream_ = nullptr;
  std::vector<void*> pointers_;
  std::string log_;
};

// The reference works on copies of its own, so that writing past one does not reach another.
Json run_reference(Launcher launcher, const Json& request, Arena& arena) {
  const std::vector<TensorRequest> tensors = read_tensors(request);
  std::vector<std::vector<std::uint64_t>> buffers;
  std::vector<void*> pointers;
  for (const TensorRequest& tensor : tensors) {
    auto& buffer = buffers.emplace_back(tensor.bytes / 8 + 1, UINT64_MAX);   // NaN until written
    if (tensor.has_input()) std::memcpy(buffer.data(), arena.at(tensor.offset_in), tensor.bytes);
    pointers.push_back(buffer.data());
  }
  std::vector<std::uint64_t> values = read_values(request.at("values"));
  std::vector<void*> arguments;
  for (void*& pointer : pointers) arguments.push_back(&pointer);
  for (std::uint64_t& value : values) arguments.push_back(&value);
  launcher(arguments.data(), nullptr);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].role != 0) std::memcpy(arena.at(tensors[i].offset_out), buffers[i].data(), tensors[i].bytes);
  }
  return {{"ok", true}, {"returned", 0}, {"completed", true}, {"detail", ""}};
}

// One line, and after it the log, which is long and goes as it is.
void answer(std::uint64_t nonce, const Json& json, const std::string& log = {}) {
  FrameHeader header;
  header.nonce = nonce;
  if (!send_frame(kSocketFd, header, json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n" + log)) ::_exit(0);
}

// NVIDIA's runtime sees one GPU, and leaves no files.
void show_one_gpu(const Json& start) {
  ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
  ::setenv("CUDA_CACHE_DISABLE", "1", 1);
  if (const std::string gpu = start.at("gpu"); !gpu.empty()) ::setenv("CUDA_VISIBLE_DEVICES", gpu.c_str(), 1);
  // Found by the parent: the runtime asks for it by name, and what is open already answers to that.
  if (const std::string driver = start.at("driver"); !driver.empty()) dlopen(driver.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

// Empty, or why. A context is made before the sandbox closes: afterwards the driver needs little more than ioctl.
std::string open_gpu(const Json& start, DeviceApi& api) {
  if (api.emulated()) {
    if (const char* why = api.configure(start.at("configure").get_ref<const std::string&>().c_str()); why && *why) return why;
    api.pose_as_gpu();
  }
  int error = api.free(nullptr);
  // The driver starts its thread for host functions with the first of them: now, so that it is not taken for the candidate's.
  if (error == 0 && api.host_function) error = api.host_function(nullptr, [](void*) {}, nullptr);
  if (error == 0) error = api.synchronise();
  return error == 0 ? std::string() : api.error_name(error);
}

std::string open_emulated(const Json& start, DeviceApi& api) {
  if (const char* why = api.configure(start.at("configure").get_ref<const std::string&>().c_str()); why && *why) return why;
  if (api.show_progress) api.show_progress(Arena::header());
  return {};
}

// Ids of this process's threads (proc(5), task).
std::vector<std::string> own_threads() {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", ignored)) out.push_back(entry.path().filename().string());
  return out;
}

// Empty, or why. The libraries that objects need are loaded before, so that the object is the only file opened inside. `threads` are those before the object.
std::string prepare(const Json& start, DeviceApi& api, Launcher& launcher, std::vector<std::string>& threads) {
  const std::string mode = start.at("mode"), object = start.at("object");
  SandboxRequest sandbox{object, start.at("memory_bytes"), start.at("cpu_seconds"), mode == "gpu", mode == "reference", {}, start.at("defences_off").get<std::vector<std::string>>()};
  if (mode == "gpu") {
    show_one_gpu(start);
    sandbox.libraries = start.at("libraries").get<std::vector<std::string>>();
    for (const char* key : {"runtime", "driver"}) sandbox.libraries.push_back(start.at(key));
    enter_sandbox_early(sandbox);
  }
  if (mode != "reference") {
    if (std::string why = load_device_api(start.at("runtime"), api); !why.empty()) return why;
    if (mode != "gpu" && !api.emulated()) return "this is no emulated runtime";
    if (std::string why = mode == "gpu" ? open_gpu(start, api) : open_emulated(start, api); !why.empty()) return why;
  }
  if (mode == "gpu") threads = own_threads();
  ::clearenv();
  for (const char* library : {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1"}) dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!device_api_page.seal()) return "the table of the runtime's functions cannot be sealed";
  if (std::string why = enter_sandbox(sandbox); !why.empty()) return why;
  const bool watched = mode != "reference" && api.emulated();
  if (std::string why = guard_object(sandbox); !why.empty()) return why;
  if (watched) api.load(1);
  void* handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (watched) api.load(0);
  if (!handle) return std::string("object: ") + dlerror();
  launcher = reinterpret_cast<Launcher>(dlsym(handle, "kforge_call"));
  if (!launcher) return "object: it has no trampoline";
  return close_sandbox(sandbox);
}

// Alone in the world: dies with the parent, sees none of its descriptors.
void detach(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  ::prctl(PR_SET_DUMPABLE, 0);
  ::syscall(SYS_close_range, kInputsFd + 1, ~0u, 0);
  ::clearenv();
}

int serve() {
  FrameHeader header;
  std::string text;
  if (!receive_frame(kSocketFd, header, text) || header.kind != FrameKind::start) return 2;
  Launcher launcher = nullptr;
  const Json start = Json::parse(text);
  install_reporters();
  std::vector<std::string> threads;
  const std::string why = prepare(start, device_api_page.api, launcher, threads);
  answer(header.nonce, {{"ok", why.empty()}, {"error", why}, {"emulated", device_api.emulated()}, {"threads", threads}});
  if (!why.empty()) return 0;
  const bool reference = start.at("mode") == "reference";
  CandidateRunner runner(launcher);
  TimedCalls timed(launcher);
  Arena arena;
  while (receive_frame(kSocketFd, header, text) && header.kind == FrameKind::call) {
    const Json request = Json::parse(text);
    if (!arena.map(request.at("arena_bytes"))) {
      answer(header.nonce, {{"ok", false}, {"error", "memory"}});
      continue;
    }
    const Json reply = reference ? run_reference(launcher, request, arena) : request.contains("time") ? timed.run(request, arena) : runner.run(request, arena);
    answer(header.nonce, reply, runner.log());
  }
  return 0;
}

// One call for a tool that watches the process from within (ncu, compute-sanitizer): what the parent would send stands in files. The tool's own threads,
// descriptors and environment stay as they are, so that this is for candidates that have passed the sandbox.
int run_once(const std::string& request_file, const std::string& arena_file) {
  std::ifstream file(request_file);
  const Json whole = Json::parse(file);
  const int fd = ::open(arena_file.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return 2;
  DeviceApi& api = device_api_page.api;
  const Json& start = whole.at("start");
  show_one_gpu(start);
  if (!load_device_api(start.at("runtime"), api).empty()) return 2;
  if (!open_gpu(start, api).empty()) return 2;
  void* handle = dlopen(start.at("object").get_ref<const std::string&>().c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto launcher = handle ? reinterpret_cast<Launcher>(dlsym(handle, "kforge_call")) : nullptr;
  Arena arena(fd);
  if (!launcher || !arena.map(whole.at("request").at("arena_bytes"))) return 2;
  CandidateRunner runner(launcher);
  const Json answer = runner.run(whole.at("request"), arena);
  return answer.value("completed", false) && answer.value("returned", 1) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace kforge::trial

int main(int argc, char** argv) {
  ::signal(SIGXFSZ, SIG_IGN);   // until install_reporters: a write that fails is told
  if (argc == 4 && std::string(argv[1]) == "run") {
    try {
      return kforge::trial::run_once(argv[2], argv[3]);   // a tool reports as the process ends
    } catch (const std::exception&) {
      return 3;
    }
  }
  if (argc != 2) return 2;   // started by Kernel Forge alone; the argument is the parent's process id
  kforge::trial::detach(static_cast<pid_t>(std::atol(argv[1])));
  try {
    const int code = kforge::trial::serve();
    ::_exit(code);   // destructors of the candidate's object have nothing to say any more
  } catch (const std::exception&) {
    ::_exit(3);
  }
}
