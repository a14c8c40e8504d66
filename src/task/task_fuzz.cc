// libFuzzer target of the task file: any bytes give a task or an error, and a task gives cases or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "task/cases.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kforge::task;
  const auto task = parse_task({reinterpret_cast<const char*>(data), size}, "fuzz/task.toml");
  if (!task) {
    if (task.error().where.line <= 0 || task.error().message.empty()) __builtin_trap();
    return 0;
  }
  (void)make_cases(*task, {});
  return 0;
}
