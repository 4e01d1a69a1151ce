#include "cuts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>

#include "random.h"
#include "sortable.h"

namespace weald {

void hash_values(const Matrix& x, std::span<const std::uint64_t> targets, std::size_t begin, std::size_t end,
                 std::span<std::uint64_t> hashes) {
    for (std::size_t r = begin; r < end; ++r) {
        hashes[r] = mix64(targets[r]);
    }
    x.dispatch([&]<class Float>() {
        for (std::size_t f = 0; f < x.n_columns; ++f) {
            const std::uint64_t salt = mix64(f + 1);
            for (std::size_t r = begin; r < end; ++r) {
                hashes[r] += mix64(value_bits(static_cast<double>(x.at<Float>(r, f))) + salt);
            }
        }
    });
    for (std::size_t r = begin; r < end; ++r) {
        hashes[r] = mix64(hashes[r]);
    }
}

std::vector<double> cut_quantiles(std::span<const double> values, std::span<const std::uint64_t> weights,
                                  std::uint32_t max_bins) {
    __extension__ using Wide = unsigned __int128;
    std::uint64_t weight_left = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
    std::vector<double> starts;
    std::uint64_t inside = 0;
    std::uint64_t at_start = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (inside == 0) {
            starts.push_back(values[i]);
            at_start = weight_left;
        }
        inside += weights[i];
        weight_left -= weights[i];
        if (static_cast<Wide>(inside) * (max_bins - starts.size() + 1) >= at_start) {
            inside = 0;
        }
    }
    return starts;
}

namespace {

constexpr std::size_t kAtOnce = 16;  // searches side by side: while one waits for memory, the others go on

// The smallest value of the type that is not below x.
template <class Float>
Float round_up(double x) {
    const Float near = static_cast<Float>(x);
    return near < x ? std::nextafter(near, std::numeric_limits<Float>::infinity()) : near;
}

// Where to look: the range of bits from the first start to the last is divided into buckets, and each knows the starts
// before it. So a search goes over the few starts of one bucket.
template <class Float>
class Guide {
  public:
    explicit Guide(std::span<const double> starts) {
        starts_.reserve(2 * starts.size() + 1);
        for (const double start : starts) {
            starts_.push_back(round_up<Float>(start));
        }
        if (starts.empty()) {
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
        // NaN is at most nothing: a search that looks beyond the last start does not go on.
        starts_.resize(starts_.size() + 2 * first_step_, std::numeric_limits<Float>::quiet_NaN());
    }

    // Where the largest start stands that is not above the value, else 0. Starts of later buckets are above it.
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
    std::vector<std::uint32_t> before_;  // by bucket; and all
    Bits<Float> lowest_ = 0;
    Bits<Float> last_ = 0;  // bucket
    int shift_ = 0;
    std::uint32_t first_step_ = 0;  // of a search
};

}  // namespace

template <class Code>
void code_values(const Matrix& x, std::size_t column, std::span<const double> starts, std::span<Code> codes) {
    constexpr Code kMissing = std::numeric_limits<Code>::max();
    x.dispatch([&]<class Float>() {
        const Guide<Float> guide(starts);
        std::array<Float, kAtOnce> values{};
        std::array<std::uint32_t, kAtOnce> found{};
        for (std::size_t begin = 0; begin < codes.size(); begin += kAtOnce) {
            const std::size_t n = std::min(kAtOnce, codes.size() - begin);
            for (std::size_t i = 0; i < n; ++i) {
                values[i] = x.at<Float>(begin + i, column);
            }
            guide.search(values, found);
            for (std::size_t i = 0; i < n; ++i) {
                codes[begin + i] = std::isnan(values[i]) ? kMissing : static_cast<Code>(found[i]);
            }
        }
    });
}

template <class Code>
Extremes find_extremes(const Matrix& x, std::size_t column, std::span<const Code> codes, std::size_t n_codes) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    Extremes extremes{std::vector<double>(n_codes, kInfinity), std::vector<double>(n_codes, -kInfinity)};
    x.dispatch([&]<class Float>() {
        for (std::size_t r = 0; r < codes.size(); ++r) {
            const double value = static_cast<double>(x.at<Float>(r, column)) + 0.0;  // -0.0 becomes 0.0
            if (!std::isnan(value)) {
                extremes.lows[codes[r]] = std::min(extremes.lows[codes[r]], value);
                extremes.highs[codes[r]] = std::max(extremes.highs[codes[r]], value);
            }
        }
    });
    return extremes;
}

template void code_values(const Matrix&, std::size_t, std::span<const double>, std::span<std::uint8_t>);
template void code_values(const Matrix&, std::size_t, std::span<const double>, std::span<std::uint16_t>);
template void code_values(const Matrix&, std::size_t, std::span<const double>, std::span<std::uint32_t>);
template Extremes find_extremes(const Matrix&, std::size_t, std::span<const std::uint8_t>, std::size_t);
template Extremes find_extremes(const Matrix&, std::size_t, std::span<const std::uint16_t>, std::size_t);
template Extremes find_extremes(const Matrix&, std::size_t, std::span<const std::uint32_t>, std::size_t);

}  // namespace weald
