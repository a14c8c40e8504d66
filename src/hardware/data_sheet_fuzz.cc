// Any bytes as a data sheet: a sheet that can be computed with, or an error that says why.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "hardware/gpu_rows.h"
#include "hardware/occupancy.h"
#include "hardware/roofline.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kforge::hardware;
  auto sheet = parse_sheet({reinterpret_cast<const char*>(data), size}, "fuzz.toml");
  if (!sheet) {
    if (sheet.error().message.empty()) std::abort();
    return 0;
  }
  describe(*sheet);
  for (int threads : {1, 128, 1024}) occupancy(*sheet, {64, 0, 16384, threads});
  warps_to_cover_dram(*sheet, 512);
  roofline(*sheet, {.dram_bytes = 1e9, .fp32_ops = 1e12, .tensor_ops = 1e12});
  return 0;
}
