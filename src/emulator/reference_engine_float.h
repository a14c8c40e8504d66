// Exact binary floating point for the reference engine: every finite value of every format is a whole multiple of 2^-2500,
// held in one wide integer, so that sums and products have no error and rounding happens once, bit by bit, as IEEE 754
// defines it. Slow on purpose: there is no alignment, no sticky bit and no case distinction that could be wrong.
#pragma once

#include <array>
#include <cstdint>

#include "ptx/module.h"

namespace kforge::emulator::reference {

__extension__ typedef __int128 Int;
__extension__ typedef unsigned __int128 Wide;

struct Format {
  int exponent_bits, fraction_bits;
  bool has_infinity;
  std::uint64_t nan;             // the canonical NaN of the PTX manual
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint64_t sign_bit() const { return std::uint64_t{1} << (exponent_bits + fraction_bits); }
  std::uint64_t infinity() const { return ((std::uint64_t{1} << exponent_bits) - 1) << fraction_bits; }
  std::uint64_t largest() const { return has_infinity ? infinity() - 1 : nan - 1; }
};
// The element's format of any floating type, pairs included. REQUIRES: ptx::is_float(type).
const Format& format_of(ptx::Type type);

// |value| in units of 2^-kScale, and a sign that zero has too.
class Exact {
 public:
  static constexpr int kScale = 2500;
  bool negative = false;
  bool is_zero() const;
  int top_bit() const;                       // position of the highest set bit; -1: zero
  bool bit(int position) const;
  bool any_below(int position) const;        // any set bit lower than position
  // Adds significand * 2^exponent to the magnitude. REQUIRES: exponent >= -kScale.
  void add_scaled(Wide significand, int exponent);
  // Magnitudes only.
  static int compare(const Exact& a, const Exact& b);
  void add_magnitude(const Exact& other);
  void subtract_magnitude(const Exact& other);   // REQUIRES: other's is not larger

 private:
  static constexpr std::size_t kWords = 80;      // up to 2^2620
  std::array<std::uint64_t, kWords> words_{};
};

struct Number {
  enum class Kind : std::uint8_t { finite, infinite, nan } kind = Kind::finite;
  bool negative = false;
  std::uint64_t significand = 0;             // finite: significand * 2^exponent
  int exponent = 0;
  bool is_nan() const { return kind == Kind::nan; }
  bool is_infinite() const { return kind == Kind::infinite; }
  bool is_zero() const { return kind == Kind::finite && significand == 0; }
};

Number decode(std::uint64_t bits, const Format& format);
Exact exact(const Number& finite);
// The bits of the value rounded once. `saturate`: what is too large becomes the largest finite value.
std::uint64_t round(const Exact& value, const Format& format, ptx::Rounding mode, bool saturate = false);

// Arithmetic on bits of one format, as IEEE 754 has it; NaN results are the format's canonical NaN.
std::uint64_t add(std::uint64_t a, std::uint64_t b, const Format& format, ptx::Rounding mode);
std::uint64_t multiply(std::uint64_t a, std::uint64_t b, const Format& format, ptx::Rounding mode);
std::uint64_t fused(std::uint64_t a, std::uint64_t b, std::uint64_t c, const Format& format, ptx::Rounding mode);
std::uint64_t divide(std::uint64_t a, std::uint64_t b, const Format& format, ptx::Rounding mode);
std::uint64_t square_root(std::uint64_t a, const Format& format, ptx::Rounding mode);
// -1 less, 0 equal (zeros are), 1 greater, 2 unordered.
int compare(std::uint64_t a, std::uint64_t b, const Format& format);

bool is_nan(std::uint64_t bits, const Format& format);
// Subnormals become zeros of their sign.
std::uint64_t flush(std::uint64_t bits, const Format& format);
// .sat: [0, 1], NaN becomes +0.
std::uint64_t saturate(std::uint64_t bits, const Format& format);
// A finite or infinite number rounded to an integral value (rni, rzi, rmi, rpi; none: as it is): sign and magnitude.
// Magnitudes above 2^100 stay as they are: they are integral.
Exact round_integral(const Number& finite, ptx::Rounding mode);
double to_double(std::uint64_t bits, const Format& format);   // exact for every format

}  // namespace kforge::emulator::reference
