#include "bag.h"

#include <algorithm>
#include <numeric>

#include "random.h"

namespace weald {

BagDrawer::BagDrawer(const Codes& codes) : n_rows_(codes.n_rows), length_(codes.line_length) {
    if (codes.line.empty()) {
        return;
    }
    ends_.resize(codes.line.size());
    std::inclusive_scan(codes.line.begin(), codes.line.end(), ends_.begin());
    step_ = length_ / n_rows_ + 1;
    guide_.resize(length_ / step_ + 2, n_rows_ - 1);
    for (std::uint64_t i = 0; i * step_ < length_; ++i) {
        guide_[i] = static_cast<std::uint32_t>(std::upper_bound(ends_.begin(), ends_.end(), i * step_) - ends_.begin());
    }
}

std::uint32_t BagDrawer::rank_at(std::uint64_t place) const {
    if (ends_.empty()) {
        return static_cast<std::uint32_t>(place);
    }
    const std::uint64_t i = place / step_;
    const auto begin = ends_.begin() + guide_[i];
    const auto end = ends_.begin() + guide_[i + 1] + 1;
    return static_cast<std::uint32_t>(std::upper_bound(begin, end, place) - ends_.begin());
}

std::vector<std::uint32_t> BagDrawer::draw(std::uint64_t n_draws, std::uint64_t seed, std::uint32_t tree) const {
    std::vector<std::uint32_t> counts(n_rows_);
    std::uint64_t pair = 0;
    // Several runs of philox at once, in vectors.
    for (; 2 * (pair + kPhiloxBlock) <= n_draws; pair += kPhiloxBlock) {
        const DrawBlock block = draw_block_of_ids(seed, pair, tree, kPurposeBag);
        for (const std::uint64_t bits : block) {
            ++counts[rank_at(below(bits, length_))];
        }
    }
    for (std::uint64_t j = 2 * pair; j < n_draws; ++j) {
        const std::uint64_t bits = weald::draw({seed, j / 2, tree, kPurposeBag}, static_cast<std::uint32_t>(j % 2));
        ++counts[rank_at(below(bits, length_))];
    }
    return counts;
}

}  // namespace weald
