// Maths functions in float and double against the host's, with CUDA's documented errors; intrinsics with a rounding.
#include <cfenv>

#include "self_check.h"

struct Row {
  double device, host;
  double ulps;   // allowed, of the type
  bool single;
  const char* name;
};

template <class T>
__host__ __device__ T argument(int i) { return static_cast<T>(0.03125 + i * 0.37); }

#define FUNCTIONS(X) \
  X(sin, sin(x), 2) X(cos, cos(x), 2) X(tan, tan(x), 4) X(asin, asin(x / 40), 4) X(acos, acos(x / 40), 4) X(atan, atan(x), 2) X(atan2, atan2(x, T(1.7) - x), 3) \
  X(sinh, sinh(x / 3), 3) X(cosh, cosh(x / 3), 2) X(tanh, tanh(x / 3), 2) X(asinh, asinh(x), 4) X(acosh, acosh(x + 1), 4) X(atanh, atanh(x / 40), 3) \
  X(exp, exp(x), 2) X(exp2, exp2(x), 2) X(expm1, expm1(x / 5), 1) X(log, log(x), 1) X(log2, log2(x), 1) X(log10, log10(x), 2) X(log1p, log1p(x), 1) \
  X(pow, pow(x, T(1.3)), 4) X(sqrt, sqrt(x), 0) X(cbrt, cbrt(x), 1) X(hypot, hypot(x, T(3) - x), 3) X(erf, erf(x / 4), 2) X(erfc, erfc(x / 4), 5) \
  X(tgamma, tgamma(x / 4), 10) X(lgamma, lgamma(x + 3), 6) X(fmod, fmod(x * 10, T(0.7)), 0) X(remainder, remainder(x * 10, T(0.7)), 0) X(floor, floor(x), 0) \
  X(ceil, ceil(x), 0) X(trunc, trunc(-x), 0) X(round, round(-x), 0) X(rint, rint(x * 2), 0) X(nearbyint, nearbyint(x), 0) X(fabs, fabs(-x), 0) X(fma, fma(x, x, T(-1)), 0) \
  X(fmax, fmax(x, T(5)), 0) X(fmin, fmin(x, T(5)), 0) X(fdim, fdim(x, T(4)), 0) X(copysign, copysign(x, T(-1)), 0) X(ldexp, ldexp(x, 5), 0) X(scalbn, scalbn(x, -7), 0) \
  X(logb, logb(x), 0) X(ilogb, T(ilogb(x)), 0) X(nextafter, nextafter(x, T(100)), 0) X(frexp, frexp(x, &whole) + whole, 0) X(lrint, T(lrint(x)), 0) X(llround, T(llround(-x)), 0)

enum Index {
#define ENTRY(name, expression, ulps) k_##name,
  FUNCTIONS(ENTRY)
#undef ENTRY
  kCount
};

template <class T>
__global__ void evaluate(T* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const T x = argument<T>(i);
  int whole = 0;
#define ENTRY(name, expression, ulps) out[k_##name * count + i] = expression;
  FUNCTIONS(ENTRY)
#undef ENTRY
  (void)whole;
}

