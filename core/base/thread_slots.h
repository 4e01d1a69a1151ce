// Thread slots shared by several calls in a process.
//
// A worker of a cluster grows trees by one call for each of its threads. Towards the end some calls have finished, and
// the remaining calls may use their slots. This affects only the time, not the result.

#pragma once

#include <atomic>
#include <cstddef>

namespace weald {

// The slot of one thread among all running threads of this process.
class ThreadSlot {
  public:
    ThreadSlot() = default;
    ThreadSlot(const ThreadSlot&) = delete;
    ThreadSlot& operator=(const ThreadSlot&) = delete;
    ~ThreadSlot() { leave(); }

    void take() {
        if (!taken_) {
            n_taken.fetch_add(1);
            taken_ = true;
        }
    }

    // Takes the slot if fewer than `n_slots` are taken. Returns whether this call has it.
    bool take_if_free(std::size_t n_slots) {
        std::size_t n = n_taken.load();
        while (!taken_ && n < n_slots) {
            taken_ = n_taken.compare_exchange_weak(n, n + 1);
        }
        return taken_;
    }

    // A new call always takes a slot. If this makes more than `n_slots`, helper threads stop.
    void leave_if_crowded(std::size_t n_slots) {
        std::size_t n = n_taken.load();
        while (taken_ && n > n_slots) {
            taken_ = !n_taken.compare_exchange_weak(n, n - 1);
        }
    }

    void leave() {
        if (taken_) {
            n_taken.fetch_sub(1);
            taken_ = false;
        }
    }

    static bool is_any_free(std::size_t n_slots) { return n_taken.load() < n_slots; }

  private:
    // A process that is forked meanwhile inherits the number, and may get less help.
    inline static std::atomic<std::size_t> n_taken{0};

    bool taken_ = false;
};

}  // namespace weald
