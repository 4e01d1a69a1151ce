#include "threads.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace weald {

namespace {

constexpr auto kNap = std::chrono::milliseconds(50);  // how long the caller sleeps between two looks at signals

}  // namespace

void Work::run(std::size_t n_tasks, const std::function<void(std::size_t, std::size_t)>& task,
               const std::function<double()>& share) {
    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> done{0};
    std::mutex mutex;
    std::condition_variable all_left;
    std::exception_ptr failure;
    const std::size_t n_threads = std::max<std::size_t>(1, std::min(n_threads_, n_tasks));
    std::size_t at_work = n_threads;

    const auto fail = [&](std::exception_ptr error) {
        const std::scoped_lock lock(mutex);
        if (!failure) {
            failure = std::move(error);
        }
        stop_.store(true);
    };
    const auto labour = [&](std::size_t thread) {
        try {
            for (std::size_t i; !stop_.load(std::memory_order_relaxed) && (i = next.fetch_add(1)) < n_tasks;) {
                task(i, thread);
                done.fetch_add(1, std::memory_order_relaxed);
            }
        } catch (const Stopped&) {
            // Whoever stopped the work has left the reason.
        } catch (...) {
            fail(std::current_exception());
        }
        const std::scoped_lock lock(mutex);
        if (--at_work == 0) {
            all_left.notify_one();
        }
    };

    std::vector<std::thread> threads;
    threads.reserve(n_threads);
    try {
        for (std::size_t i = 0; i < n_threads; ++i) {
            threads.emplace_back(labour, i);
        }
    } catch (...) {  // no more threads to be had: those that started do the work, unless there are none
        const std::scoped_lock lock(mutex);
        at_work -= n_threads - threads.size();
        if (threads.empty()) {
            throw;
        }
    }
    {
        std::unique_lock lock(mutex);
        while (!all_left.wait_for(lock, kNap, [&] { return at_work == 0; })) {
            lock.unlock();
            try {
                if (!stop_.load()) {
                    poll_(share ? share() : static_cast<double>(done.load()) / static_cast<double>(n_tasks));
                }
            } catch (...) {
                fail(std::current_exception());
            }
            lock.lock();
        }
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
}

}  // namespace weald
