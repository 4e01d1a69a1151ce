// Large arrays on large memory pages, if the system supports them.
//
//   LargePages    an allocator: aligned to cache lines, does not initialize numbers
//   LargeVector   a vector with it. New entries are uninitialized: the caller writes all of them.
//
// The system allocates new memory page by page, and random access needs an address translation for each page. With
// pages of two megabytes both happen a few times instead of thousands of times.

#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace weald {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kLargePage = std::size_t{2} << 20;

template <class T>
struct LargePages {
    using value_type = T;

    LargePages() = default;
    template <class U>
    LargePages(const LargePages<U>&) {}

    T* allocate(std::size_t n) {
        const std::size_t n_bytes = n * sizeof(T);
        const std::size_t page = n_bytes >= kLargePage ? kLargePage : kCacheLine;
        void* memory = std::aligned_alloc(page, (n_bytes / page + 1) * page);
        if (memory == nullptr) {
            throw std::bad_alloc();
        }
#if defined(__linux__)
        // A hint. Only whole pages: a partial last page would use memory that is not needed.
        madvise(memory, n_bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
#endif
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t) { std::free(memory); }

    template <class U>
    void construct(U* at) noexcept(std::is_nothrow_default_constructible_v<U>) {
        ::new (static_cast<void*>(at)) U;
    }
    template <class U, class... Given>
    void construct(U* at, Given&&... given) {
        ::new (static_cast<void*>(at)) U(std::forward<Given>(given)...);
    }

    bool operator==(const LargePages&) const = default;
};

template <class T>
using LargeVector = std::vector<T, LargePages<T>>;

// Memory after the first entries may stay unused: there, pages are allocated one by one when they are written.
template <class T>
void keep_to_small_pages([[maybe_unused]] LargeVector<T>& array, [[maybe_unused]] std::size_t n_first) {
#if defined(__linux__)
    const std::size_t n_bytes = array.capacity() * sizeof(T) / kLargePage * kLargePage;
    const std::size_t n_large = n_first * sizeof(T) / kLargePage * kLargePage;
    if (n_large < n_bytes) {
        madvise(reinterpret_cast<std::byte*>(array.data()) + n_large, n_bytes - n_large, MADV_NOHUGEPAGE);
    }
#endif
}

}  // namespace weald
