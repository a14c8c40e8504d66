#include "emulator/uninitialised.h"

namespace kforge::emulator {

void load_global_shadow(Warp&, const Op&, const Allocation&, const Request&, std::uint32_t) {}
void load_shared_shadow(Warp&, const Op&, const Request&) {}
void load_local_shadow(Warp&, const Op&, const Request&) {}
void store_global_shadow(Warp& warp, const Op&, Allocation& allocation, const Request& request, std::uint32_t lanes) {
  warp.launch->global_shadow->mark_written(allocation, request.addresses, lanes, request.bytes);
}
void store_shared_shadow(Warp&, const Op&, const Request&) {}
void store_local_shadow(Warp&, const Op&, const Request&) {}
void param_shadow(Warp&, const Op&, std::uint32_t, bool) {}
void atomic_global_shadow(Warp& warp, const Op&, Allocation& allocation, const Request& request) {
  warp.launch->global_shadow->mark_written(allocation, request.addresses, request.mask, request.bytes);
}
void atomic_shared_shadow(Warp&, const Op&, const Request&) {}
void check_address(Warp&, const Op&, std::size_t, std::uint32_t) {}

}  // namespace kforge::emulator
