#include "task/formula_ops.h"

#include <cmath>

namespace kforge::task::formula {
namespace {

using F = double;
constexpr auto G0 = Group::leaf, G1 = Group::unary, G2 = Group::binary, G3 = Group::ternary, GR = Group::reduction;
constexpr auto Real = KindRule::real, Arithmetic = KindRule::arithmetic, Compare = KindRule::compare, Logic = KindRule::logic, Same = KindRule::same;

// Order of the enumeration. Operands may stand in a text more than once: who emits it binds them first.
constexpr std::array<OpRow, kOpCount> kTable{{
    {Op::constant, "", G0, KindRule::own, "", "", "", nullptr, 0},
    {Op::tensor, "", G0, KindRule::own, "", "", "", nullptr, 0},
    {Op::scalar, "", G0, KindRule::own, "", "", "", nullptr, 0},
    {Op::size, "", G0, KindRule::own, "", "", "", nullptr, 0},
    {Op::arange, "", G0, KindRule::own, "", "", "", nullptr, 0},

    {Op::negate, "", G1, Same, "(-{0})", "(-{0})", "(-{0})", [](F a, F, F) { return -a; }, 1},
    {Op::logical_not, "", G1, Logic, "(!{0})", "(!{0})", "(!{0})", [](F a, F, F) { return F(a == 0); }, 1},
    {Op::abs, "abs", G1, Same, "std::fabs({0})", "fabsf({0})", "::fabs({0})", [](F a, F, F) { return std::fabs(a); }, 1, "({0} < 0 ? -{0} : {0})"},
    {Op::exp, "exp", G1, Real, "std::exp({0})", "expf({0})", "::exp({0})", [](F a, F, F) { return std::exp(a); }, 1},
    {Op::exp2, "exp2", G1, Real, "std::exp2({0})", "exp2f({0})", "::exp2({0})", [](F a, F, F) { return std::exp2(a); }, 1},
    {Op::expm1, "expm1", G1, Real, "std::expm1({0})", "expm1f({0})", "::expm1({0})", [](F a, F, F) { return std::expm1(a); }, 1},
    {Op::log, "log", G1, Real, "std::log({0})", "logf({0})", "::log({0})", [](F a, F, F) { return std::log(a); }, 1},
    {Op::log2, "log2", G1, Real, "std::log2({0})", "log2f({0})", "::log2({0})", [](F a, F, F) { return std::log2(a); }, 1},
    {Op::log10, "log10", G1, Real, "std::log10({0})", "log10f({0})", "::log10({0})", [](F a, F, F) { return std::log10(a); }, 1},
    {Op::log1p, "log1p", G1, Real, "std::log1p({0})", "log1pf({0})", "::log1p({0})", [](F a, F, F) { return std::log1p(a); }, 1},
    {Op::sqrt, "sqrt", G1, Real, "std::sqrt({0})", "sqrtf({0})", "::sqrt({0})", [](F a, F, F) { return std::sqrt(a); }, 1},
    {Op::rsqrt, "rsqrt", G1, Real, "(1.0 / std::sqrt({0}))", "rsqrtf({0})", "::rsqrt({0})", [](F a, F, F) { return 1 / std::sqrt(a); }, 1},
    {Op::reciprocal, "reciprocal", G1, Real, "(1.0 / {0})", "(1.0f / {0})", "(1.0 / {0})", [](F a, F, F) { return 1 / a; }, 1},
    {Op::tanh, "tanh", G1, Real, "std::tanh({0})", "tanhf({0})", "::tanh({0})", [](F a, F, F) { return std::tanh(a); }, 1},
    {Op::sinh, "sinh", G1, Real, "std::sinh({0})", "sinhf({0})", "::sinh({0})", [](F a, F, F) { return std::sinh(a); }, 1},
    {Op::cosh, "cosh", G1, Real, "std::cosh({0})", "coshf({0})", "::cosh({0})", [](F a, F, F) { return std::cosh(a); }, 1},
    {Op::sigmoid, "sigmoid", G1, Real, "(1.0 / (1.0 + std::exp(-{0})))", "(1.0f / (1.0f + expf(-{0})))", "(1.0 / (1.0 + ::exp(-{0})))",
     [](F a, F, F) { return 1 / (1 + std::exp(-a)); }, 3},
    {Op::erf, "erf", G1, Real, "std::erf({0})", "erff({0})", "::erf({0})", [](F a, F, F) { return std::erf(a); }, 1},
    {Op::erfc, "erfc", G1, Real, "std::erfc({0})", "erfcf({0})", "::erfc({0})", [](F a, F, F) { return std::erfc(a); }, 1},
    {Op::sin, "sin", G1, Real, "std::sin({0})", "sinf({0})", "::sin({0})", [](F a, F, F) { return std::sin(a); }, 1},
    {Op::cos, "cos", G1, Real, "std::cos({0})", "cosf({0})", "::cos({0})", [](F a, F, F) { return std::cos(a); }, 1},
    {Op::tan, "tan", G1, Real, "std::tan({0})", "tanf({0})", "::tan({0})", [](F a, F, F) { return std::tan(a); }, 1},
    {Op::asin, "asin", G1, Real, "std::asin({0})", "asinf({0})", "::asin({0})", [](F a, F, F) { return std::asin(a); }, 1},
    {Op::acos, "acos", G1, Real, "std::acos({0})", "acosf({0})", "::acos({0})", [](F a, F, F) { return std::acos(a); }, 1},
    {Op::atan, "atan", G1, Real, "std::atan({0})", "atanf({0})", "::atan({0})", [](F a, F, F) { return std::atan(a); }, 1},
    {Op::floor, "floor", G1, Same, "std::floor({0})", "floorf({0})", "::floor({0})", [](F a, F, F) { return std::floor(a); }, 1, "{0}"},
    {Op::ceil, "ceil", G1, Same, "std::ceil({0})", "ceilf({0})", "::ceil({0})", [](F a, F, F) { return std::ceil(a); }, 1, "{0}"},
    {Op::round, "round", G1, Same, "std::nearbyint({0})", "rintf({0})", "::rint({0})", [](F a, F, F) { return std::nearbyint(a); }, 1, "{0}"},
    {Op::trunc, "trunc", G1, Same, "std::trunc({0})", "truncf({0})", "::trunc({0})", [](F a, F, F) { return std::trunc(a); }, 1, "{0}"},
    {Op::sign, "sign", G1, Same, "static_cast<double>(({0} > 0) - ({0} < 0))", "static_cast<float>(({0} > 0) - ({0} < 0))",
     "static_cast<double>(({0} > 0) - ({0} < 0))",
     [](F a, F, F) { return F((a > 0) - (a < 0)); }, 2, "(({0} > 0) - ({0} < 0))"},
    {Op::to_integer, "int", G1, KindRule::own, "{0}", "{0}", "{0}", [](F a, F, F) { return std::trunc(a); }, 0},
    {Op::to_real, "float", G1, KindRule::own, "{0}", "{0}", "{0}", [](F a, F, F) { return a; }, 0},
    {Op::is_nan, "isnan", G1, Compare, "std::isnan({0})", "isnan({0})", "::isnan({0})", [](F a, F, F) { return F(std::isnan(a)); }, 1},

    {Op::add, "+", G2, Arithmetic, "({0} + {1})", "({0} + {1})", "({0} + {1})", [](F a, F b, F) { return a + b; }, 1},
    {Op::subtract, "-", G2, Arithmetic, "({0} - {1})", "({0} - {1})", "({0} - {1})", [](F a, F b, F) { return a - b; }, 1},
    {Op::multiply, "*", G2, Arithmetic, "({0} * {1})", "({0} * {1})", "({0} * {1})", [](F a, F b, F) { return a * b; }, 1},
    {Op::divide, "/", G2, Real, "({0} / {1})", "({0} / {1})", "({0} / {1})", [](F a, F b, F) { return a / b; }, 1},
    {Op::power, "pow", G2, Real, "std::pow({0}, {1})", "powf({0}, {1})", "::pow({0}, {1})", [](F a, F b, F) { return std::pow(a, b); }, 1},
    {Op::minimum, "min", G2, Arithmetic, "std::fmin({0}, {1})", "fminf({0}, {1})", "::fmin({0}, {1})", [](F a, F b, F) { return std::fmin(a, b); }, 1, "({1} < {0} ? {1} : {0})"},
    {Op::maximum, "max", G2, Arithmetic, "std::fmax({0}, {1})", "fmaxf({0}, {1})", "::fmax({0}, {1})", [](F a, F b, F) { return std::fmax(a, b); }, 1, "({1} > {0} ? {1} : {0})"},
    {Op::atan2, "atan2", G2, Real, "std::atan2({0}, {1})", "atan2f({0}, {1})", "::atan2({0}, {1})", [](F a, F b, F) { return std::atan2(a, b); }, 1},
    {Op::hypot, "hypot", G2, Real, "std::hypot({0}, {1})", "hypotf({0}, {1})", "::hypot({0}, {1})", [](F a, F b, F) { return std::hypot(a, b); }, 3},
    {Op::fmod, "fmod", G2, Real, "std::fmod({0}, {1})", "fmodf({0}, {1})", "::fmod({0}, {1})", [](F a, F b, F) { return std::fmod(a, b); }, 1},
    {Op::less, "<", G2, Compare, "({0} < {1})", "({0} < {1})", "({0} < {1})", [](F a, F b, F) { return F(a < b); }, 1},
    {Op::less_equal, "<=", G2, Compare, "({0} <= {1})", "({0} <= {1})", "({0} <= {1})", [](F a, F b, F) { return F(a <= b); }, 1},
    {Op::greater, ">", G2, Compare, "({0} > {1})", "({0} > {1})", "({0} > {1})", [](F a, F b, F) { return F(a > b); }, 1},
    {Op::greater_equal, ">=", G2, Compare, "({0} >= {1})", "({0} >= {1})", "({0} >= {1})", [](F a, F b, F) { return F(a >= b); }, 1},
    {Op::equal, "==", G2, Compare, "({0} == {1})", "({0} == {1})", "({0} == {1})", [](F a, F b, F) { return F(a == b); }, 1},
    {Op::not_equal, "!=", G2, Compare, "({0} != {1})", "({0} != {1})", "({0} != {1})", [](F a, F b, F) { return F(a != b); }, 1},
    {Op::logical_and, "and", G2, Logic, "({0} && {1})", "({0} && {1})", "({0} && {1})", [](F a, F b, F) { return F(a != 0 && b != 0); }, 1},
    {Op::logical_or, "or", G2, Logic, "({0} || {1})", "({0} || {1})", "({0} || {1})", [](F a, F b, F) { return F(a != 0 || b != 0); }, 1},

    {Op::where, "where", G3, KindRule::select, "({0} ? {1} : {2})", "({0} ? {1} : {2})", "({0} ? {1} : {2})", [](F a, F b, F c) { return a != 0 ? b : c; }, 1},

    // Of a reduction, {0} is what was gathered so far and {1} the next element.
    {Op::sum, "sum", GR, Same, "({0} + {1})", "({0} + {1})", "({0} + {1})", [](F a, F b, F) { return a + b; }, 1},
    {Op::product, "prod", GR, Same, "({0} * {1})", "({0} * {1})", "({0} * {1})", [](F a, F b, F) { return a * b; }, 1},
    {Op::reduce_minimum, "min", GR, Same, "std::fmin({0}, {1})", "fminf({0}, {1})", "::fmin({0}, {1})", [](F a, F b, F) { return std::fmin(a, b); }, 1, "({1} < {0} ? {1} : {0})"},
    {Op::reduce_maximum, "max", GR, Same, "std::fmax({0}, {1})", "fmaxf({0}, {1})", "::fmax({0}, {1})", [](F a, F b, F) { return std::fmax(a, b); }, 1, "({1} > {0} ? {1} : {0})"},
    {Op::any, "any", GR, Logic, "({0} || {1})", "({0} || {1})", "({0} || {1})", [](F a, F b, F) { return F(a != 0 || b != 0); }, 1},
    {Op::all, "all", GR, Logic, "({0} && {1})", "({0} && {1})", "({0} && {1})", [](F a, F b, F) { return F(a != 0 && b != 0); }, 1},
    {Op::argmin, "argmin", GR, KindRule::index, "({1} < {0})", "({1} < {0})", "({1} < {0})", nullptr, 1},
    {Op::argmax, "argmax", GR, KindRule::index, "({1} > {0})", "({1} > {0})", "({1} > {0})", nullptr, 1},
    {Op::cumulative_sum, "cumsum", Group::scan, Same, "({0} + {1})", "({0} + {1})", "({0} + {1})", nullptr, 1},

    {Op::matmul, "matmul", Group::matmul, Arithmetic, "", "", "", nullptr, 2},
    {Op::permute, "permute", Group::layout, Same, "", "", "", nullptr, 0},
    {Op::align, "expand", Group::layout, Same, "", "", "", nullptr, 0},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kOpCount; ++i)
    if (static_cast<std::size_t>(kTable[i].op) != i) return false;
  return true;
}
static_assert(in_order());

}  // namespace

std::span<const OpRow, kOpCount> op_table() { return kTable; }
const OpRow& row(Op op) { return kTable[static_cast<std::size_t>(op)]; }

}  // namespace kforge::task::formula
