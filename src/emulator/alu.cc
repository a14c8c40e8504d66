#include "emulator/alu.h"

namespace kforge::emulator {

bool has_avx2() {
  static const bool found = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  return found;
}

Handler select_cvt(const ptx::Instruction& instruction, bool slots_fit) {
  return has_avx2() ? avx2::select_conversion(instruction, slots_fit) : baseline::select_conversion(instruction, slots_fit);
}

std::uint8_t compare_table(ptx::Compare compare) { return baseline::compare_table(compare); }

Handler select_alu(const ptx::Instruction& instruction, ptx::Exec exec) {
  return has_avx2() ? avx2::select(instruction, exec) : baseline::select(instruction, exec);
}

}  // namespace kforge::emulator
