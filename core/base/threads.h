// Work on several threads, while the caller checks for signals.
//
// Threads are started for one piece of work and joined at its end, so no thread can hang in a forked child process. The
// calling thread does no work: it wakes up periodically to check for signals and report progress, and can stop the
// work. If the system cannot start any thread, the calling thread does the work, and polls in between.

#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace weald {

// Thrown inside a task when the work has been stopped.
struct Stopped {};

class Work {
  public:
    // `poll` is called by the calling thread about 20 times a second with the fraction done; an exception that it
    // throws stops the work. `n_slots`: threads that may run in this process, if several calls share them.
    Work(std::size_t n_threads, std::function<void(double)> poll, std::size_t n_slots = 0)
        : n_threads_(n_threads), n_slots_(n_slots), poll_(std::move(poll)) {}

    std::size_t n_threads() const { return n_threads_; }
    std::size_t n_slots() const { return n_slots_; }
    std::size_t n_helpers() const { return n_slots_ > n_threads_ ? n_slots_ - n_threads_ : 0; }

    // Runs task(i, thread) for i from 0 to n_tasks - 1, in any order; thread is below n_threads(). Rethrows exceptions
    // of tasks and of poll. The fraction done is that of the tasks, unless `share` is given. With `help`, tasks may
    // start helpers: help(thread) runs on another thread, whose index is n_threads() or above.
    void run(std::size_t n_tasks, const std::function<void(std::size_t task, std::size_t thread)>& task,
             const std::function<double()>& share = {}, const std::function<void(std::size_t thread)>& help = {});

    // Starts a helper. Called inside a task of a run with help; has no effect if n_helpers() are running, or if the
    // system has no more threads.
    void start_helper() { start_helper_(); }

    // Long tasks call this often: it throws when the work has been stopped, and polls if the calling thread does the
    // work.
    void check() const {
        if (state_.load(std::memory_order_relaxed) != State::kThreads) {
            look_around();
        }
    }

    enum class State : unsigned char { kThreads, kAlone, kStopped };

  private:
    void look_around() const;

    std::size_t n_threads_;
    std::size_t n_slots_;
    std::function<void(double)> poll_;
    std::function<void()> start_helper_;
    std::function<void()> poll_now_and_then_;  // while the calling thread does the work
    std::atomic<State> state_{State::kThreads};
};

}  // namespace weald
