// Work on several threads, with a caller that stays awake.
//
// Threads are started for one piece of work and joined at its end, so that nothing is left to hang in a forked child.
// The calling thread does no work: it wakes up now and then to look after signals and progress, and can stop the work.

#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace weald {

// Thrown inside a task when the work has been stopped.
struct Stopped {};

class Work {
  public:
    // `poll` is called by the calling thread about 20 times a second with the share done; what it throws stops the
    // work. `n_seats`: threads that may be at work in this process, where several calls share them.
    Work(std::size_t n_threads, std::function<void(double)> poll, std::size_t n_seats = 0)
        : n_threads_(n_threads), n_seats_(n_seats), poll_(std::move(poll)) {}

    std::size_t n_threads() const { return n_threads_; }
    std::size_t n_seats() const { return n_seats_; }
    std::size_t n_helpers() const { return n_seats_ > n_threads_ ? n_seats_ - n_threads_ : 0; }

    // Runs task(i, thread) for i from 0 to n_tasks - 1, in any order; thread is below n_threads(). Rethrows what a task
    // or the poll throws. The share done is that of the tasks, unless `share` knows better. With `help`, tasks may
    // start helpers: help(thread) runs on one more thread, whose number is n_threads() or one of those that follow.
    void run(std::size_t n_tasks, const std::function<void(std::size_t task, std::size_t thread)>& task,
             const std::function<double()>& share = {}, const std::function<void(std::size_t thread)>& help = {});

    // Called inside a task of a run with help; if n_helpers() are there, or the system has no more threads, in vain.
    void start_helper() { start_helper_(); }

    // Long tasks call this often: it throws when the work has been stopped.
    void check() const {
        if (stop_.load(std::memory_order_relaxed)) {
            throw Stopped{};
        }
    }

  private:
    std::size_t n_threads_;
    std::size_t n_seats_;
    std::function<void(double)> poll_;
    std::function<void()> start_helper_;
    std::atomic<bool> stop_{false};
};

}  // namespace weald
