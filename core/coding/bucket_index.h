// The code of a value, by the smallest value of each code.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/sortable.h"

namespace weald {

// An index for the search: the range of bits from the first start to the last is divided into buckets, and each stores
// the number of starts before it. A search only considers the few starts of one bucket.
template <class Float>
class BucketIndex {
  public:
    static constexpr std::size_t kAtOnce = 16;  // interleaved searches: while one waits for memory, the others continue

    // `starts` are ascending; if empty, all values have code 0.
    explicit BucketIndex(std::vector<Float> starts) : starts_(std::move(starts)) {
        if (starts_.empty()) {
            starts_.push_back(-std::numeric_limits<Float>::infinity());
        }
        lowest_ = sortable(starts_.front());
        const Bits<Float> range = sortable(starts_.back()) - lowest_;
        shift_ = std::max(0, width_of(range) - width_of(starts_.size()));
        last_ = range >> shift_;
        before_.assign(last_ + std::size_t{2}, 0);
        for (const Float start : starts_) {
            ++before_[bucket_of(start) + 1];
        }
        first_step_ = std::bit_floor(*std::max_element(before_.begin(), before_.end()));
        std::inclusive_scan(before_.begin(), before_.end(), before_.begin());
        // Comparisons with NaN are false, so a search beyond the last start stops.
        starts_.resize(starts_.size() + 2 * first_step_, std::numeric_limits<Float>::quiet_NaN());
    }

    // The index of the largest start that is not above the value, else 0. Starts of later buckets are above it.
    void search(const std::array<Float, kAtOnce>& values, std::array<std::uint32_t, kAtOnce>& found) const {
        for (std::size_t i = 0; i < kAtOnce; ++i) {
            found[i] = before_[bucket_of(values[i])];
        }
        for (std::uint32_t step = first_step_; step > 0; step /= 2) {
            for (std::size_t i = 0; i < kAtOnce; ++i) {
                found[i] += starts_[found[i] + step - 1] <= values[i] ? step : 0;
            }
        }
        for (std::size_t i = 0; i < kAtOnce; ++i) {
            found[i] -= found[i] > 0;
        }
    }

  private:
    static int width_of(std::uint64_t x) { return static_cast<int>(std::bit_width(x)); }

    std::size_t bucket_of(Float value) const {
        const Bits<Float> key = std::max(sortable(value), lowest_);
        return std::min<Bits<Float>>((key - lowest_) >> shift_, last_);
    }

    std::vector<Float> starts_;
    std::vector<std::uint32_t> before_;  // by bucket; last: the total
    Bits<Float> lowest_ = 0;
    Bits<Float> last_ = 0;  // bucket
    int shift_ = 0;
    std::uint32_t first_step_ = 0;  // first step of a search
};

}  // namespace weald
