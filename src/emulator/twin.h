// For tests: one program on the fast executor, with all observers, and on the reference engine, over the same memory and textures.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emulator/reference_engine.h"
#include "emulator/testing.h"

namespace kforge::emulator {

class Twin {
 public:
  using Buffer = std::size_t;

  // As TestDevice::load_body.
  explicit Twin(const std::string& body, const std::string& before = "", const std::string& target = "sm_90") {
    const std::string text = TestDevice::body_text(body, before, target);
    fast.load(text);
    auto parsed = ptx::parse(text);
    if (parsed) right = std::make_unique<ReferenceEngine>(std::make_shared<const ptx::Module>(std::move(*parsed)));
  }

  template <class T>
  Buffer buffer(const std::vector<T>& values) {
    buffers_.push_back({fast.buffer(values), right->allocate(values.size() * sizeof(T))});
    std::memcpy(right->bytes(buffers_.back().right).data(), values.data(), values.size() * sizeof(T));
    return buffers_.size() - 1;
  }

  // Image::data of the argument: bytes from the buffer's start. The handle is the same on both.
  std::uint64_t texture(Buffer buffer, const Texture& texture) {
    Texture a = texture, b = texture;
    for (Image& level : a.levels) level.data += buffers_[buffer].fast->base;
    for (Image& level : b.levels) level.data += buffers_[buffer].right;
    right->textures().add(b);
    return fast.device.textures().add(a);
  }
  std::uint64_t surface(Buffer buffer, const Image& image) {
    Surface a{image}, b{image};
    a.image.data += buffers_[buffer].fast->base;
    b.image.data += buffers_[buffer].right;
    right->textures().add(b);
    return fast.device.textures().add(a);
  }

  // Both end well, without findings.
  void launch(Buffer p, Buffer q, std::uint32_t n, std::uint32_t threads) {
    const LaunchResult ended = fast.launch(buffers_[p].fast->base, buffers_[q].fast->base, n, {1, 1, 1}, {threads, 1, 1});
    EXPECT_EQ(ended.status, LaunchStatus::ok) << ended.detail;
    for (const evidence::Violation& v : fast.device.take_log().violations) EXPECT_FALSE(v.contract.starts_with("safety.")) << v.contract << ": " << v.message;
    std::vector<std::byte> parameters(20);
    std::memcpy(parameters.data(), &buffers_[p].right, 8);
    std::memcpy(parameters.data() + 8, &buffers_[q].right, 8);
    std::memcpy(parameters.data() + 16, &n, 4);
    EXPECT_EQ(right->launch({"kernel", {1, 1, 1}, {threads, 1, 1}, 0, parameters}).error, "");
  }

  template <class T>
  std::vector<T> values(Buffer buffer) const { return TestDevice::values<T>(buffers_[buffer].fast); }
  template <class T>
  std::vector<T> right_values(Buffer buffer) const {
    const auto bytes = right->bytes(buffers_[buffer].right);
    std::vector<T> result(bytes.size() / sizeof(T));
    std::memcpy(result.data(), bytes.data(), result.size() * sizeof(T));
    return result;
  }
  void expect_same(Buffer buffer, const std::string& what) const { EXPECT_EQ(values<std::uint32_t>(buffer), right_values<std::uint32_t>(buffer)) << what; }

  TestDevice fast;
  std::unique_ptr<ReferenceEngine> right;

 private:
  struct Pair { Allocation* fast; std::uint64_t right; };
  std::vector<Pair> buffers_;
};

}  // namespace kforge::emulator
