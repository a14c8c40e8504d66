// Which target a source is built for. wgmma, setmaxnreg and tcgen05 exist only for one architecture (sm_90a, sm_100a): code for it runs on
// no other, so that it is asked for only by sources that use them, or that say its name, in a comment if need be ("sm_90a").
#pragma once

#include <string>
#include <string_view>

namespace kforge::build {

// "90", or "90a" for a source with instructions of that architecture alone.
std::string target_of(int sm, std::string_view source);

}  // namespace kforge::build
