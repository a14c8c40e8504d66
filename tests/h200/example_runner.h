// Runs an example's object in this process, on whichever runtime is loaded: NVIDIA's or the emulated one. For the program and the test of this folder.
#pragma once

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "task/cases.h"
#include "trial/device_api.h"
#include "trial/references.h"
#include "trial/tensors.h"

namespace kforge::h200 {

using trial::Bytes;
using Launcher = int (*)(void**, void*);

[[noreturn]] inline void stop(const std::string& why) {
  std::cerr << why << "\n";
  std::exit(1);
}
template <class T>
T need(Expected<T> value) {
  if (!value) stop(to_string(value.error()));
  return std::move(*value);
}

// One process, one runtime, one object: what kforge-worker does, without its walls.
class Runner {
 public:
  Runner(const std::string& runtime, const std::string& object, bool profile = false) {
    if (const std::string why = trial::load_device_api(runtime, api_); !why.empty()) stop(why);
    if (api_.emulated()) {
      if (const char* why = api_.configure(profile ? R"({"sheet": "h200", "safety": false, "profile": true, "seed": 1})" : R"({"sheet": "h200", "safety": false, "profile": false, "seed": 1})"); why && *why) stop(why);
    }
    void* handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) stop(dlerror());
    launcher_ = reinterpret_cast<Launcher>(dlsym(handle, "kforge_call"));
    check(api_.create_stream(&stream_, 1), "cudaStreamCreateWithFlags");
  }

  // Outputs of one call, in the task's order, each in a buffer poisoned before.
  std::vector<Bytes> call(const task::Task& task, const task::Sizes& sizes, const std::vector<Bytes>& inputs) {
    const trial::CaseLayout layout = need(trial::lay_out(task, sizes, false));
    std::vector<void*> pointers;
    std::size_t next = 0;
    for (const trial::TensorPlace& place : layout.places) {
      void* pointer = nullptr;
      check(api_.malloc(&pointer, place.bytes), "cudaMalloc");
      const Bytes poison(place.bytes, std::byte{0x7f});
      check(api_.copy(pointer, place.has_input() ? inputs[next++].data() : poison.data(), place.bytes, 1), "cudaMemcpy to the device");
      pointers.push_back(pointer);
    }
    const auto request = nlohmann::json::parse(trial::request_text(task, layout, sizes, {}));
    auto values = request.at("values").get<std::vector<std::uint64_t>>();
    std::vector<void*> arguments;
    for (void*& pointer : pointers) arguments.push_back(&pointer);
    for (std::uint64_t& value : values) arguments.push_back(&value);
    if (api_.emulated()) api_.begin_call(stream_, 0, 0, 0);
    check(launcher_(arguments.data(), stream_), "the launcher");
    if (api_.emulated()) {
      std::size_t bytes = 0;
      const char* log = api_.end_call(0, &bytes);
      log_.assign(log, bytes);
    }
    check(api_.synchronise(), "cudaDeviceSynchronize");
    std::vector<Bytes> outputs;
    for (std::size_t i = 0; i < pointers.size(); ++i) {
      const trial::TensorPlace& place = layout.places[i];
      if (place.has_output()) {
        check(api_.copy(outputs.emplace_back(place.bytes).data(), pointers[i], place.bytes, 2), "cudaMemcpy to the host");
      }
      check(api_.free(pointers[i]), "cudaFree");
    }
    return outputs;
  }
  // JSON of the last call's evidence::LaunchLog; empty on a GPU.
  const std::string& log() const { return log_; }

 private:
  void check(int error, const char* what) const {
    if (error != 0) stop(fmt::format("{}: {}", what, api_.error_name(error)));
  }
  trial::DeviceApi api_;
  Launcher launcher_ = nullptr;
  void* stream_ = nullptr;
  std::string log_;
};

inline std::vector<trial::Job> every_job(const task::Task& task) {
  const auto cases = need(task::make_cases(task, {.seed = 1, .with_measure = true, .tile_sizes = {}}));
  auto jobs = trial::jobs_of(cases, false);
  for (trial::Job& job : trial::jobs_of(cases, true)) jobs.push_back(std::move(job));
  return jobs;
}

}  // namespace kforge::h200
