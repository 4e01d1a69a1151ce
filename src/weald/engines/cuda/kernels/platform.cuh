// What the kernels need of their platform: a GPU, or the emulation of blocks and warps on the host.
//
// The kernels are one source for both. Only collectives of full warps are used, so that the emulation stays small.

#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#ifdef __CUDACC__

#define DEVICE __device__ __forceinline__
#define DEVICE_CALL __device__ __noinline__  // of rare or large functions: code has to fit the instruction cache
#define KERNEL(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)
#define SHARED_MEMORY(name) extern __shared__ __align__(16) char name[]
#define CONSTANT __constant__

DEVICE u32 lane_of_thread() {
    return threadIdx.x & 31;
}
DEVICE u32 from_lane(u32 x, u32 lane) {
    return __shfl_sync(~0u, x, lane);
}
DEVICE u32 from_below(u32 x, u32 distance) {
    return __shfl_up_sync(~0u, x, distance);
}
DEVICE u32 ballot(bool p) {
    return __ballot_sync(~0u, p);
}
DEVICE bool any(bool p) {
    return __any_sync(~0u, p);
}
DEVICE u32 warp_sum(u32 x) {
    return __reduce_add_sync(~0u, x);
}
DEVICE u32 warp_min(u32 x) {
    return __reduce_min_sync(~0u, x);
}
DEVICE u32 warp_max(u32 x) {
    return __reduce_max_sync(~0u, x);
}
DEVICE u32 warp_or(u32 x) {
    return __reduce_or_sync(~0u, x);
}
DEVICE u64 bits_of(double x) {
    return static_cast<u64>(__double_as_longlong(x));
}
DEVICE double double_of(u64 bits) {
    return __longlong_as_double(static_cast<long long>(bits));
}
DEVICE float multiply_add(float a, float b, float c) {
    return __fmaf_rn(a, b, c);
}
// 1 / x to about 23 bits.
DEVICE float reciprocal(float x) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}
// What other blocks may have written while this kernel runs.
DEVICE u32 load_shared_word(const u32* p) {
    return *static_cast<const volatile u32*>(p);
}
DEVICE uint2 load_entry(const uint2* p) {
    return __ldcg(p);
}
DEVICE void nap() {
    __nanosleep(100);
}

#else

#include "emulation.h"

#endif

// ---- The same on both

// Sum of x over the lanes below this one, and this one.
DEVICE u32 sum_up_to_lane(u32 x, u32 lane) {
#pragma unroll
    for (u32 d = 1; d < 32; d *= 2) {
        const u32 below = from_below(x, d);
        x += lane >= d ? below : 0;
    }
    return x;
}
DEVICE u32 lanes_below(u32 lane) {
    return (1u << lane) - 1;
}
