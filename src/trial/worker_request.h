// The worker's side of a request: what the parent asks for, and the shared memory in which the tensors lie.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trial/protocol.h"

namespace kforge::trial {

using Json = nlohmann::json;
using Launcher = int (*)(void** arguments, void* stream);   // a candidate's or a reference's trampoline

inline constexpr int kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3;   // cudaMemcpyKind
inline constexpr unsigned kNonBlockingStream = 1;                                 // cudaStreamNonBlocking

struct TensorRequest {
  std::string name;
  int role = 0;                        // 0 in, 1 out, 2 inout
  std::uint64_t bytes = 0, element_bytes = 1;
  std::uint64_t offset_in = 0, offset_out = 0;   // in the arena
  std::vector<std::int64_t> shape, strides;      // of a tensor with strides of its own
  bool has_input() const { return role != 1; }
  bool has_output() const { return role != 0; }
};

inline TensorRequest read_tensor(const Json& json) {
  return {json.at("name"), json.at("role"), json.at("bytes"), json.at("element_bytes"), json.at("in"), json.at("out"),
          json.value("shape", std::vector<std::int64_t>()), json.value("strides", std::vector<std::int64_t>())};
}

inline std::vector<TensorRequest> read_tensors(const Json& request) {
  std::vector<TensorRequest> out;
  for (const Json& json : request.at("tensors")) out.push_back(read_tensor(json));
  return out;
}

// The arguments after the tensors: values of their exact size.
inline std::vector<std::uint64_t> read_values(const Json& json) { return json.get<std::vector<std::uint64_t>>(); }

inline Json failure(const std::string& why) { return {{"ok", false}, {"error", why}}; }

class Arena {
 public:
  explicit Arena(int fd = kArenaFd) : fd_(fd) {}
  bool map(std::uint64_t bytes) {
    bytes += kArenaHeaderBytes;
    if (bytes <= bytes_) return true;
    if (base_) ::munmap(base_, bytes_);
    void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
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
  int fd_;
  std::byte* base_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// Where a call's inputs lie: in the arena, or in a sealed file of their own (sealed_inputs.h), mapped for as long as this lives.
class Inputs {
 public:
  Inputs(const Arena& arena, std::uint64_t sealed_bytes) : arena_(arena), bytes_(sealed_bytes) {
    if (bytes_ != 0) sealed_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, kInputsFd, 0);
  }
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;
  ~Inputs() {
    if (bytes_ != 0 && *this) ::munmap(sealed_, bytes_);
  }
  explicit operator bool() const { return sealed_ != MAP_FAILED; }
  const std::byte* at(std::uint64_t offset) const { return bytes_ != 0 ? static_cast<const std::byte*>(sealed_) + offset : arena_.at(offset); }

 private:
  const Arena& arena_;
  void* sealed_ = nullptr;
  std::uint64_t bytes_;
};

}  // namespace kforge::trial
