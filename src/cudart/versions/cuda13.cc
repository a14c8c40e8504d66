// Of libcudart.so.13 alone.
#include "cudart/api_macros.h"

using namespace kforge;
using namespace kforge::cudart;

#include "cudart/versions/cuda13.def"
