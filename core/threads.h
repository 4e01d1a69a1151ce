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
    // work.
    Work(std::size_t n_threads, std::function<void(double)> poll) : n_threads_(n_threads), poll_(std::move(poll)) {}

    std::size_t n_threads() const { return n_threads_; }

    // Runs task(i, thread) for i from 0 to n_tasks - 1, in any order; thread is below n_threads(). Rethrows what a task
    // or the poll throws. The share done is that of the tasks, unless `share` knows better.
    void run(std::size_t n_tasks, const std::function<void(std::size_t task, std::size_t thread)>& task,
             const std::function<double()>& share = {});

    // Long tasks call this often: it throws when the work has been stopped.
    void check() const {
        if (stop_.load(std::memory_order_relaxed)) {
            throw Stopped{};
        }
    }

  private:
    std::size_t n_threads_;
    std::function<void(double)> poll_;
    std::atomic<bool> stop_{false};
};

}  // namespace weald
