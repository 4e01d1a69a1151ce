#include "draw/bag.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>

#include "base/random.h"
#include "base/random_block.h"

namespace weald {

Line::Line(const std::vector<std::uint64_t>& lengths)
    : n_(static_cast<std::uint32_t>(lengths.size())), length_(0), ends_(lengths.size()) {
    std::inclusive_scan(lengths.begin(), lengths.end(), ends_.begin());
    length_ = ends_.back();
    step_ = length_ / n_ + 1;
    index_.resize(length_ / step_ + 2, n_ - 1);
    for (std::uint64_t i = 0; i * step_ < length_; ++i) {
        index_[i] = static_cast<std::uint32_t>(std::upper_bound(ends_.begin(), ends_.end(), i * step_) - ends_.begin());
    }
}

std::uint32_t Line::unit_at(std::uint64_t place) const {
    if (ends_.empty()) {
        return static_cast<std::uint32_t>(place);
    }
    const std::uint64_t i = place / step_;
    const auto begin = ends_.begin() + index_[i];
    const auto end = ends_.begin() + index_[i + 1] + 1;
    return static_cast<std::uint32_t>(std::upper_bound(begin, end, place) - ends_.begin());
}

namespace {

// Calls use(bits) for draws first ... last - 1 of a tree's bag.
template <class Use>
void for_draws(std::uint64_t seed, std::uint32_t tree, std::uint64_t first, std::uint64_t last, Use&& use) {
    const auto draw_one = [&](std::uint64_t j) {
        use(draw({seed, j / 2, tree, kPurposeBag}, static_cast<std::uint32_t>(j % 2)));
    };
    std::uint64_t j = first;
    if (j % 2 != 0 && j < last) {
        draw_one(j++);
    }
    // Several runs of philox at once, in vectors.
    for (; j + 2 * kPhiloxBlock <= last; j += 2 * kPhiloxBlock) {
        for (const std::uint64_t bits : draw_block_of_ids(seed, j / 2, tree, kPurposeBag)) {
            use(bits);
        }
    }
    for (; j < last; ++j) {
        draw_one(j);
    }
}

}  // namespace

BagDrawer::BagDrawer(const Codes& codes, const Growth& growth)
    : codes_(codes),
      bootstrap_(growth.bootstrap),
      n_units_(codes.design.groups.empty() ? codes.n_rows : codes.design.n_groups) {
    if (growth.strata == Strata::none) {
        add_stratum(growth.draws.empty() ? growth.n_draws : growth.draws[0], {});
        return;
    }
    std::vector<std::vector<std::uint32_t>> units(growth.draws.size());
    const std::vector<std::uint32_t> stratum = strata_of_units(growth);
    for (std::uint32_t unit = 0; unit < n_units_; ++unit) {
        units.at(stratum[unit]).push_back(unit);
    }
    for (std::size_t s = 0; s < units.size(); ++s) {
        if (units[s].empty() && growth.draws[s] != 0) {
            throw std::invalid_argument("a stratum has no rows");
        }
        if (!units[s].empty()) {
            add_stratum(growth.draws[s], std::move(units[s]));
        }
    }
}

void BagDrawer::add_stratum(std::uint64_t n_draws, std::vector<std::uint32_t> units) {
    if (codes_.line.empty() || !codes_.design.groups.empty()) {  // groups are drawn with equal probability
        const Line line(units.empty() ? n_units_ : static_cast<std::uint32_t>(units.size()));
        strata_.push_back({n_draws, std::move(units), line});
    } else if (units.empty()) {
        strata_.push_back({n_draws, {}, Line(codes_.line)});
    } else {
        std::vector<std::uint64_t> lengths(units.size());
        std::transform(units.begin(), units.end(), lengths.begin(), [&](std::uint32_t r) { return codes_.line[r]; });
        strata_.push_back({n_draws, std::move(units), Line(lengths)});
    }
}

std::vector<std::uint32_t> BagDrawer::strata_of_units(const Growth& growth) const {
    std::vector<std::uint32_t> of_unit(n_units_);
    for (std::size_t r = 0; r < codes_.n_rows; ++r) {
        const std::size_t unit = codes_.design.groups.empty() ? r : codes_.design.groups[r];
        of_unit[unit] = growth.strata == Strata::classes ? static_cast<std::uint32_t>(codes_.classes[r])
                                                         : codes_.design.strata.at(r);
    }
    return of_unit;
}

std::vector<std::uint32_t> BagDrawer::sizes(std::uint64_t seed, std::uint32_t tree) const {
    if (bootstrap_) {
        return draw(seed, tree);
    }
    std::vector<std::uint32_t> sizes(codes_.n_rows, 1);
    if (codes_.weights_are_copies() && !codes_.line.empty()) {
        std::transform(codes_.line.begin(), codes_.line.end(), sizes.begin(),
                       [](std::uint64_t n) { return static_cast<std::uint32_t>(n); });
    }
    return sizes;
}

std::vector<std::uint32_t> BagDrawer::draw(std::uint64_t seed, std::uint32_t tree) const {
    std::vector<std::uint32_t> counts(n_units_);
    std::uint64_t first = 0;
    for (const Stratum& stratum : strata_) {
        const std::uint64_t last = first + stratum.n_draws;
        for_draws(seed, tree, first, last, [&](std::uint64_t bits) {
            const std::uint32_t drawn = stratum.line.unit_at(below(bits, stratum.line.length()));
            ++counts[stratum.units.empty() ? drawn : stratum.units[drawn]];
        });
        first = last;
    }
    if (!codes_.design.groups.empty()) {
        return spread(counts);
    }
    return counts;
}

// A row counts as often as its group was drawn, times its number of copies.
std::vector<std::uint32_t> BagDrawer::spread(const std::vector<std::uint32_t>& of_groups) const {
    std::vector<std::uint32_t> counts(codes_.n_rows);
    for (std::size_t r = 0; r < counts.size(); ++r) {
        const std::uint64_t copies = codes_.line.empty() ? 1 : codes_.line[r];
        counts[r] = static_cast<std::uint32_t>(of_groups[codes_.design.groups[r]] * copies);
    }
    return counts;
}

std::vector<std::uint64_t> draw_out_of_bag(const Codes& codes, std::span<const Drawn> trees, Work& work) {
    std::map<const Growth*, BagDrawer> drawers;
    for (const Drawn& tree : trees) {
        drawers.try_emplace(tree.growth, codes, *tree.growth);
    }
    constexpr std::size_t kBits = 64;
    std::vector<std::vector<std::uint64_t>> outside(trees.size());  // by tree: a bit for each rank
    work.run(trees.size(), [&](std::size_t t, std::size_t) {
        const std::vector<std::uint32_t> sizes = drawers.at(trees[t].growth).sizes(trees[t].seed, trees[t].tree);
        outside[t].resize((sizes.size() + kBits - 1) / kBits);
        for (std::size_t r = 0; r < sizes.size(); ++r) {
            outside[t][r / kBits] |= std::uint64_t{sizes[r] == 0} << (r % kBits);
        }
    });
    std::vector<std::uint64_t> out(codes.n_rows);
    constexpr std::size_t kBlock = 4096;
    work.run((out.size() + kBlock - 1) / kBlock, [&](std::size_t block, std::size_t) {
        const std::size_t end = std::min(out.size(), (block + 1) * kBlock);
        for (std::size_t r = block * kBlock; r < end; ++r) {
            std::uint64_t bits = 0;
            for (std::size_t t = 0; t < trees.size(); ++t) {
                bits |= (outside[t][r / kBits] >> (r % kBits) & 1) << t;
            }
            out[codes.positions[r]] = bits;
        }
    });
    return out;
}

}  // namespace weald
