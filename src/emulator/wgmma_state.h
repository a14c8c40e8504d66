// Products of wgmma that are under way: of a warp, and of the warpgroup that it belongs to.
#pragma once

#include <cstdint>
#include <vector>

namespace kforge::emulator {

struct Op;

struct WgmmaState {                    // of a warp
  std::uint64_t issued = 0;            // products
  std::vector<std::uint64_t> groups;   // by committed group: products issued until then
  struct Pending {
    std::uint64_t number = 0;          // counted from 1
    const Op* op = nullptr;
  };
  std::vector<Pending> pending;        // whose results were not waited for
  bool fenced = false;                 // wgmma.fence was executed
};

struct WarpgroupReads {                // of a warpgroup: products whose reads of shared memory the race detector was not told of
  struct Product {
    const Op* op = nullptr;
    std::uint64_t a = 0, b = 0;        // descriptors
  };
  std::vector<Product> untold;
  std::uint64_t told = 0;              // products before those
};

}  // namespace kforge::emulator
