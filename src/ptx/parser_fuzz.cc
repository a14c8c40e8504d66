// Any bytes: an error or a module, and a module's canonical text reads back as itself.
#include <cstdlib>

#include "ptx/checks.h"
#include "ptx/parser.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace kforge::ptx;
  const auto module = parse({reinterpret_cast<const char*>(data), size});
  if (!module) return 0;
  check_target(*module, 75);
  find_partial_masks(*module);
  const std::string text = print(*module);
  const auto again = parse(text);
  if (!again || print(*again) != text) std::abort();
  return 0;
}
