#include "cudart/status.h"

#include <algorithm>
#include <array>

namespace kforge::cudart {
namespace {

struct ErrorRow { int number; const char* name; const char* text; };

constexpr ErrorRow kErrors[] = {
#define KFORGE_ERROR(name, number, text) {number, #name, text},
#include "cudart/errors.def"
#undef KFORGE_ERROR
};

const ErrorRow& row_of(int status) {
  static constexpr ErrorRow kUnknown{-1, "unrecognized error code", "unrecognized error code"};
  const auto* found = std::find_if(std::begin(kErrors), std::end(kErrors), [&](const ErrorRow& row) { return row.number == status; });
  return found == std::end(kErrors) ? kUnknown : *found;
}

}  // namespace

const char* error_name(int status) { return row_of(status).name; }
const char* error_text(int status) { return row_of(status).text; }

bool is_sticky(Status status) {
  constexpr std::array kSticky = {cudaErrorIllegalAddress,    cudaErrorLaunchTimeout,      cudaErrorAssert,
                                  cudaErrorHardwareStackError, cudaErrorIllegalInstruction, cudaErrorMisalignedAddress,
                                  cudaErrorInvalidAddressSpace, cudaErrorInvalidPc,         cudaErrorLaunchFailure};
  return std::find(kSticky.begin(), kSticky.end(), status) != kSticky.end();
}

}  // namespace kforge::cudart
