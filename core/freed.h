// Memory that is freed, back to the system.
//
// The allocator keeps what is freed for whoever comes next, and what a thread freed for that thread. So trees and the
// forest that they are joined to would both be in memory, although each tree is freed when it has been copied.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace weald {

class Freed {
  public:
    // So many bytes were freed; any thread may say so.
    void add(std::size_t n_bytes) {
        if (n_bytes_.fetch_add(n_bytes, std::memory_order_relaxed) + n_bytes >= kMuch) {
            give_back();
        }
    }
    void give_back() {
        n_bytes_.store(0, std::memory_order_relaxed);
#if defined(__GLIBC__)
        malloc_trim(0);
#endif
    }

  private:
    static constexpr std::size_t kMuch = std::size_t{4} << 20;

    std::atomic<std::size_t> n_bytes_{0};
};

}  // namespace weald
