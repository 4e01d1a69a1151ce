// Histogram subtraction. If every node considers all features, the bins of a node are those of its parent minus those
// of its sibling: only the rows of the smaller child are read and added up.
//
// All sums are integers, so differences are exact. A feature has the same bins in all nodes. They are coarse, and the
// search looks inside them as in other histograms (search/cells.h).
//
//   CarriedBins   the bins of features, and the sums of one node after the other

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "coding/codes.h"
#include "draw/cut_by_sets.h"
#include "draw/tree_params.h"
#include "rows/node_codes.h"
#include "rows/tree_rows.h"
#include "search/cells.h"
#include "search/searched_model.h"

namespace weald {

// Whether a model's sums can be subtracted bin by bin.
template <class Model>
inline constexpr bool kCarriesBins = requires { typename Model::Labels::Carried; };

// For other models, all operations are empty.
template <SearchedModel Model>
class CarriedBins {
  public:
    struct Bins {
        static constexpr bool are_there() { return false; }
    };

    CarriedBins(const Codes&, const Growth&) {}

    void begin(const Bins&) {}
    template <class... With>
    void prepare(const With&...) {}
    template <class... With>
    std::pair<Bins, Bins> divide(const With&...) {
        return {};
    }
    void recycle(Bins) {}
};

template <SearchedModel Model>
    requires kCarriesBins<Model>
class CarriedBins<Model> {
  public:
    using Payload = typename Model::Payload;
    using Sum = typename Model::Labels::Carried;
    using Tree = TreeInTraining<Payload>;

    // The bins of all features of a node; empty if it has none.
    struct Bins {
        std::vector<Sum> sums;
        std::size_t level = 0;  // coarseness

        bool are_there() const { return !sums.empty(); }
    };
    // Of one feature; the last is for missing values.
    struct OfFeature {
        std::span<const Sum> sums;
        int shift;  // bits of a code that its bin does not determine
    };

    CarriedBins(const Codes& codes, const Growth& growth) : max_depth_(growth.max_depth) {
        if (!are_possible(codes, growth)) {
            return;
        }
        for (std::size_t level = 0; level < kLevels; ++level) {
            levels_.emplace_back(codes, kCoarseBins >> level);
        }
        const std::size_t bytes = codes.columns.size() * codes.n_rows;
        n_most_ = 2 + (bytes + kLittle) / (levels_[0].n_sums * sizeof(Sum));
    }

    OfFeature of(const Bins& bins, std::uint32_t feature) const {
        const Place& at = levels_[bins.level].places[feature];
        return {std::span(bins.sums).subspan(at.begin, at.length), at.shift};
    }

    // Called before a part of a tree is grown, with the bins of its root.
    void begin(const Bins& bins) { n_held_ = bins.are_there() ? 1 : 0; }

    // Computes the bins of a node that has none, if that is worthwhile.
    void prepare(Bins& bins, const Model& model, Tree& tree, const Node& node, NodeCodes& codes, FeatureSet constant) {
        if (bins.are_there()) {
            coarsen(bins, level_for(node));
        } else if (is_worth_it(node)) {
            bins = add_up(level_for(node), model, tree, node, codes, constant);
        }
    }

    // The bins of both children, if worthwhile. Those of the parent are reused.
    std::pair<Bins, Bins> divide(Bins parent, const Model& model, Tree& tree, const std::pair<Node, Node>& children,
                                 NodeCodes& codes, FeatureSet constant) {
        const auto& [left, right] = children;
        const bool left_is_smaller = left.n_rows() < right.n_rows();
        const Node& smaller = left_is_smaller ? left : right;
        const Node& larger = left_is_smaller ? right : left;
        if (!parent.are_there() || !is_worth_it(larger)) {
            recycle(std::move(parent));
            return {};
        }
        coarsen(parent, level_for(larger));
        Bins of_smaller = add_up(parent.level, model, tree, smaller, codes, constant);
        for (std::size_t i = 0; i < parent.sums.size(); ++i) {
            parent.sums[i] -= of_smaller.sums[i];
        }
        if (!is_worth_it(smaller) || n_held_ > n_most_) {
            recycle(std::exchange(of_smaller, {}));
        }
        return left_is_smaller ? std::pair(std::move(of_smaller), std::move(parent))
                               : std::pair(std::move(parent), std::move(of_smaller));
    }

    // Takes back bins that are no longer needed.
    void recycle(Bins bins) {
        if (bins.are_there()) {
            spare_.push_back(std::move(bins));
            --n_held_;
        }
    }

  private:
    // The location of the bins of a feature.
    struct Place {
        std::size_t begin;
        std::size_t length;
        int shift;
    };
    struct Level {
        std::vector<Place> places;
        std::size_t n_sums = 0;

