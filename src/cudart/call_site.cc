#include "cudart/call_site.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#include <climits>
#include <cstdlib>

namespace kforge::cudart {
namespace {

constexpr int kMostFrames = 24;          // looked at
constexpr std::size_t kKept = 6;

// The main program's link map has no name.
std::string path_of(const link_map* map) {
  if (map->l_name != nullptr && map->l_name[0] != 0) return map->l_name;
  char path[PATH_MAX];
  return realpath("/proc/self/exe", path) != nullptr ? path : "";
}

}  // namespace

std::vector<CallFrame> call_site() {
  static const link_map* const own = [] {
    Dl_info info;
    link_map* map = nullptr;
    dladdr1(reinterpret_cast<void*>(&call_site), &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP);
    return map;
  }();
  void* addresses[kMostFrames];
  const int count = backtrace(addresses, kMostFrames);
  std::vector<CallFrame> frames;
  for (int i = 0; i < count && frames.size() < kKept; ++i) {
    Dl_info info;
    link_map* map = nullptr;
    if (dladdr1(addresses[i], &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr || map == own) continue;
    frames.push_back({path_of(map), reinterpret_cast<std::uint64_t>(addresses[i]) - 1 - map->l_addr});
  }
  return frames;
}

}  // namespace kforge::cudart
