// How the processor rounds and whether it flushes what is tiny: the host program may set both, and a GPU knows of neither.
#pragma once

#include <xmmintrin.h>

#include <cstdint>

namespace kforge::cudart {

// Control bits of MXCSR and the x87 control word, without the flags of what happened (Intel SDM volume 1, 8.1.5 and 10.2.3).
class FloatEnvironment {
 public:
  static FloatEnvironment now() {
    FloatEnvironment out;
    out.vectors_ = _mm_getcsr() & ~kFlags;
    asm volatile("fnstcw %0" : "=m"(out.x87_));
    return out;
  }
  void set() const {
    _mm_setcsr(vectors_);
    asm volatile("fldcw %0" : : "m"(x87_));
  }
  friend bool operator==(const FloatEnvironment&, const FloatEnvironment&) = default;

 private:
  static constexpr std::uint32_t kFlags = 0x3f;
  std::uint32_t vectors_ = 0x1f80;   // round to nearest, nothing flushed, nothing trapped: what a process starts with
  std::uint16_t x87_ = 0x037f;
};

// While it lives the emulated device computes as a GPU does, however the program has set the processor.
class DeviceArithmetic {
 public:
  DeviceArithmetic() {
    if (!(program_ == FloatEnvironment())) FloatEnvironment().set();
  }
  ~DeviceArithmetic() {
    if (!(program_ == FloatEnvironment())) program_.set();
  }
  DeviceArithmetic(const DeviceArithmetic&) = delete;
  DeviceArithmetic& operator=(const DeviceArithmetic&) = delete;

 private:
  FloatEnvironment program_ = FloatEnvironment::now();
};

}  // namespace kforge::cudart
