// A task queue: tasks are trees, and also subtrees if there are more threads than trees. Tasks can add tasks.
//
// The threads of a call run from the beginning. If it shares slots with other calls, helper threads start while there
// are tasks and free slots. A helper without a task waits for a moment, and stops if none arrives.

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <new>
#include <utility>

#include "base/thread_slots.h"
#include "base/threads.h"

namespace weald {

class Tasks {
  public:
    using Task = std::function<void(std::size_t thread)>;

    // The newest task is taken first: a subtree comes before the next tree, while its rows are still in a cache.
    void push(Task task) {
        const std::scoped_lock lock(mutex_);
        waiting_.push_back(std::move(task));
        ++n_open_;
        at_work_.notify_one();
        call_helper();
    }

    // Callbacks before the first and after the last task of a helper.
    struct Help {
        std::function<void(std::size_t thread)> prepare;
        std::function<void(std::size_t thread)> clear_up;
    };

    // Runs tasks on all threads until there are none left; `share` returns the fraction done.
    void run(Work& work, const std::function<double()>& share, const Help& help) {
        work_ = &work;
        work.run(
            work.n_threads(),
            [&](std::size_t, std::size_t thread) {
                ThreadSlot slot;
                while (const Task task = next(slot)) {
                    carry_out(task, thread);
                }
            },
            share,
            [&](std::size_t thread) {
                ThreadSlot slot;
                try {
                    help.prepare(thread);
                } catch (const std::bad_alloc&) {  // other threads continue
                    return;
                }
                while (const Task task = next_of_helper(slot)) {
                    carry_out(task, thread);
                }
                help.clear_up(thread);
            });
        work_ = nullptr;
    }

  private:
    static constexpr auto kRest = std::chrono::milliseconds(50);

    void carry_out(const Task& task, std::size_t thread) {
        task(thread);
        const std::scoped_lock lock(mutex_);
        if (--n_open_ == 0) {
            at_work_.notify_all();
            resting_.notify_all();
        }
    }

    // Returns nothing when all tasks are done; waits while running tasks may still create new ones.
    Task next(ThreadSlot& slot) {
        std::unique_lock lock(mutex_);
        while (waiting_.empty() && n_open_ != 0) {
            slot.leave();
            at_work_.wait_for(lock, kRest);
            work_->check();
        }
        slot.take();
        return take_newest();
    }

    // Also returns nothing if there was no task for a while, or no slot.
    Task next_of_helper(ThreadSlot& slot) {
        std::unique_lock lock(mutex_);
        slot.leave_if_crowded(work_->n_slots());
        const auto may_go_on = [&] { return !waiting_.empty() && slot.take_if_free(work_->n_slots()); };
        for (bool rested = false; n_open_ != 0 && !may_go_on();) {
            slot.leave();
            if (rested) {
                return {};
            }
            ++n_resting_;
            rested = resting_.wait_for(lock, kRest) == std::cv_status::timeout;
            --n_resting_;
            work_->check();
        }
        return take_newest();
    }

    // The next two require the lock.
    Task take_newest() {
        if (waiting_.empty()) {
            return {};
        }
        Task task = std::move(waiting_.back());
        waiting_.pop_back();
        call_helper();
        return task;
    }

    void call_helper() {
        if (work_ == nullptr || waiting_.empty() || work_->n_helpers() == 0 ||
            !ThreadSlot::is_any_free(work_->n_slots())) {
            return;
        }
        if (n_resting_ != 0) {
            resting_.notify_one();
        } else {
            work_->start_helper();
        }
    }

    std::mutex mutex_;
    std::condition_variable at_work_;
    std::condition_variable resting_;
    std::deque<Task> waiting_;
    std::size_t n_open_ = 0;     // waiting or running tasks
    std::size_t n_resting_ = 0;  // helpers
    Work* work_ = nullptr;       // while tasks are running
};

}  // namespace weald
