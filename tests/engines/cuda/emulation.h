// A thin emulation of CUDA blocks and warps on one host thread: every CUDA thread is a fiber, collectives are meeting
// points, and nothing else switches fibers. Only full-warp collectives exist, as the kernels use no others.
//
// Shared memory and stacks are filled with a pattern, so that what is read before it is written shows.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#define DEVICE inline
#define DEVICE_CALL inline
#define KERNEL(threads, blocks) extern "C" void
#define SHARED_MEMORY(name) char* name = emulation::shared_memory()
#define CONSTANT

#define __align__(n) alignas(n)

struct uint2 {
    u32 x, y;
};
struct alignas(16) uint4 {
    u32 x, y, z, w;
};
struct Place {
    u32 x;
};

// Not instrumented where accesses are checked (races.cpp).
#define HIDDEN __attribute__((no_sanitize_thread))

namespace emulation {

// What lanes of a warp do together: all have to do the same.
enum class Together { kSync, kLane, kBallot, kSum, kMin, kMax, kOr };
struct Warp {
    u64 slot[2][32];
    Together together[2] = {};
    u64 arrived = 0;
};
struct Block {
    u64 arrived = 0;
    std::vector<char> shared;
    std::vector<Warp> warps;
};
struct Fiber {
    void* stack_pointer = nullptr;
    std::unique_ptr<char[]> stack;
    bool done = false;
    u32 thread = 0, block_number = 0;
    Warp* warp = nullptr;
    Block* block = nullptr;
    u64 warp_meetings = 0, block_meetings = 0;
    u64 warp_barriers = 0, block_barriers = 0;  // of these, those that order memory
    u32 n_inside = 0;                           // functions of the emulation
    bool in_atomic = false;
};
constexpr std::size_t kStack = std::size_t{48} << 10;

inline Fiber* current;
inline void* main_stack;
inline u32 block_threads, n_blocks;
inline void (*kernel)();
inline u64 n_idle;
inline bool is_stuck;

extern "C" void emulation_switch(void** from, void* to);
#ifndef EMULATION_HOOKS
asm(R"(
.text
.globl emulation_switch
emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
#endif

// Accesses of the emulation itself are not those of a kernel.
struct Inside {
    HIDDEN Inside() { ++current->n_inside; }
    HIDDEN ~Inside() { --current->n_inside; }
};
struct Atomic {
    HIDDEN Atomic() { current->in_atomic = true; }
    HIDDEN ~Atomic() { current->in_atomic = false; }
};

HIDDEN inline void yield() {
    emulation_switch(&current->stack_pointer, main_stack);
}
HIDDEN inline void enter() {
    kernel();
    current->done = true;
    for (;;) {
        yield();
    }
}
inline char* shared_memory() {
    const auto start = reinterpret_cast<std::uintptr_t>(current->block->shared.data());
    return reinterpret_cast<char*>((start + 63) & ~std::uintptr_t{63});
}
// Leaves x for the other lanes, and waits until all have come. The slots of two meetings in a row are different ones.
inline const u64* meet_warp(Together together, u64 x) {
    const Inside inside;
    Fiber* f = current;
    const u64 meeting = f->warp_meetings & 1;
    u64* slots = f->warp->slot[meeting];
    if (f->warp->arrived == f->warp_meetings * 32) {
        f->warp->together[meeting] = together;
    } else if (f->warp->together[meeting] != together) {
        std::fprintf(stderr, "emulation: the lanes of a warp went different ways\n");
        std::abort();
    }
    slots[f->thread & 31] = x;
    ++f->warp_meetings;
    ++f->warp->arrived;
    while (f->warp->arrived < f->warp_meetings * 32) {
        yield();
    }
    n_idle = 0;
    f->warp_barriers += together == Together::kSync;
    return slots;
}
inline void meet_block() {
    const Inside inside;
    Fiber* f = current;
    ++f->block_meetings;
    ++f->block->arrived;
    while (f->block->arrived < f->block_meetings * block_threads) {
        yield();
    }
    n_idle = 0;
    ++f->warp_barriers;
    ++f->block_barriers;
}

HIDDEN inline void start_fiber(Fiber& f, Block& block, u32 number, u32 thread) {
    if (!f.stack) {
        f.stack.reset(new char[kStack]);
    }
    f.done = false;
    f.thread = thread;
    f.block_number = number;
    f.block = &block;
    f.warp = &block.warps[thread / 32];
    f.warp_meetings = f.block_meetings = f.warp_barriers = f.block_barriers = 0;
    f.n_inside = 0;
    f.in_atomic = false;
    auto** top =
        reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(f.stack.get() + kStack) & ~std::uintptr_t{63});
    *--top = nullptr;
    *--top = reinterpret_cast<void*>(&enter);
    for (int i = 0; i < 6; ++i) {
        *--top = nullptr;
    }
    f.stack_pointer = top;
}

// Another one in each call, the same ones in each process.
HIDDEN inline u64 next_random() {
    static u64 state = 0x9E3779B97F4A7C15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}
// Warps in any order, and the lanes of each; both forward, backward or rotated, which is cheap.
HIDDEN inline void shuffle(std::vector<std::size_t>& order) {
    const u64 random = next_random();
    if (random & 1) {
        std::reverse(order.begin(), order.end());
    }
    const auto by = static_cast<std::ptrdiff_t>((random >> 8) % order.size());
    std::rotate(order.begin(), order.begin() + by, order.end());
    std::swap(order[(random >> 20) % order.size()], order[(random >> 40) % order.size()]);
}

#ifdef EMULATION_RACES
void begin_races();
#endif

// Lets each fiber run until it waits. Returns how many are not at their end.
HIDDEN inline std::size_t run_each(Fiber* fibers, const std::size_t* order, std::size_t n) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < n; ++i) {
        Fiber& f = fibers[order[i]];
        if (!f.done) {
            current = &f;
            emulation_switch(&main_stack, f.stack_pointer);
            left += !f.done;
        }
    }
    current = nullptr;
    return left;
}

