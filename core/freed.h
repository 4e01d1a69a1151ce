// Memory that is freed, back to the system.
//
// The allocator keeps what is freed for whoever comes next, and what a thread freed for that thread. What is freed at
// the end of a step would stay with the process, although nobody needs it any more.

#pragma once

#include <cstddef>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace weald {

// So many bytes were freed. Little is kept: to look for free pages takes time, and so does to bring them again.
inline void give_back([[maybe_unused]] std::size_t n_bytes) {
#if defined(__GLIBC__)
    constexpr std::size_t kMuch = std::size_t{4} << 20;
    if (n_bytes >= kMuch) {
        malloc_trim(0);
    }
#endif
}

}  // namespace weald
