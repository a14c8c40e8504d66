// kforge-worker: the process in which a candidate (or the task's reference) lives. It is started by the parent with a socket at
// descriptor 3 and the arena at 4, loads the runtime, shuts itself in, loads the object, and then runs one call a request.
//
// Nothing here is trusted by the parent: the candidate shares this process. What must stay secret or true (expected
// outputs, inputs, verdicts) is never here.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trial/device_api.h"
#include "trial/protocol.h"
#include "trial/sandbox.h"

namespace kforge::trial {
namespace {

using Json = nlohmann::json;
using Launcher = int (*)(void** arguments, void* stream);
constexpr int kHostToDevice = 1, kDeviceToHost = 2;
constexpr unsigned kNonBlockingStream = 1;

struct TensorRequest {
  std::string name;
  int role = 0;                        // 0 in, 1 out, 2 inout
  std::uint64_t bytes = 0, element_bytes = 1;
  std::uint64_t offset_in = 0, offset_out = 0;   // in the arena
  std::vector<std::int64_t> shape, strides;      // of a tensor with strides of its own
  bool has_input() const { return role != 1; }
};

TensorRequest read_tensor(const Json& json) {
  return {json.at("name"), json.at("role"), json.at("bytes"), json.at("element_bytes"), json.at("in"), json.at("out"),
          json.value("shape", std::vector<std::int64_t>()), json.value("strides", std::vector<std::int64_t>())};
}

// The arguments after the tensors: values of their exact size.
std::vector<std::uint64_t> read_values(const Json& json) { return json.get<std::vector<std::uint64_t>>(); }

class Arena {
 public:
  bool map(std::uint64_t bytes) {
    bytes += kArenaHeaderBytes;
    if (bytes <= bytes_) return true;
    if (base_) ::munmap(base_, bytes_);
    void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, kArenaFd, 0);
    base_ = base == MAP_FAILED ? nullptr : static_cast<std::byte*>(base);
    bytes_ = base_ ? bytes : 0;
    return base_ != nullptr;
  }
  std::byte* at(std::uint64_t offset) const { return base_ + kArenaHeaderBytes + offset; }

  // The header, at an address that stays.
  static std::uint64_t* header() {
    void* page = ::mmap(nullptr, kArenaHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, kArenaFd, 0);
    return page == MAP_FAILED ? nullptr : static_cast<std::uint64_t*>(page);
  }

 private:
  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// Bytes that are NaN in every floating format, and differ from call to call: 0x7f81 and up, in 16-bit units.
void fill_poison(std::vector<std::uint16_t>& poison, std::uint64_t call) {
  const auto unit = static_cast<std::uint16_t>(0x7f81 + call % 0x7e);
  std::fill(poison.begin(), poison.end(), unit);
}

class CandidateRunner {
 public:
  CandidateRunner(DeviceApi api, Launcher launcher) : api_(api), launcher_(launcher) {}

  // What the runtime saw of the last call, as it tells it.
  const std::string& log() const { return log_; }

  Json run(const Json& request, Arena& arena) {
    log_.clear();
    std::vector<TensorRequest> tensors;
    for (const Json& json : request.at("tensors")) tensors.push_back(read_tensor(json));
    if (request.at("reset").get<bool>() && api_.emulated()) {
      api_.reset();
      pointers_.clear();
      stream_ = nullptr;
    }
    if (!stream_ && api_.create_stream(&stream_, kNonBlockingStream) != 0) return failure("no stream can be made");
    if (request.at("new_case").get<bool>() || pointers_.size() != tensors.size()) {
      if (std::string why = allocate(tensors); !why.empty()) return failure(why);
    }
    if (std::string why = fill(tensors, arena, request.at("serial")); !why.empty()) return failure(why);
    return call(request, tensors, arena);
  }

 private:
  static Json failure(const std::string& why) { return {{"ok", false}, {"error", why}}; }

  std::string allocate(const std::vector<TensorRequest>& tensors) {
    for (void* pointer : pointers_) api_.free(pointer);
    pointers_.clear();
    for (const TensorRequest& tensor : tensors) {
      void* pointer = nullptr;
      if (api_.malloc(&pointer, tensor.bytes) != 0) return "no device memory for tensor '" + tensor.name + "'";
      pointers_.push_back(pointer);
      if (api_.emulated() && pointer) api_.describe(pointer, tensor.name.c_str(), tensor.role, tensor.element_bytes);
      if (api_.describe_layout && pointer && !tensor.shape.empty())
        api_.describe_layout(pointer, tensor.shape.data(), tensor.strides.data(), tensor.shape.size());
    }
    return {};
  }

  std::string fill(const std::vector<TensorRequest>& tensors, Arena& arena, std::uint64_t serial) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const TensorRequest& tensor = tensors[i];
      if (tensor.bytes == 0) continue;
      if (tensor.has_input()) {
        if (api_.copy(pointers_[i], arena.at(tensor.offset_in), tensor.bytes, kHostToDevice) != 0) return "an input cannot be copied to the device";
        continue;
      }
      std::vector<std::uint16_t> poison(tensor.bytes / 2 + 1);
      fill_poison(poison, serial);
      if (api_.copy(pointers_[i], poison.data(), tensor.bytes, kHostToDevice) != 0) return "an output cannot be poisoned";
      if (api_.emulated()) api_.mark_uninitialised(pointers_[i], tensor.bytes);
    }
    return {};
  }

