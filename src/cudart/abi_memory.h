// Structures of memory, arrays and textures that cross the border to the program (abi.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace kforge::cudart {

struct Array;                             // what cudaArray_t points at (array_api.h)
struct MipmappedArray;
struct MemoryPool;                        // what cudaMemPool_t points at (pool_api.h)

struct ChannelDesc { int x, y, z, w, kind; };                     // cudaChannelFormatDesc: bits of each channel
struct PitchedPtr { void* ptr; std::size_t pitch, xsize, ysize; };
struct Extent { std::size_t width, height, depth; };
struct Pos { std::size_t x, y, z; };

struct Copy3D {                           // cudaMemcpy3DParms
  Array* srcArray;
  Pos srcPos;
  PitchedPtr srcPtr;
  Array* dstArray;
  Pos dstPos;
  PitchedPtr dstPtr;
  Extent extent;
  int kind;
};

struct Copy3DPeer {                       // cudaMemcpy3DPeerParms
  Array* srcArray;
  Pos srcPos;
  PitchedPtr srcPtr;
  int srcDevice;
  Array* dstArray;
  Pos dstPos;
  PitchedPtr dstPtr;
  int dstDevice;
  Extent extent;
};

struct MemsetParams { void* dst; std::size_t pitch; unsigned value, elementSize; std::size_t width, height; };   // width: elements

struct ResourceDesc {                     // cudaResourceDesc
  int type;
  struct LinearMemory { void* pointer; ChannelDesc desc; std::size_t bytes; };
  struct PitchedMemory { void* pointer; ChannelDesc desc; std::size_t width, height, pitch; };
  union {
    Array* array;
    MipmappedArray* mipmap;
    LinearMemory linear;
    PitchedMemory pitch2d;
    int reserved[32];
  };
  unsigned flags;
};
enum ResourceType : int { kResourceArray = 0, kResourceMipmap = 1, kResourceLinear = 2, kResourcePitch2D = 3 };

struct ResourceViewDesc {                 // cudaResourceViewDesc
  int format;
  std::size_t width, height, depth;
  unsigned firstMipmapLevel, lastMipmapLevel, firstLayer, lastLayer;
  unsigned reserved[16];
};

struct TextureDesc {                      // cudaTextureDesc
  int addressMode[3], filterMode, readMode, sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned maxAnisotropy;
  int mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization, seamlessCubemap;
};

struct MemLocation { int type, id; };
struct MemAccessDesc { MemLocation location; int flags; };
struct PoolProps {                        // cudaMemPoolProps
  int allocType, handleTypes;
  MemLocation location;
  void* win32SecurityAttributes;
  std::size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};
struct ArrayMemoryRequirements { std::size_t size, alignment; unsigned reserved[4]; };

}  // namespace kforge::cudart