        Level(const Codes& codes, std::uint32_t most) {
            for (const Column& column : codes.columns) {
                const auto last = static_cast<std::uint32_t>(column.lows.size()) - 1;
                const auto shift = static_cast<int>(std::bit_width(last / most));
                const std::size_t length = (last >> shift) + 2;
                places.push_back({n_sums, length, shift});
                n_sums += length;
            }
        }
    };

    static constexpr std::size_t kLevels = 4;           // number of levels, each with half as many bins
    static constexpr std::uint32_t kRowsOfBin = 8;      // nodes with more rows have more bins
    static constexpr std::uint32_t kLeastRows = 256;    // minimum size of a node whose bins are worthwhile
    static constexpr std::size_t kLittle = 4u << 20;    // bytes that are always allowed
    static constexpr std::uint32_t kRowsAtOnce = 2048;  // added up for one feature after the other

    // All features considered, codes of one or two bytes, cuts by order only.
    static bool are_possible(const Codes& codes, const Growth& growth) {
        return growth.max_features >= codes.columns.size() && !growth.random_cuts && growth.max_leaf_nodes == 0 &&
               growth.monotonic.empty() && growth.feature_weights.empty() && codes.filled.is_empty() &&
               std::all_of(codes.columns.begin(), codes.columns.end(), [&](const Column& column) {
                   return column.width <= 2 && !is_cut_by_sets(column, growth) && column.lows.size() != 0;
               });
    }

    bool is_worth_it(const Node& node) const {
        return !levels_.empty() && node.n_rows() >= kLeastRows && node.depth != max_depth_;
    }

    static std::size_t level_for(const Node& node) {
        std::size_t level = 0;
        while (level + 1 < kLevels && (kCoarseBins >> level) * kRowsOfBin > node.n_rows()) {
            ++level;
        }
        return level;
    }

    // Merges adjacent bins.
    void coarsen(Bins& bins, std::size_t level) const {
        if (level <= bins.level) {
            return;
        }
        const Level& from = levels_[bins.level];
        const Level& to = levels_[level];
        for (std::size_t feature = 0; feature < to.places.size(); ++feature) {
            const Place& fine = from.places[feature];
            const Place& coarse = to.places[feature];
            // In place: each bin is read before it is overwritten.
            const Sum missing = bins.sums[fine.begin + fine.length - 1];
            const int shift = coarse.shift - fine.shift;
            for (std::size_t b = 0; b + 1 < coarse.length; ++b) {
                Sum sum = bins.sums[fine.begin + (b << shift)];
                for (std::size_t i = (b << shift) + 1; i < std::min((b + 1) << shift, fine.length - 1); ++i) {
                    sum += bins.sums[fine.begin + i];
                }
                bins.sums[coarse.begin + b] = sum;
            }
            bins.sums[coarse.begin + coarse.length - 1] = missing;
        }
        bins.sums.resize(to.n_sums);
        bins.level = level;
    }

    Bins add_up(std::size_t level, const Model& model, Tree& tree, const Node& node, NodeCodes& codes,
                FeatureSet constant) {
        Bins bins;
        if (!spare_.empty()) {
            bins = std::move(spare_.back());
            spare_.pop_back();
        }
        ++n_held_;
        bins.level = level;
        bins.sums.assign(levels_[level].n_sums, Sum{});
        const std::span<const std::uint32_t> ids = tree.ids(node);
        const Payload* payloads = tree.payloads(node);
        for (std::uint32_t begin = 0; begin < ids.size(); begin += kRowsAtOnce) {
            const auto n = std::min<std::uint32_t>(kRowsAtOnce, node.n_rows() - begin);
            for (std::uint32_t i = 0; i < n; ++i) {
                rows_[i] = model.labels().carried(payloads[begin + i]);
            }
            for (std::uint32_t feature = 0; feature < levels_[level].places.size(); ++feature) {
                if (!constant.has(feature)) {
                    codes.reader().read(feature, node.begin, ids.subspan(begin, n), codes_.data());
                    add_rows(bins.sums.data(), levels_[level].places[feature], n);
                }
            }
        }
        return bins;
    }

    void add_rows(Sum* sums, const Place& at, std::uint32_t n) const {
        Sum* bins = sums + at.begin;
        const std::size_t missing = at.length - 1;
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::size_t code = codes_[i];
            bins[code == kMissing<std::uint16_t> ? missing : code >> at.shift] += rows_[i];
        }
    }

    std::int32_t max_depth_;
    std::vector<Level> levels_;  // empty: bins are not inherited
    std::size_t n_most_ = 0;     // maximum number of nodes with bins at a time
    std::size_t n_held_ = 0;     // number of nodes that have them
    std::vector<Bins> spare_;
    std::vector<Sum> rows_ = std::vector<Sum>(kRowsAtOnce);  // what each row adds
    std::array<std::uint16_t, kRowsAtOnce> codes_{};
};

}  // namespace weald
