// Returns freed memory to the system.
//
// The allocator keeps freed memory by thread for later use. Without this, trees and the forest that they are joined to
// would both be in memory, although each tree is freed after it has been copied.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <limits>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace weald {

class FreedMemory {
  public:
    // `n_bytes` of `n_trees` will be freed in total. The search for free pages takes longer the more of them there are,
    // including those that were returned before, so memory is returned in a few large parts. Small fits keep their
    // memory; the next fit reuses it.
    void expect(std::size_t n_bytes, std::size_t n_trees) {
        const bool is_kept = n_trees <= kFewTrees && n_bytes <= kHuge;
        much_ = is_kept ? std::numeric_limits<std::size_t>::max() : std::max(kMuch, n_bytes / kParts);
    }

    // `n_bytes` were freed. Any thread may call this.
    void add(std::size_t n_bytes) {
        if (n_bytes_.fetch_add(n_bytes, std::memory_order_relaxed) + n_bytes >= much_) {
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
    static constexpr std::size_t kParts = 32;
    static constexpr std::size_t kFewTrees = 4;
    static constexpr std::size_t kHuge = std::size_t{128} << 20;

    std::size_t much_ = kMuch;
    std::atomic<std::size_t> n_bytes_{0};
};

}  // namespace weald
