#include "base/threads.h"

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

constexpr auto kNap = std::chrono::milliseconds(50);  // how long the caller sleeps between two checks for signals
constexpr std::size_t kOwnRoom = 4096;                // bytes; more than a thread stores for the exceptions it throws

// Makes a thread able to throw. The C++ runtime allocates a thread's exception state with its first exception; if that
// exception reports that memory is exhausted, the allocation fails, and glibc terminates the process. So it is
// allocated beforehand, if there is memory.
bool prepare_to_throw() {
    void* volatile room = std::malloc(kOwnRoom);  // volatile: otherwise the compiler would remove both calls
    std::free(room);
    return room != nullptr && std::uncaught_exceptions() >= 0;
}

// The threads of one piece of work, and its first error.
class ThreadTeam {
  public:
    ThreadTeam(std::size_t n_threads, std::size_t n_helpers, std::atomic<Work::State>& state)
        : n_threads_(n_threads), helpers_(n_helpers), state_(state) {}

    // Starts work(thread) on all threads. If the system starts fewer, those that started do the work. Returns whether
    // any did.
    template <class Labour>
    bool start(const Labour& work) {
        threads_.reserve(n_threads_);
        at_work_ = n_threads_;
        try {
            for (std::size_t i = 0; i < n_threads_; ++i) {
                threads_.emplace_back([this, work, i] { labour([&] { work(i); }, nullptr); });
            }
        } catch (...) {
            const std::scoped_lock lock(mutex_);
            at_work_ -= n_threads_ - threads_.size();
        }
        return !threads_.empty();
    }

    // Does the work on the calling thread.
    template <class Labour>
    void work_alone(const Labour& work) {
        at_work_ = 1;
        labour([&] { work(0); }, nullptr);
    }

    // Starts work(helper) on another thread; called by a running thread. Has no effect if the system has no more
    // threads. A finished helper keeps memory until it is joined, so its successor waits until it has ended.
    template <class Labour>
    void start_helper(const Labour& work) {
        const auto place = take_place();
        if (place == helpers_.end()) {
            return;
        }
        if (place->thread.joinable()) {
            place->thread.join();
        }
        try {
            const auto number = static_cast<std::size_t>(place - helpers_.begin());
            place->thread = std::thread([this, work, number, at = &*place] { labour([&] { work(number); }, at); });
        } catch (...) {
            leave(&*place);
        }
    }

    // Waits until all threads have ended. Calls `poll` at intervals; an exception that it throws stops the work.
    template <class Poll>
    void wait(const Poll& poll) {
        std::unique_lock lock(mutex_);
        while (!all_left_.wait_for(lock, kNap, [&] { return at_work_ == 0; })) {
            lock.unlock();
            try {
                if (state_.load() != Work::State::kStopped) {
                    poll();
                }
            } catch (...) {
                fail(std::current_exception());
            }
            lock.lock();
        }
        lock.unlock();
        for (std::thread& thread : threads_) {
            thread.join();
        }
        for (Helper& helper : helpers_) {
            if (helper.thread.joinable()) {
                helper.thread.join();
            }
        }
    }

    void rethrow() const {
        if (failure_) {
            std::rethrow_exception(failure_);
        }
    }

  private:
    struct Helper {
        std::thread thread;
        bool is_there = false;
    };

    template <class What>
    void labour(const What& what, Helper* helper) {
        try {
            if (prepare_to_throw()) {  // a thread that cannot throw does no work
                what();
            }
        } catch (const Stopped&) {
            // The thread that stopped the work has stored the reason.
        } catch (...) {
            fail(std::current_exception());
        }
        leave(helper);
    }

    void fail(std::exception_ptr error) {
        const std::scoped_lock lock(mutex_);
        if (!failure_) {
            failure_ = std::move(error);
        }
        state_.store(Work::State::kStopped);
    }

    // The index of a helper that is not running; one past the end: there is none.
    std::vector<Helper>::iterator take_place() {
        const std::scoped_lock lock(mutex_);
        const auto is_free = [](const Helper& helper) { return !helper.is_there; };
        const auto place = state_.load() == Work::State::kStopped
                               ? helpers_.end()
                               : std::find_if(helpers_.begin(), helpers_.end(), is_free);
        if (place != helpers_.end()) {
            place->is_there = true;
            ++at_work_;
        }
        return place;
    }

    void leave(Helper* helper) {
        const std::scoped_lock lock(mutex_);
        if (helper != nullptr) {
            helper->is_there = false;
        }
        if (--at_work_ == 0) {
            all_left_.notify_one();
        }
    }

    std::size_t n_threads_;
    std::vector<std::thread> threads_;
    std::vector<Helper> helpers_;
    std::mutex mutex_;
    std::condition_variable all_left_;
    std::size_t at_work_ = 0;
    std::exception_ptr failure_;
    std::atomic<Work::State>& state_;
};

}  // namespace

void Work::look_around() const {
    if (state_.load() == State::kStopped) {
        throw Stopped{};
    }
    poll_now_and_then_();
}

void Work::run(std::size_t n_tasks, const std::function<void(std::size_t, std::size_t)>& task,
               const std::function<double()>& share, const std::function<void(std::size_t)>& help) {
    std::atomic<std::size_t> next{0};
    std::atomic<std::size_t> done{0};
    const std::size_t n_threads = std::max<std::size_t>(1, std::min(n_threads_, n_tasks));
    ThreadTeam crew(n_threads, help ? n_helpers() : 0, state_);
    if (help) {
        start_helper_ = [&] { crew.start_helper([&](std::size_t helper) { help(n_threads_ + helper); }); };
    }
    const auto is_stopped = [&] { return state_.load(std::memory_order_relaxed) == State::kStopped; };
    const auto poll = [&] { poll_(share ? share() : static_cast<double>(done.load()) / static_cast<double>(n_tasks)); };
    const auto work = [&](std::size_t thread) {
        for (std::size_t i; !is_stopped() && (i = next.fetch_add(1)) < n_tasks;) {
            task(i, thread);
            done.fetch_add(1, std::memory_order_relaxed);
            check();
        }
    };
    if (!crew.start(work)) {
        start_helper_ = [] {};  // only one thread may poll
        poll_now_and_then_ = [&, last = std::chrono::steady_clock::now()]() mutable {
            if (const auto now = std::chrono::steady_clock::now(); now - last >= kNap) {
                last = now;
                poll();
            }
        };
        State running = State::kThreads;
        state_.compare_exchange_strong(running, State::kAlone);
        crew.work_alone(work);
        State alone = State::kAlone;
        state_.compare_exchange_strong(alone, State::kThreads);
        poll_now_and_then_ = {};
    }
    crew.wait(poll);
    start_helper_ = {};
    crew.rethrow();
    if (done.load() < n_tasks && !is_stopped()) {
        throw std::bad_alloc();  // no thread was able to start
    }
}

}  // namespace weald