template <class T>
void compare(int count, double epsilon) {
  T* out = managed<T>(static_cast<std::size_t>(kCount) * count);
  evaluate<T><<<(count + 63) / 64, 64>>>(out, count);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < count; ++i) {
    const T x = argument<T>(i);
    int whole = 0;
    using std::fabs;
#define ENTRY(name, expression, ulps)                                                                                                     \
  {                                                                                                                                       \
    const double expected = expression, seen = out[k_##name * count + i];                                                                 \
    if (!(fabs(seen - expected) <= (ulps + 1) * epsilon * fabs(expected) + (ulps == 0 ? 0 : epsilon * epsilon))) {                                          \
      ++g_failures;                                                                                                                       \
      std::printf("FAIL %s(%s) at %.9g: %.17g, not %.17g\n", #name, sizeof(T) == 8 ? "double" : "float", static_cast<double>(x), seen, expected); \
    }                                                                                                                                     \
  }
    FUNCTIONS(ENTRY)
#undef ENTRY
  }
}

__global__ void special(double* out, float* single) {
  int k = 0;
  out[k++] = rsqrt(4.0);
  out[k++] = rcbrt(8.0);
  out[k++] = exp10(2.0);
  out[k++] = sinpi(0.5);
  out[k++] = cospi(1.0);
  out[k++] = erfinv(0.5);
  out[k++] = erfcinv(0.5);
  out[k++] = normcdf(0.0);
  out[k++] = normcdfinv(0.975);
  out[k++] = j0(1.0);
  out[k++] = j1(1.0);
  out[k++] = jn(2, 1.0);
  out[k++] = y0(1.0);
  out[k++] = y1(1.0);
  out[k++] = cyl_bessel_i0(1.0);
  out[k++] = cyl_bessel_i1(1.0);
  out[k++] = norm3d(1.0, 2.0, 2.0);
  out[k++] = rhypot(3.0, 4.0);
  out[k++] = erfcx(1.0);
  double s, c, whole;
  sincos(1.0, &s, &c);
  out[k++] = s * s + c * c;
  sincospi(0.25, &s, &c);
  out[k++] = s - c;
  out[k++] = modf(3.25, &whole) + whole * 10;
  int quotient;
  out[k++] = remquo(7.5, 2.0, &quotient) + quotient * 10;
  out[k++] = __dadd_ru(1.0, 1e-20);
  out[k++] = __dmul_rd(1.0 / 3, 3.0);
  out[k++] = __ddiv_rz(1.0, 3.0);
  out[k++] = __dsqrt_rn(2.0);
  out[k++] = __fma_ru(1.0, 1.0, 1e-20);
  out[k++] = __double2int_rd(-2.5);
  out[k++] = __double2ll_rn(2.5);
  out[k++] = __hiloint2double(0x40080000, 0);
  out[k++] = static_cast<double>(__double_as_longlong(1.0) >> 52);
  out[k++] = isnan(nan("")) + 2 * isinf(-1 / 0.0) + 4 * isfinite(1.0) + 8 * signbit(-0.0);
  k = 0;
  single[k++] = __sinf(1);
  single[k++] = __cosf(1);
  single[k++] = __expf(1);
  single[k++] = __logf(10);
  single[k++] = __powf(2, 3.5f);
  single[k++] = __fdividef(1, 3);
  single[k++] = __fadd_rd(1, 1e-10f);
  single[k++] = __fadd_ru(1, 1e-10f);
  single[k++] = __fmul_rz(1.0f / 3, 3);
  single[k++] = __frcp_rn(3);
  single[k++] = __fsqrt_ru(2);
  single[k++] = __saturatef(1.5f);
  single[k++] = __float2int_rz(-2.7f);
  single[k++] = __float2uint_ru(2.1f);
  single[k++] = __int2float_rd(16777217);
  single[k++] = __uint_as_float(0x40490fdb);
  single[k++] = __tanf(0.5f);
  single[k++] = rsqrtf(16);
  single[k++] = __exp10f(2);
  single[k++] = __log2f(8);
}

int main() {
  compare<float>(90, 1.1920929e-7);
  compare<double>(90, 2.220446049250313e-16);
  double* out = managed<double>(40);
  float* single = managed<float>(24);
  special<<<1, 1>>>(out, single);
  CHECK(cudaDeviceSynchronize());
  const double expected[] = {0.5, 0.5, 100, 1, -1, 0.47693627620446987, 0.47693627620446987, 0.5, 1.959963984540054, 0.7651976865579666, 0.4400505857449335, 0.1149034849319005,
                             0.08825696421567697, -0.7812128213002887, 1.2660658777520082, 0.5651591039924850, 3, 0.2, 0.427583576155807, 1, 0, 30.25,
                             -0.5 + 40, 1 + 2.220446049250313e-16, 1 - 1.1102230246251565e-16, 0.3333333333333333, 1.4142135623730951, 1 + 2.220446049250313e-16, -3, 2, 3, 1023, 15};
  for (unsigned i = 0; i < sizeof expected / sizeof *expected; ++i)
    if (std::fabs(out[i] - expected[i]) > 1e-12 * (1 + std::fabs(expected[i]))) {
      std::printf("special %u: ", i);
      EXPECT_EQ(out[i], expected[i]);
    }
  const float floats[] = {0.84147098f, 0.54030231f, 2.7182818f, 2.3025851f, 11.313708f, 0.33333333f, 1, 1 + 1.1920929e-7f, 1, 0.33333334f, 1.4142137f, 1, -2, 3, 16777216, 3.14159274f, 0.5463025f, 0.25f, 100, 3};
  for (unsigned i = 0; i < sizeof floats / sizeof *floats; ++i)
    if (std::fabs(single[i] - floats[i]) > 2e-6f * (1 + std::fabs(floats[i]))) {
      std::printf("single %u: ", i);
      EXPECT_EQ(single[i], floats[i]);
    }
  return finish();
}
