// Memory that is freed, back to the system.
//
// The allocator keeps what is freed for whoever comes next, and what a thread freed for that thread. So trees and the
// forest that they are joined to would both be in memory, although each tree is freed when it has been copied.

#pragma once

#include <cstddef>
#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace weald {

class Freed {
  public:
    // So many bytes were freed.
    void add(std::size_t n_bytes) {
        n_bytes_ += n_bytes;
        if (n_bytes_ >= kMuch) {
            give_back();
        }
    }
    void give_back() {
#if defined(__GLIBC__)
        malloc_trim(0);
#endif
        n_bytes_ = 0;
    }

  private:
    static constexpr std::size_t kMuch = std::size_t{4} << 20;

    std::size_t n_bytes_ = 0;
};

}  // namespace weald
