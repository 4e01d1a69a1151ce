// Work on several threads, with a caller that stays awake.
//
// Threads are started for one piece of work and joined at its end, so that nothing is left to hang in a forked child.
// The calling thread does no work: it wakes up now and then to look after signals and progress, and can stop the work.
// Where the system starts no thread at all, the calling thread does the work, and polls in between.

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
    // work. `n_slots`: threads that may be at work in this process, where several calls share them.
    Work(std::size_t n_threads, std::function<void(double)> poll, std::size_t n_slots = 0)
        : n_threads_(n_threads), n_slots_(n_slots), poll_(std::move(poll)) {}

    std::size_t n_threads() const { return n_threads_; }
    std::size_t n_slots() const { return n_slots_; }
    std::size_t n_helpers() const { return n_slots_ > n_threads_ ? n_slots_ - n_threads_ : 0; }

    // Runs task(i, thread) for i from 0 to n_tasks - 1, in any order; thread is below n_threads(). Rethrows what a task
    // or the poll throws. The share done is that of the tasks, unless `share` knows better. With `help`, tasks may
    // start helpers: help(thread) runs on one more thread, whose number is n_threads() or one of those that follow.
    void run(std::size_t n_tasks, const std::function<void(std::size_t task, std::size_t thread)>& task,
             const std::function<double()>& share = {}, const std::function<void(std::size_t thread)>& help = {});

    // Called inside a task of a run with help; if n_helpers() are there, or the system has no more threads, in vain.
    void start_helper() { start_helper_(); }

    // Long tasks call this often: it throws when the work has been stopped, or polls if the caller works itself.
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
    std::function<void()> poll_now_and_then_;  // while the caller works itself
    std::atomic<State> state_{State::kThreads};
};

}  // namespace weald