  Json call(const Json& request, const std::vector<TensorRequest>& tensors, Arena& arena) {
    std::vector<void*> pointers = pointers_;
    std::vector<std::uint64_t> values = read_values(request.at("values"));
    std::vector<void*> arguments;
    for (void*& pointer : pointers) arguments.push_back(&pointer);
    for (std::uint64_t& value : values) arguments.push_back(&value);
    api_.last_error();
    if (api_.emulated() && request.contains("schedule_seed")) api_.configure(Json{{"seed", request["schedule_seed"]}}.dump().c_str());
    if (api_.emulated()) api_.begin_call(stream_, request.at("thread_instructions"), request.at("seconds"), request.at("sampled_blocks"));
    const int returned = launcher_(arguments.data(), stream_);
    Json reply = {{"ok", true}, {"returned", returned}, {"completed", true}, {"detail", ""}};
    if (api_.emulated()) {
      const char* log = api_.end_call(returned);
      log_ = log ? log : "";
    } else if (const int error = api_.synchronise(); error != 0) {
      reply["completed"] = false;
      reply["detail"] = api_.error_name(error);
    }
    if (request.at("outputs").get<bool>()) copy_back(tensors, arena, reply);
    return reply;
  }

  void copy_back(const std::vector<TensorRequest>& tensors, Arena& arena, Json& reply) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].bytes == 0) continue;
      if (const int error = api_.copy(arena.at(tensors[i].offset_out), pointers_[i], tensors[i].bytes, kDeviceToHost); error != 0) {
        reply["completed"] = false;
        if (reply["detail"].get_ref<const std::string&>().empty()) reply["detail"] = api_.error_name(error);
      }
    }
  }

  DeviceApi api_;
  Launcher launcher_;
  void* stream_ = nullptr;
  std::vector<void*> pointers_;
  std::string log_;
};

// The reference works on copies of its own, so that writing past one does not reach another.
Json run_reference(Launcher launcher, const Json& request, Arena& arena) {
  std::vector<TensorRequest> tensors;
  for (const Json& json : request.at("tensors")) tensors.push_back(read_tensor(json));
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

// Empty, or why. The libraries that objects need are loaded before, so that the object is the only file opened inside.
std::string prepare(const Json& start, DeviceApi& api, Launcher& launcher) {
  const bool reference = start.at("mode") == "reference";
  if (!reference) {
    if (std::string why = load_device_api(start.at("runtime"), api); !why.empty()) return why;
    if (api.emulated()) {
      if (const char* why = api.configure(start.at("configure").get_ref<const std::string&>().c_str()); why && *why) return why;
      if (api.show_progress) api.show_progress(Arena::header());
    } else if (api.synchronise() != 0) {
      return "the GPU cannot be used";
    }
  }
  for (const char* library : {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1"}) dlopen(library, RTLD_NOW | RTLD_LOCAL);
  const std::string object = start.at("object");
  const bool real_gpu = !reference && !api.emulated();
  if (std::string why = enter_sandbox({object, start.at("memory_bytes"), start.at("cpu_seconds"), real_gpu}); !why.empty()) return why;
  void* handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return std::string("object: ") + dlerror();
  launcher = reinterpret_cast<Launcher>(dlsym(handle, "kforge_call"));
  if (!launcher) return "object: it has no trampoline";
  return real_gpu ? std::string() : close_file_system();
}

// Alone in the world: dies with the parent, sees none of its descriptors.
void detach(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  ::prctl(PR_SET_DUMPABLE, 0);
  ::syscall(SYS_close_range, kArenaFd + 1, ~0u, 0);
  ::clearenv();
}

int serve() {
  FrameHeader header;
  std::string text;
  if (!receive_frame(kSocketFd, header, text) || header.kind != FrameKind::start) return 2;
  DeviceApi api;
  Launcher launcher = nullptr;
  const Json start = Json::parse(text);
  install_reporters();
  const std::string why = prepare(start, api, launcher);
  answer(header.nonce, {{"ok", why.empty()}, {"error", why}, {"emulated", api.emulated()}});
  if (!why.empty()) return 0;
  const bool reference = start.at("mode") == "reference";
  CandidateRunner runner(api, launcher);
  Arena arena;
  while (receive_frame(kSocketFd, header, text) && header.kind == FrameKind::call) {
    const Json request = Json::parse(text);
    if (!arena.map(request.at("arena_bytes"))) {
      answer(header.nonce, {{"ok", false}, {"error", "memory"}});
      continue;
    }
    const Json reply = reference ? run_reference(launcher, request, arena) : runner.run(request, arena);
    answer(header.nonce, reply, runner.log());
  }
  return 0;
}

}  // namespace
}  // namespace kforge::trial

int main(int argc, char** argv) {
  if (argc != 2) return 2;   // started by Kernel Forge alone; the argument is the parent's process id
  kforge::trial::detach(static_cast<pid_t>(std::atol(argv[1])));
  try {
    const int code = kforge::trial::serve();
    ::_exit(code);   // destructors of the candidate's object have nothing to say any more
  } catch (const std::exception&) {
    ::_exit(3);
  }
}
