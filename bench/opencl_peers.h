// The tiled matmul of bench/data/sgemm_shared.cu in OpenCL, on every platform that is installed (Oclgrind, PoCL).
#pragma once

namespace kforge::bench {

// One benchmark a platform, named `OpenCL/<platform>`; none when the build found no OpenCL.
void register_opencl_peers();

}  // namespace kforge::bench
