// Threads of a process that several calls share: how many are at work, and whether there is room for one more.
//
// A worker of a cluster grows trees by one call for each of its threads. Towards the end some have nothing to do, and
// those that are still at work may take their places. Only the time depends on it, never what is grown.

#pragma once

#include <atomic>
#include <cstddef>

namespace weald {

// The place of one thread among all that are at work in this process.
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

    // Says whether it is taken now: it is, or it was free, since fewer than `n_slots` are.
    bool take_if_free(std::size_t n_slots) {
        std::size_t n = n_taken.load();
        while (!taken_ && n < n_slots) {
            taken_ = n_taken.compare_exchange_weak(n, n + 1);
        }
        return taken_;
    }

    // Where more than `n_slots` are taken, since a call that begins takes one in any case: threads that help leave.
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
