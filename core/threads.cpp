#include "threads.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

namespace weald {

namespace {

constexpr auto kNap = std::chrono::milliseconds(50);  // how long the caller sleeps between two looks at signals
constexpr std::size_t kOwnRoom = 4096;  // bytes; more than what a thread keeps of the exceptions it throws

// Makes a thread able to throw. What C++ keeps for each thread of its exceptions is allocated with the first of them;
// where that is the one that tells that memory is short, there is none to be had, and glibc ends the process. So it is
// allocated beforehand, if there is room.
bool prepare_to_throw() {
    void* volatile room = std::malloc(kOwnRoom);  // volatile: or the compiler would leave both calls out
    std::free(room);
    return room != nullptr && std::uncaught_exceptions() >= 0;
}

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
            const bool ready = prepare_to_throw();  // a thread that is not leaves the work to the others
            for (std::size_t i; ready && !stop_.load(std::memory_order_relaxed) && (i = next.fetch_add(1)) < n_tasks;) {
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
    if (done.load() < n_tasks && !stop_.load()) {
        throw std::bad_alloc();  // no thread was able to begin
    }
}

}  // namespace weald
