// A worker is handed a file with its inputs: they lie where a request says, and nobody can change them.
#include "trial/sealed_inputs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace kforge::trial {
namespace {

task::Task two_inputs() {
  task::Task task;
  for (const auto& [name, role] : {std::pair{"a", task::Role::in}, std::pair{"y", task::Role::out}, std::pair{"b", task::Role::inout}}) {
    task::Tensor tensor;
    tensor.name = name;
    tensor.role = role;
    tensor.dtype = task::Dtype::f32;
    tensor.shape = {"n"};
    task.tensors.push_back(tensor);
  }
  return task;
}

TEST(SealedInputs, LieAtTheirPlacesAndCannotBeChanged) {
  const task::Task task = two_inputs();
  const auto layout = lay_out(task, {{"n", 300}}, false);
  ASSERT_TRUE(layout);
  const std::vector<Bytes> inputs = {Bytes(1200, std::byte{1}), Bytes(1200, std::byte{2})};
  const auto sealed = SealedInputs::of(*layout, inputs);
  ASSERT_TRUE(sealed) << to_string(sealed.error());
  EXPECT_EQ((*sealed)->held(), 2400u);
  EXPECT_EQ((*sealed)->bytes(), layout->arena_bytes);
  const int fd = (*sealed)->fd();
  Bytes back(1200);
  ASSERT_EQ(::pread(fd, back.data(), back.size(), static_cast<off_t>(layout->places[0].in)), 1200);
  EXPECT_EQ(back, inputs[0]);
  ASSERT_EQ(::pread(fd, back.data(), back.size(), static_cast<off_t>(layout->places[2].in)), 1200);
  EXPECT_EQ(back, inputs[1]);
  EXPECT_EQ(::pwrite(fd, back.data(), back.size(), 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  EXPECT_NE(::ftruncate(fd, 1 << 20), 0);
}

}  // namespace
}  // namespace kforge::trial
