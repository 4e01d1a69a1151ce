// Finds races of emulated kernels: two threads of a block access the same bytes, at least one of them writes, not both
// are atomic, and no barrier is between.
//
// The compiler's instrumentation for thread sanitizers calls a function at each access; they are defined here, and no
// sanitizer is linked. Only __syncwarp and __syncthreads order accesses: shuffles and ballots do not. Threads of
// different blocks are not compared.

// This file is compiled without that instrumentation, and with the declarations of emulation.h only.

#include <dlfcn.h>

#include <unordered_map>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define EMULATION_HOOKS
#include "emulation.h"

namespace emulation {

struct Access {
    u32 launch = 0, block = 0, thread = 0;
    u64 warp_barriers = 0, block_barriers = 0;
    bool is_atomic = false;
    const void* code = nullptr;  // where it is in the program
};
struct Accesses {
    Access write, read;
};

static std::unordered_map<std::uintptr_t, Accesses> accesses;  // by byte
static u32 n_launches, n_races;

// Kernels are ordered, so what was accessed before does not matter.
void begin_races() {
    ++n_launches;
    accesses.clear();
}

static bool are_unordered(const Access& before, const Access& now) {
    if (before.launch != now.launch || before.block != now.block || before.thread == now.thread) {
        return false;
    }
    if (before.is_atomic && now.is_atomic) {
        return false;
    }
    return before.thread / 32 == now.thread / 32 ? before.warp_barriers == now.warp_barriers
                                                 : before.block_barriers == now.block_barriers;
}

// Where an instruction is in the compiled kernels: addr2line finds its line.
static unsigned long place_of(const void* code) {
    Dl_info info;
    dladdr(code, &info);
    return static_cast<unsigned long>(static_cast<const char*>(code) - static_cast<const char*>(info.dli_fbase));
}
static void report(const char* what, const Access& before, const Access& now) {
    if (++n_races <= 5) {
        std::fprintf(stderr, "emulation: a race: thread %u %s at %lx after thread %u at %lx\n", now.thread, what,
                     place_of(now.code), before.thread, place_of(before.code));
    }
}

static void access(const void* where, std::size_t n_bytes, bool is_write, const void* code) {
    Fiber* f = current;
    const auto first = reinterpret_cast<std::uintptr_t>(where);
    const auto stack = reinterpret_cast<std::uintptr_t>(f ? f->stack.get() : nullptr);
    if (!f || f->n_inside != 0 || (first >= stack && first < stack + kStack)) {
        return;
    }
    const Access now{n_launches, f->block_number, f->thread, f->warp_barriers, f->block_barriers, f->in_atomic, code};
    bool is_race = false;
    for (std::size_t i = 0; i < n_bytes; ++i) {
        Accesses& before = accesses[first + i];
        const bool after_write = are_unordered(before.write, now),
                   after_read = is_write && are_unordered(before.read, now);
        if ((after_write || after_read) && !is_race) {
            report(is_write ? "writes" : "reads", after_write ? before.write : before.read, now);
            is_race = true;
        }
        (is_write ? before.write : before.read) = now;
    }
}

}  // namespace emulation

#define WEALD_TSAN(n)                                                \
    void __tsan_read##n(void* p) {                                   \
        emulation::access(p, n, false, __builtin_return_address(0)); \
    }                                                                \
    void __tsan_write##n(void* p) {                                  \
        emulation::access(p, n, true, __builtin_return_address(0));  \
    }                                                                \
    void __tsan_unaligned_read##n(void* p) {                         \
        emulation::access(p, n, false, __builtin_return_address(0)); \
    }                                                                \
    void __tsan_unaligned_write##n(void* p) {                        \
        emulation::access(p, n, true, __builtin_return_address(0));  \
    }                                                                \
    void __tsan_volatile_read##n(void* p) {                          \
        emulation::access(p, n, false, __builtin_return_address(0)); \
    }                                                                \
    void __tsan_volatile_write##n(void* p) {                         \
        emulation::access(p, n, true, __builtin_return_address(0));  \
    }
extern "C" {
WEALD_TSAN(1)
WEALD_TSAN(2)
WEALD_TSAN(4)
WEALD_TSAN(8)
WEALD_TSAN(16)
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_read_range(void* p, unsigned long n) {
    emulation::access(p, n, false, __builtin_return_address(0));
}
void __tsan_write_range(void* p, unsigned long n) {
    emulation::access(p, n, true, __builtin_return_address(0));
}
void __tsan_vptr_update(void*, void*) {}
void __tsan_vptr_read(void*) {}
u32 emulation_races() {
    return emulation::n_races;
}
}