// Runs all blocks of a grid together. Returns whether all came to their end.
HIDDEN inline bool launch(void (*which)(), u32 grid, u32 threads, std::size_t shared_bytes) {
    static std::vector<Fiber> fibers;
    const std::size_t n = std::size_t{grid} * threads;
    if (fibers.size() < n) {
        fibers.resize(n);
    }
    kernel = which;
    block_threads = threads;
    n_blocks = grid;
#ifdef EMULATION_RACES
    begin_races();
#endif
    std::vector<Block> blocks(grid);
    for (std::size_t i = 0; i < n; ++i) {
        const auto number = static_cast<u32>(i / threads), thread = static_cast<u32>(i % threads);
        Block& block = blocks[number];
        if (thread == 0) {
            block.shared.assign(shared_bytes + 64, static_cast<char>(0xCD));
            block.warps.resize((threads + 31) / 32);
        }
        start_fiber(fibers[i], block, number, thread);
    }
    // Fibers run in another order in each round, so that a missing meeting does not go unnoticed.
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    n_idle = 0;
    for (std::size_t left = n; left != 0;) {
        left = 0;
        shuffle(order);
        if (++n_idle > 100000) {
            std::fprintf(stderr, "emulation: the blocks wait for each other\n");
            return false;
        }
        left = run_each(fibers.data(), order.data(), n);
    }
    current = nullptr;
    return true;
}

template <class Join>
u32 join(Together together, u32 x, u32 start, Join use) {
    const Inside inside;
    const u64* slots = meet_warp(together, x);
    for (int i = 0; i < 32; ++i) {
        start = use(start, static_cast<u32>(slots[i]));
    }
    return start;
}

}  // namespace emulation

#define threadIdx (Place{emulation::current->thread})
#define blockIdx (Place{emulation::current->block_number})
#define blockDim (Place{emulation::block_threads})
#define gridDim (Place{emulation::n_blocks})

