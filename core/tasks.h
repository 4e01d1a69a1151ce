// Tasks that make tasks: a tree is one, and so is each of its subtrees where there are more threads than trees.

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "threads.h"

namespace weald {

class Tasks {
  public:
    using Task = std::function<void(std::size_t thread)>;

    // The newest is taken first: a subtree comes before the next tree, while its rows are in some cache.
    void push(Task task) {
        const std::scoped_lock lock(mutex_);
        waiting_.push_back(std::move(task));
        ++n_open_;
        any_.notify_one();
    }

    // Runs tasks on all threads until there are none left; `share` says how much is done.
    void run(Work& work, const std::function<double()>& share) {
        work.run(
            work.n_threads(),
            [&](std::size_t, std::size_t thread) {
                while (const Task task = next(work)) {
                    task(thread);
                    const std::scoped_lock lock(mutex_);
                    if (--n_open_ == 0) {
                        any_.notify_all();
                    }
                }
            },
            share);
    }

  private:
    // Nothing when all tasks are done; waits while those at work may still make some.
    Task next(const Work& work) {
        std::unique_lock lock(mutex_);
        while (waiting_.empty() && n_open_ != 0) {
            any_.wait_for(lock, std::chrono::milliseconds(50));
            work.check();
        }
        if (waiting_.empty()) {
            return {};
        }
        Task task = std::move(waiting_.back());
        waiting_.pop_back();
        return task;
    }

    std::mutex mutex_;
    std::condition_variable any_;
    std::deque<Task> waiting_;
    std::size_t n_open_ = 0;  // tasks that wait or are at work
};

}  // namespace weald
