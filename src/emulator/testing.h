// For tests: a device with small PTX programs on it.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "emulator/device.h"
#include "ptx/parser.h"

namespace kforge::emulator {

class TestDevice {
 public:
  explicit TestDevice(const hardware::DataSheet& own = sheet()) : device(own) {}

  static hardware::DataSheet sheet() {
    hardware::DataSheet sheet;
    sheet.name = "test";
    sheet.multiprocessors = 4;
    sheet.max_blocks_per_sm = 16;
    sheet.max_warps_per_sm = 64;
    return sheet;
  }

  void load(const std::string& text) {
    auto parsed = ptx::parse(text);
    ASSERT_TRUE(parsed.has_value()) << to_string(parsed.error());
    auto loaded = device.load(std::make_shared<const ptx::Module>(std::move(*parsed)));
    ASSERT_TRUE(loaded.has_value()) << to_string(loaded.error());
    module = *loaded;
  }

  // `body` is the body of `kernel(.param .u64 p, .param .u64 q, .param .u32 n)` with registers of each common kind declared.
  void load_body(const std::string& body, const std::string& before = "", const std::string& target = "sm_90") { load(body_text(body, before, target)); }
  static std::string body_text(const std::string& body, const std::string& before, const std::string& target) {
    return ".version 9.0\n.target " + target + "\n.address_size 64\n" + before +
         "\n.visible .entry kernel(.param .u64 p, .param .u64 q, .param .u32 n)\n{\n"
         ".reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<32>; .reg .b64 %rd<32>; .reg .f32 %f<16>; .reg .f64 %fd<16>;\n" +
           body + "\n}\n";
  }

  template <class T>
  Allocation* buffer(const std::vector<T>& values, std::string label = "x") {
    Allocation* allocation = device.memory().allocate(values.size() * sizeof(T), MemoryKind::device, std::move(label));
    std::memcpy(allocation->data, values.data(), values.size() * sizeof(T));
    allocation->all_initialised = true;
    return allocation;
  }

  template <class T>
  static std::vector<T> values(const Allocation* allocation) {
    std::vector<T> result(allocation->size / sizeof(T));
    std::memcpy(result.data(), allocation->data, result.size() * sizeof(T));
    return result;
  }

  LaunchResult launch(Address p, Address q, std::uint32_t n, evidence::Dim3 grid, evidence::Dim3 block, std::uint32_t dynamic = 0, bool cooperative = false) {
    std::vector<std::byte> parameters(20);
    std::memcpy(parameters.data(), &p, 8);
    std::memcpy(parameters.data() + 8, &q, 8);
    std::memcpy(parameters.data() + 16, &n, 4);
    LaunchRequest request;
    request.kernel = device.find_kernel(module, "kernel");
    request.grid = grid;
    request.block = block;
    request.dynamic_shared_bytes = dynamic;
    request.cooperative = cooperative;
    request.parameters = parameters;
    return device.launch(request);
  }

  Device device;
  LoadedModule* module = nullptr;
};

inline std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace kforge::emulator
