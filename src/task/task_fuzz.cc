// libFuzzer target of the task file: any bytes give a task or an error, and a task gives cases or an error; a formula, sources.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "task/cases.h"
#include "task/formula.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kforge::task;
  const auto task = parse_task({reinterpret_cast<const char*>(data), size}, "fuzz/task.toml");
  if (!task) {
    if (task.error().where.line <= 0 || task.error().message.empty()) __builtin_trap();
    return 0;
  }
  (void)make_cases(*task, {});
  if (!task->formula.empty()) {
    if (!formula::to_reference_source(*task)) __builtin_trap();   // a task that was read has a formula that can be computed
    (void)formula::to_naive_source(*task);
  }
  return 0;
}
