// Instruction sets of this processor (and its operating system).
//
// These are the features that CMakeLists.txt compiles with: code of a "supported" set must not contain an instruction
// that the processor lacks.

#pragma once

#include <string_view>

namespace weald {

inline bool cpu_supports(std::string_view simd) {
    if (simd == "baseline") {
        return true;
    }
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt") &&
                      __builtin_cpu_supports("popcnt");
    if (simd == "avx2") {
        return avx2;
    }
    if (simd == "avx512") {
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2") &&
               __builtin_cpu_supports("avx512vpopcntdq");
    }
#endif
    return false;
}

}  // namespace weald