inline void __syncthreads() {
    emulation::meet_block();
}
inline void __syncwarp() {
    emulation::meet_warp(emulation::Together::kSync, 0);
}
inline void __threadfence() {}
inline void nap() {
    const emulation::Inside inside;
    emulation::yield();
}
inline u32 lane_of_thread() {
    const emulation::Inside inside;
    return emulation::current->thread & 31;
}
inline u32 from_lane(u32 x, u32 lane) {
    const emulation::Inside inside;
    return static_cast<u32>(emulation::meet_warp(emulation::Together::kLane, x)[lane & 31]);
}
inline u32 from_below(u32 x, u32 distance) {
    const emulation::Inside inside;
    const u64* slots = emulation::meet_warp(emulation::Together::kLane, x);
    const u32 lane = lane_of_thread();
    return static_cast<u32>(slots[lane >= distance ? lane - distance : lane]);
}
inline u32 ballot(bool p) {
    const emulation::Inside inside;
    const u64* slots = emulation::meet_warp(emulation::Together::kBallot, p);
    u32 bits = 0;
    for (int i = 0; i < 32; ++i) {
        bits |= static_cast<u32>(slots[i] != 0) << i;
    }
    return bits;
}
inline bool any(bool p) {
    return ballot(p) != 0;
}
inline u32 warp_sum(u32 x) {
    return emulation::join(emulation::Together::kSum, x, 0, [](u32 a, u32 b) { return a + b; });
}
inline u32 warp_min(u32 x) {
    return emulation::join(emulation::Together::kMin, x, ~0u, [](u32 a, u32 b) { return std::min(a, b); });
}
inline u32 warp_max(u32 x) {
    return emulation::join(emulation::Together::kMax, x, 0, [](u32 a, u32 b) { return std::max(a, b); });
}
inline u32 warp_or(u32 x) {
    return emulation::join(emulation::Together::kOr, x, 0, [](u32 a, u32 b) { return a | b; });
}

// Fibers switch at meetings only, so that plain memory accesses are atomic.
template <class T>
T atomicAdd(T* p, T x) {
    const emulation::Atomic atomic;
    const T old = *p;
    *p = old + x;
    return old;
}
inline u32 atomicOr(u32* p, u32 x) {
    const emulation::Atomic atomic;
    const u32 old = *p;
    *p |= x;
    return old;
}
inline u32 atomicMax(u32* p, u32 x) {
    const emulation::Atomic atomic;
    const u32 old = *p;
    *p = std::max(old, x);
    return old;
}
inline u32 atomicMin(u32* p, u32 x) {
    const emulation::Atomic atomic;
    const u32 old = *p;
    *p = std::min(old, x);
    return old;
}
inline u32 __popc(u32 x) {
    return static_cast<u32>(__builtin_popcount(x));
}
inline u32 __clz(u32 x) {
    return x ? static_cast<u32>(__builtin_clz(x)) : 32;
}
inline u32 __ffs(u32 x) {
    return static_cast<u32>(__builtin_ffs(static_cast<int>(x)));
}
template <class T>
T __ldg(const T* p) {
    return *p;
}
inline uint2 load_entry(const uint2* p) {
    return *p;
}
inline u32 load_shared_word(const u32* p) {
    const emulation::Atomic atomic;
    return *p;
}
template <class To, class From>
To same_bits(From x) {
    To y;
    std::memcpy(&y, &x, sizeof(y));
    return y;
}
inline u32 __float_as_uint(float x) {
    return same_bits<u32>(x);
}
inline float __uint_as_float(u32 x) {
    return same_bits<float>(x);
}
inline u64 bits_of(double x) {
    return same_bits<u64>(x);
}
inline double double_of(u64 x) {
    return same_bits<double>(x);
}
inline float multiply_add(float a, float b, float c) {
    return a * b + c;  // scores in float have a margin
}
inline float reciprocal(float x) {
    return 1.0f / x;
}

#ifndef EMULATION_HOOKS
// ---- For the tests

// Each thread writes a word, and reads that of another one without a barrier.
extern "C" void race_on_purpose() {
    u32* words = reinterpret_cast<u32*>(emulation::shared_memory());
    const u32 thread = emulation::current->thread;
    words[thread % 16] = thread;
    static_cast<void>(*static_cast<volatile u32*>(words + (thread + 1) % 16));
}

extern "C" bool emulation_launch(void (*which)(), u32 grid, u32 threads, u64 shared_bytes) {
    return emulation::launch(which, grid, threads, shared_bytes);
}
#endif
