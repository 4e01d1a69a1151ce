#include "coding/cuts.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "coding/bucket_index.h"

namespace weald {

namespace {

template <class Float>
std::uint64_t hash_value(Float x, std::uint64_t salt) {
    return mix64(value_bits(static_cast<double>(x)) + salt);
}

}  // namespace

// Values are copied to contiguous memory first, so that many are hashed at once.
void add_values(const Matrix& x, std::size_t first, std::size_t begin, std::size_t end, std::span<std::uint64_t> sums) {
    std::vector<std::uint64_t> salts(x.n_columns);
    for (std::size_t f = 0; f < x.n_columns; ++f) {
        salts[f] = mix64(first + f + 1);
    }
    x.dispatch([&]<class Float>() {
        const bool by_row = x.column_stride == sizeof(Float);
        std::vector<Float> values(by_row ? x.n_columns : end - begin);
        for (std::size_t r = begin; by_row && r < end; ++r) {
            std::memcpy(values.data(), x.data + static_cast<std::ptrdiff_t>(r) * x.row_stride,
                        x.n_columns * sizeof(Float));
            std::uint64_t sum = 0;
            for (std::size_t f = 0; f < values.size(); ++f) {
                sum += hash_value(values[f], salts[f]);
            }
            sums[r] += sum;
        }
        for (std::size_t f = 0; !by_row && f < x.n_columns; ++f) {
            for (std::size_t i = 0; i < values.size(); ++i) {
                values[i] = x.at<Float>(begin + i, f);
            }
            for (std::size_t i = 0; i < values.size(); ++i) {
                sums[begin + i] += hash_value(values[i], salts[f]);
            }
        }
    });
}

void hash_values(const Matrix& x, std::span<const std::uint64_t> targets, std::size_t begin, std::size_t end,
                 std::span<std::uint64_t> hashes) {
    for (std::size_t r = begin; r < end; ++r) {
        hashes[r] = mix64(targets[r]);
    }
    add_values(x, 0, begin, end, hashes);
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

// The smallest value of the type that is not below x.
template <class Float>
Float round_up(double x) {
    const Float near = static_cast<Float>(x);
    return near < x ? std::nextafter(near, std::numeric_limits<Float>::infinity()) : near;
}

}  // namespace

template <class Code>
void code_values(const Matrix& x, std::size_t column, std::span<const double> starts, std::span<Code> codes) {
    constexpr Code kMissing = std::numeric_limits<Code>::max();
    x.dispatch([&]<class Float>() {
        std::vector<Float> rounded(starts.size());
        std::transform(starts.begin(), starts.end(), rounded.begin(), round_up<Float>);
        const BucketIndex<Float> index(std::move(rounded));
        constexpr std::size_t kAtOnce = BucketIndex<Float>::kAtOnce;
        std::array<Float, kAtOnce> values{};
        std::array<std::uint32_t, kAtOnce> found{};
        for (std::size_t begin = 0; begin < codes.size(); begin += kAtOnce) {
            const std::size_t n = std::min(kAtOnce, codes.size() - begin);
            for (std::size_t i = 0; i < n; ++i) {
                values[i] = x.at<Float>(begin + i, column);
            }
            index.search(values, found);
            for (std::size_t i = 0; i < n; ++i) {
                codes[begin + i] = std::isnan(values[i]) ? kMissing : static_cast<Code>(found[i]);
            }
        }
    });
}

template <class Float, class Code>
Highs<Float> find_highs(const Matrix& x, std::size_t column, std::span<const Code> codes, std::size_t n_codes) {
    constexpr Float kInfinity = std::numeric_limits<Float>::infinity();
    Highs<Float> highs{std::vector<Float>(n_codes, -kInfinity), kInfinity};
    for (std::size_t r = 0; r < codes.size(); ++r) {
        const Float value = x.at<Float>(r, column) + Float{0};  // -0.0 becomes 0.0
        if (!std::isnan(value)) {
            highs.of_code[codes[r]] = std::max(highs.of_code[codes[r]], value);
            highs.least = std::min(highs.least, value);
        }
    }
    return highs;
}

template void code_values(const Matrix&, std::size_t, std::span<const double>, std::span<std::uint8_t>);
template void code_values(const Matrix&, std::size_t, std::span<const double>, std::span<std::uint16_t>);
template void code_values(const Matrix&, std::size_t, std::span<const double>, std::span<std::uint32_t>);
template Highs<float> find_highs(const Matrix&, std::size_t, std::span<const std::uint8_t>, std::size_t);
template Highs<float> find_highs(const Matrix&, std::size_t, std::span<const std::uint16_t>, std::size_t);
template Highs<float> find_highs(const Matrix&, std::size_t, std::span<const std::uint32_t>, std::size_t);
template Highs<double> find_highs(const Matrix&, std::size_t, std::span<const std::uint8_t>, std::size_t);
template Highs<double> find_highs(const Matrix&, std::size_t, std::span<const std::uint16_t>, std::size_t);
template Highs<double> find_highs(const Matrix&, std::size_t, std::span<const std::uint32_t>, std::size_t);

}  // namespace weald
