#include <array>

#include "task/dtype_convert.h"
#include "task/task.h"

namespace kforge::task {
namespace {

// IEEE formats and the OCP 8-bit ones (OCP 8-bit Floating Point Specification, 1.0): `mantissa` bits are the stored ones.
constexpr std::array<DtypeRow, 13> kTable{{
    {Dtype::f64, "f64", 8, true, "double", {11, 52, Overflow::infinity}},
    {Dtype::f32, "f32", 4, true, "float", {8, 23, Overflow::infinity}},
    {Dtype::tf32, "tf32", 4, true, "float", {8, 10, Overflow::infinity}},
    {Dtype::f16, "f16", 2, true, "__half", {5, 10, Overflow::infinity}},
    {Dtype::bf16, "bf16", 2, true, "__nv_bfloat16", {8, 7, Overflow::infinity}},
    {Dtype::e4m3, "e4m3", 1, true, "__nv_fp8_e4m3", {4, 3, Overflow::saturate_no_infinity}},
    {Dtype::e5m2, "e5m2", 1, true, "__nv_fp8_e5m2", {5, 2, Overflow::saturate}},
    {Dtype::i8, "i8", 1, false, "int8_t", {}, -128.0, 127.0},
    {Dtype::u8, "u8", 1, false, "uint8_t", {}, 0.0, 255.0},
    {Dtype::i32, "i32", 4, false, "int32_t", {}, -2147483648.0, 2147483647.0},
    {Dtype::u32, "u32", 4, false, "uint32_t", {}, 0.0, 4294967295.0},
    {Dtype::i64, "i64", 8, false, "int64_t", {}, -9223372036854775808.0, 9223372036854774784.0},
    {Dtype::boolean, "bool", 1, false, "bool", {}, 0.0, 1.0},
}};

}  // namespace

std::span<const DtypeRow> dtype_table() { return kTable; }
const DtypeRow& row(Dtype dtype) { return kTable[static_cast<std::size_t>(dtype)]; }

std::string_view name(Dtype dtype) { return row(dtype).name; }
std::uint32_t size_bytes(Dtype dtype) { return row(dtype).bytes; }
bool is_float(Dtype dtype) { return row(dtype).floating; }
std::string_view cuda_type(Dtype dtype) { return row(dtype).cuda_type; }

}  // namespace kforge::task
