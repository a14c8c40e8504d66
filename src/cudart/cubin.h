// What a cubin says of its kernels: registers, stack and so on, from the attributes in its .nv.info section. PTX does not
// know the register count, so occupancy and the limits of a launch come from the machine code that nvcc put beside it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace kforge::cudart {

struct CubinKernel {
  int registers = 0;
  int frame_bytes = 0;      // stack of one thread, spills included
};

// By mangled name; empty when the bytes are no cubin that can be read.
std::map<std::string, CubinKernel, std::less<>> read_cubin(std::string_view cubin);

}  // namespace kforge::cudart
