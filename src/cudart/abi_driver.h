// Structures of the driver API (abi.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "cudart/abi.h"
#include "cudart/abi_memory.h"

namespace kforge::cudart {

using DevicePointer = unsigned long long;

enum DriverMemory : int { kMemoryHost = 1, kMemoryDevice = 2, kMemoryArray = 3, kMemoryUnified = 4 };   // CUmemorytype

struct DriverSide { std::size_t x, y; int type; void* host; DevicePointer device; Array* array; std::size_t pitch; };
struct DriverCopy2D { DriverSide from, to; std::size_t width, height; };                                // CUDA_MEMCPY2D
struct DriverSide3D { std::size_t x, y, z, lod; int type; void* host; DevicePointer device; Array* array; void* reserved; std::size_t pitch, height; };
struct DriverCopy3D { DriverSide3D from, to; std::size_t width, height, depth; };                       // CUDA_MEMCPY3D

struct DriverArrayDesc { std::size_t width, height; int format; unsigned channels; };
struct DriverArray3DDesc { std::size_t width, height, depth; int format; unsigned channels, flags; };

struct DriverTextureDesc {                // CUDA_TEXTURE_DESC
  int address[3], filter;
  unsigned flags, anisotropy;
  int mipmap_filter;
  float bias, least, most, border[4];
  int reserved[12];
};

struct DriverResourceDesc {               // CUDA_RESOURCE_DESC
  int type;
  struct LinearMemory { DevicePointer pointer; int format; unsigned channels; std::size_t bytes; };
  struct PitchedMemory { DevicePointer pointer; int format; unsigned channels; std::size_t width, height, pitch; };
  union {
    Array* array;
    MipmappedArray* mipmap;
    LinearMemory linear;
    PitchedMemory pitch2d;
    int reserved[32];
  };
  unsigned flags;
};

struct DriverPieceProps {                 // CUmemAllocationProp
  int type, handle_types;
  MemLocation location;
  void* windows_attributes;
  unsigned char compression, direct_rdma;
  unsigned short usage;
  unsigned char reserved[4];
};
static_assert(sizeof(DriverPieceProps) == 32);

struct DriverLaunchConfig {               // CUlaunchConfig
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared;
  void* stream;
  const LaunchAttribute* attrs;
  unsigned attr_count;
};

}  // namespace kforge::cudart
