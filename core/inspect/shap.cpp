#include "inspect/shap.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "base/doubles.h"
#include "base/large_pages.h"
#include "base/require.h"
#include "inspect/dense_rows.h"

namespace weald {

namespace {

constexpr std::size_t kMostGroupRows = 128;                    // rows that are walked together
constexpr std::size_t kMostGroupBytes = std::size_t{1} << 26;  // memory limit for C and U on a path
constexpr std::size_t kGroupsOfChunk = 16;  // groups of a task, if a tree counts for some of its rows only
constexpr std::size_t kMostChunkCells = std::size_t{1} << 21;  // cells of sparse rows that are converted to dense form

DoubleVector read(const double* from) {
    DoubleVector vector;
    std::memcpy(&vector, from, sizeof vector);
    return vector;
}

LaneMask read(const std::int64_t* from) {
    LaneMask mask;
    std::memcpy(&mask, from, sizeof mask);
    return mask;
}

void write(double* to, const DoubleVector& vector) {
    std::memcpy(to, &vector, sizeof vector);
}

void write(std::int64_t* to, const LaneMask& mask) {
    std::memcpy(to, &mask, sizeof mask);
}

// Walks groups of rows down all paths of trees. kPairs: for interactions, else for values.
template <bool kPairs>
class GroupWalk {
  public:
    GroupWalk(const PathForest& forest, const ShapTask& task, std::size_t n_columns, std::size_t n_rows)
        : forest_(forest), task_(task), n_columns_(n_columns), n_rows_(n_rows) {
        std::size_t n_levels = 0, n_factors = 0, n_sums = 0, n_slots = 0;
        for (std::size_t t = 0; t < task.rules.size(); ++t) {
            const std::size_t levels = forest.depth()[t] + std::size_t{2}, points = task.rules[t].size();
            n_levels = std::max(n_levels, levels);
            n_factors = std::max(n_factors, levels * kFactors * points);
            n_sums = std::max(n_sums, levels * kSums * points * n_rows);
            n_slots = std::max(n_slots, forest.features(t).size());
            gains_.resize(std::max(gains_.size(), 2 * points * kDoubles));
        }
        levels_.resize(n_levels);
        factors_.resize(n_factors);
        sums_.resize(n_sums);
        left_.resize(n_levels * n_rows);
        own_.resize(n_levels * n_rows);
        columns_.resize(n_slots * n_rows);
        values_.resize(kPairs ? 0 : n_slots * n_rows);
    }

    // Adds the contribution of a tree to rows; `out` has the results of all rows.
    void add(std::size_t tree, const DenseRows& chunk, std::span<const std::size_t> rows, double* out) {
        rows_ = rows;
        out_ = out;
        open_tree(tree);
        if (nodes_.size() == 1) {
            return;
        }
        for (std::size_t slot = 0; slot < features_.size(); ++slot) {
            double* column = columns_.data() + slot * n_rows_;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                column[i] = chunk.at(rows[i], features_[slot]);
            }
            std::fill(column + rows.size(), column + n_rows_, 0);
        }
        if constexpr (!kPairs) {
            std::fill_n(values_.begin(), features_.size() * n_rows_, 0);
        }
        walk();
        if constexpr (!kPairs) {
            for (std::size_t slot = 0; slot < features_.size(); ++slot) {
                for (std::size_t i = 0; i < rows.size(); ++i) {
                    out[rows[i] * n_columns_ + features_[slot]] += values_[slot * n_rows_ + i];
                }
            }
        }
    }

  private:
    // Factors of a level, by point: those of the left and the right side, for a row that goes there or not; the square
    // of 1 / f above the split; and, of the side that is visited, the slope of a row that goes there.
    enum Factor : std::size_t { kLeftOwn, kLeftOther, kRightOwn, kRightOther, kSquare, kSlope, kFactors };
    enum Sum : std::size_t { kProduct, kOfLeft, kOfRight, kSums };  // sums of a level: C, and U of both sides

    // A split on the path to the current node.
    struct Level {
        std::uint32_t node;
        std::uint32_t n_visited;  // sides
        PathForest::Split split;
        bool is_latest;  // no split below it on the path has its feature
    };

    void open_tree(std::size_t tree) {
        nodes_ = forest_.predictor().nodes(tree);
        splits_ = forest_.splits(tree);
        features_ = forest_.features(tree);
        amounts_ = task_.amounts.subspan(forest_.node_start(tree), nodes_.size());
        rule_ = &task_.rules[tree];
        n_points_ = rule_->size();
        n_vectors_ = (rows_.size() + kDoubles - 1) / kDoubles;
    }

    double* sums(std::size_t level, Sum sum) { return sums_.data() + (level * kSums + sum) * n_points_ * n_rows_; }
    double* factors(std::size_t level, Factor factor) {
        return factors_.data() + (level * kFactors + factor) * n_points_;
    }
    std::int64_t* left(std::size_t level) { return left_.data() + level * n_rows_; }
    std::int64_t* own(std::size_t level) { return own_.data() + level * n_rows_; }
    bool is_leaf(std::size_t node) const { return nodes_[node].is_leaf(); }
    // Whether rows follow the path at the splits by the same feature above; nullptr: it is the first such split.
    const std::int64_t* own_above(const Level& at) {
        return at.split.depth < 0 ? nullptr : own(static_cast<std::size_t>(at.split.depth));
    }
    std::size_t child(const Level& at, bool right) const { return right ? nodes_[at.node].right : at.node + 1u; }

    void walk() {
        for (std::size_t v = 0; v < n_vectors_; ++v) {
            for (std::size_t q = 0; q < n_points_; ++q) {
                write(sums(0, kProduct) + (v * n_points_ + q) * kDoubles, all_lanes(rule_->weights[q]));
            }
        }
        std::size_t level = 0;
        open(0, level);
        while (true) {
            Level& at = levels_[level];
            if (at.n_visited == 2) {
                close(level);
                if (level == 0) {
                    return;
                }
                --level;
                continue;
            }
            const bool right = at.n_visited++ == 0;
            if (is_leaf(child(at, right))) {
                continue;
            }
            at.split.depth < 0 ? descend<true>(level, right) : descend<false>(level, right);
            ++level;
            open(static_cast<std::uint32_t>(child(at, right)), level);
        }
    }

    // Finds the side of each row at a split, and the factors of both sides.
    void open(std::uint32_t node, std::size_t level) {
        const PathForest::Split split = splits_[node];
        levels_[level] = {node, 0, split, true};
        divide_rows(level);
        split.depth < 0 ? fill_factors<true>(level) : fill_factors<false>(level);
    }

    template <bool kFirst>
    void fill_factors(std::size_t level) {
        const PathForest::Split& split = levels_[level].split;
        const double z = split.above, z_left = z * split.left, z_right = z * split.right;
        const std::size_t n = n_points_;
        const double* __restrict points = rule_->points.data();
        const double* __restrict rest = rule_->rest.data();
        double* __restrict left_own = factors(level, kLeftOwn);
        double* __restrict left_other = factors(level, kLeftOther);
        double* __restrict right_own = factors(level, kRightOwn);
        double* __restrict right_other = factors(level, kRightOther);
        double* __restrict square = factors(level, kSquare);
        for (std::size_t q = 0; q < n; ++q) {
            const double inverse = kFirst ? 1.0 : 1.0 / (z * rest[q] + points[q]);
            left_own[q] = (z_left * rest[q] + points[q]) * inverse;
            left_other[q] = z_left * rest[q] * inverse;
            right_own[q] = (z_right * rest[q] + points[q]) * inverse;
            right_other[q] = z_right * rest[q] * inverse;
            square[q] = inverse * inverse;
        }
    }

    void divide_rows(std::size_t level) {
        const Predictor::Node& node = nodes_[levels_[level].node];
        const double* column = columns_.data() + levels_[level].split.slot * n_rows_;
        if (node.feature != node.column()) {  // by a set of categories
            for (std::size_t i = 0; i < n_vectors_ * kDoubles; ++i) {
                const std::uint32_t next = forest_.predictor().child<true>(node, levels_[level].node, column[i]);
                left(level)[i] = next == levels_[level].node + 1 ? -1 : 0;
            }
            return;
        }
        for (std::size_t v = 0; v < n_vectors_; ++v) {
            const DoubleVector x = read(column + v * kDoubles);
            LaneMask is_left = x <= all_lanes(node.threshold);
            if (node.missing_left != 0) {
                is_left |= x != x;
            }
            write(left(level) + v * kDoubles, is_left);
        }
    }

    // Extends C to a child that is a split.
    template <bool kFirst>
    void descend(std::size_t level, bool right) {
        const Level& at = levels_[level];
        const std::int64_t* above = own_above(at);
        const double* own_factor = factors(level, right ? kRightOwn : kLeftOwn);
        const double* other_factor = factors(level, right ? kRightOther : kLeftOther);
        const DoubleVector fraction = all_lanes(right ? at.split.right : at.split.left);
        const LaneMask flip = LaneMask{} - static_cast<std::int64_t>(right);
        const std::size_t n = n_points_;
        const std::int64_t* goes_left = left(level);
        std::int64_t* own_below = own(level);
        const double* __restrict product = sums(level, kProduct);
        double* __restrict extended = sums(level + 1, kProduct);
        for_vectors([&]<std::size_t kWidth>(std::size_t v) {
            LaneMask there[kWidth], is_own[kWidth];
            for (std::size_t w = 0; w < kWidth; ++w) {
                there[w] = read(goes_left + (v + w) * kDoubles) ^ flip;
                is_own[w] = there[w];
                if constexpr (!kFirst) {
                    is_own[w] = read(above + (v + w) * kDoubles);
                }
                write(own_below + (v + w) * kDoubles, is_own[w] & there[w]);
            }
            for (std::size_t q = 0; q < n; ++q) {
                const DoubleVector of_own = all_lanes(own_factor[q]), of_other = all_lanes(other_factor[q]);
                for (std::size_t w = 0; w < kWidth; ++w) {
                    const std::size_t at_point = ((v + w) * n + q) * kDoubles;
                    DoubleVector factor = there[w] ? of_own : of_other;
                    if constexpr (!kFirst) {
                        factor = is_own[w] ? factor : fraction;
                    }
                    write(extended + at_point, read(product + at_point) * factor);
                }
            }
        });
        if constexpr (kPairs) {
            keep_slope(level, right);
        }
    }

    void keep_slope(std::size_t level, bool right) {
        Level& at = levels_[level];
        if (at.split.depth >= 0) {
            levels_[static_cast<std::size_t>(at.split.depth)].is_latest = false;
        }
        const double z = at.split.above * (right ? at.split.right : at.split.left);
        for (std::size_t q = 0; q < n_points_; ++q) {
            factors(level, kSlope)[q] = (1.0 - z) / (z * rule_->rest[q] + rule_->points[q]);
        }
    }

    void close(std::size_t level) {
        const Level& at = levels_[level];
        const bool first = at.split.depth < 0;
        if (kPairs && !first) {
            levels_[static_cast<std::size_t>(at.split.depth)].is_latest = true;
        }
        const bool left = is_leaf(child(at, false)), right = is_leaf(child(at, true));
        if (left && right) {
            first ? close_with<true, true, true>(level) : close_with<false, true, true>(level);
        } else if (left) {
            first ? close_with<true, true, false>(level) : close_with<false, true, false>(level);
        } else if (right) {
            first ? close_with<true, false, true>(level) : close_with<false, false, true>(level);
        } else {
            first ? close_with<true, false, false>(level) : close_with<false, false, false>(level);
        }
    }

    // U of a split, and its contribution to its feature.
    template <bool kFirst, bool kLeftLeaf, bool kRightLeaf>
    void close_with(std::size_t level) {
        const Level& at = levels_[level];
        const std::int64_t* above = own_above(at);
        const double* factor = factors(level, kLeftOwn);
        const std::size_t n = n_points_;
        const double left_leaf = kLeftLeaf ? amounts_[at.node + 1] : 0;
        const double right_leaf = kRightLeaf ? amounts_[nodes_[at.node].right] : 0;
        const double scale_left = at.split.above * at.split.right, scale_right = -(at.split.above * at.split.left);
        const std::int64_t* to_left = left(level);
        const double* __restrict product = sums(level, kProduct);
        const double* of_left = sums(level, kOfLeft);
        const double* of_right = sums(level, kOfRight);
        double* total = target(level);
        for_vectors([&]<std::size_t kWidth>(std::size_t v) {
            LaneMask goes_left[kWidth], is_own[kWidth];
            DoubleVector integral[kWidth];
            for (std::size_t w = 0; w < kWidth; ++w) {
                goes_left[w] = read(to_left + (v + w) * kDoubles);
                is_own[w] = kFirst ? LaneMask{} - 1 : read(above + (v + w) * kDoubles);
                integral[w] = DoubleVector{};
            }
            for (std::size_t q = 0; q < n; ++q) {
                const double left_own = factor[kLeftOwn * n + q], left_other = factor[kLeftOther * n + q];
                const double right_own = factor[kRightOwn * n + q], right_other = factor[kRightOther * n + q];
                const DoubleVector square = all_lanes(factor[kSquare * n + q]);
                // Two leaves: one number for all rows that go to the same side.
                const DoubleVector if_left = all_lanes(left_own * left_leaf + right_other * right_leaf);
                const DoubleVector if_right = all_lanes(left_other * left_leaf + right_own * right_leaf);
                for (std::size_t w = 0; w < kWidth; ++w) {
                    const std::size_t at_point = ((v + w) * n + q) * kDoubles;
                    const DoubleVector a = kLeftLeaf ? all_lanes(left_leaf) : read(of_left + at_point);
                    const DoubleVector b = kRightLeaf ? all_lanes(right_leaf) : read(of_right + at_point);
                    DoubleVector c = read(product + at_point);
                    if constexpr (!kFirst) {
                        c *= square;
                    }
                    const DoubleVector gain = c * (a - b);
                    if constexpr (kPairs) {
                        write(gains_.data() + (w * n + q) * kDoubles, gain);
                    } else {
                        integral[w] += gain;
                    }
                    DoubleVector sum;
                    if constexpr (kLeftLeaf && kRightLeaf) {
                        sum = goes_left[w] ? if_left : if_right;
                    } else {
                        const DoubleVector f = goes_left[w] ? all_lanes(left_own) : all_lanes(left_other);
                        const DoubleVector g = goes_left[w] ? all_lanes(right_other) : all_lanes(right_own);
                        sum = f * a + g * b;
                    }
                    if constexpr (!kFirst) {
                        sum = is_own[w] ? sum : all_lanes(at.split.left) * a + all_lanes(at.split.right) * b;
                    }
                    write(total + at_point, sum);
                }
            }
            for (std::size_t w = 0; w < kWidth; ++w) {
                const DoubleVector scale = goes_left[w] ? all_lanes(scale_left) : all_lanes(scale_right);
                if constexpr (kPairs) {
                    add_pairs(level, v + w, gains_.data() + w * n * kDoubles, is_own[w], 0.5 * scale);
                } else {
                    const DoubleVector added = is_own[w] ? scale * integral[w] : DoubleVector{};
                    double* value = values_.data() + at.split.slot * n_rows_ + (v + w) * kDoubles;
                    write(value, read(value) + added);
                }
            }
        });
    }

    // Calls use.operator()<n>(v) for n vectors of rows at a time, from the v-th on.
    template <class Use>
    void for_vectors(Use&& use) {
        std::size_t v = 0;
        for (; v + 2 <= n_vectors_; v += 2) {
            use.template operator()<2>(v);
        }
        if (v < n_vectors_) {
            use.template operator()<1>(v);
        }
    }

    // Where U of a split is added: at its parent. U of the root is not used.
    double* target(std::size_t level) {
        if (level == 0) {
            return sums(0, kProduct);
        }
        return sums(level - 1, levels_[level - 1].n_visited == 1 ? kOfRight : kOfLeft);
    }

    // Adds the gains of a split, in one vector of rows, to its pairs with the features above.
    void add_pairs(std::size_t level, std::size_t v, const double* gains, const LaneMask& is_own,
                   const DoubleVector& half) {
        const std::size_t feature = features_[levels_[level].split.slot];
        for (std::size_t k = 0; k < level; ++k) {
            const std::size_t other = features_[levels_[k].split.slot];
            if (!levels_[k].is_latest || other == feature) {
                continue;
            }
            const LaneMask other_is_own = read(own(k) + v * kDoubles);
            const double* slope = factors(k, kSlope);
            DoubleVector integral{};
            for (std::size_t q = 0; q < n_points_; ++q) {
                const DoubleVector s = other_is_own ? all_lanes(slope[q]) : all_lanes(-1.0 / rule_->rest[q]);
                integral += read(gains + q * kDoubles) * s;
            }
            DoubleVector added = half * integral;
            added = is_own ? added : DoubleVector{};
            const std::size_t pair = std::min(feature, other) * n_columns_ + std::max(feature, other);
            for (std::size_t lane = 0; lane < kDoubles && v * kDoubles + lane < rows_.size(); ++lane) {
                out_[rows_[v * kDoubles + lane] * n_columns_ * n_columns_ + pair] += added[lane];
            }
        }
    }

    const PathForest& forest_;
    const ShapTask& task_;
    std::size_t n_columns_;
    std::size_t n_rows_;  // rows of a full group

    std::span<const std::size_t> rows_;  // rows of the group
    double* out_ = nullptr;
    std::span<const Predictor::Node> nodes_;
    std::span<const PathForest::Split> splits_;
    std::span<const std::uint32_t> features_;
    std::span<const double> amounts_;
    const QuadratureRule* rule_ = nullptr;
    std::size_t n_points_ = 0;
    std::size_t n_vectors_ = 0;

    std::vector<Level> levels_;
    std::vector<double> factors_;     // levels x factors x points
    LargeVector<double> sums_;        // levels x sums x vectors of rows x points x lanes
    std::vector<std::int64_t> left_;  // levels x rows: whether a row goes left
    std::vector<std::int64_t>
        own_;                      // levels x rows: whether a row follows the path by the feature, on the visited side
    std::vector<double> columns_;  // slots x rows
    std::vector<double> values_;   // slots x rows
    std::vector<double> gains_;    // points x lanes
};

// The number of rows that walk together: whole vectors; fewer if paths are very long or there are few rows.
std::size_t choose_group(const PathForest& forest, const ShapTask& task, std::size_t n_rows, std::size_t n_threads) {
    std::size_t bytes_per_row = 1;
    for (std::size_t t = 0; t < task.rules.size(); ++t) {
        bytes_per_row = std::max(bytes_per_row, (forest.depth()[t] + 2) * 3 * task.rules[t].size() * sizeof(double));
    }
    const std::size_t most = std::min({kMostGroupRows, kMostGroupBytes / bytes_per_row, n_rows / n_threads + 1});
    return std::max<std::size_t>(1, most / kDoubles) * kDoubles;
}

// Walks all trees with all rows; `width`: results of a row.
template <bool kPairs>
std::vector<double> walk_all(const PathForest& forest, const Matrix& x, const ShapTask& task, std::size_t width,
                             Work& work) {
    std::vector<double> out(x.n_rows * width);
    const std::size_t group = choose_group(forest, task, x.n_rows, work.n_threads());
    std::size_t chunk = group * (task.is_new.empty() ? 1 : kGroupsOfChunk);
    if (!x.by_row.is_empty()) {
        chunk = std::max(group, std::min(chunk, kMostChunkCells / x.n_columns / group * group));
    }
    std::vector<std::unique_ptr<GroupWalk<kPairs>>> walks(work.n_threads());
    work.run((x.n_rows + chunk - 1) / chunk, [&](std::size_t number, std::size_t thread) {
        const std::size_t begin = number * chunk, end = std::min(x.n_rows, begin + chunk);
        const DenseRows rows(x, begin, end);
        if (!walks[thread]) {
            walks[thread] = std::make_unique<GroupWalk<kPairs>>(forest, task, x.n_columns, group);
        }
        std::vector<std::size_t> counted;
        for (std::size_t tree = 0; tree < task.rules.size(); ++tree) {
            counted.clear();
            for (std::size_t row = begin; row < end; ++row) {
                if (task.is_new.empty() || task.is_new[tree * x.n_rows + row] != 0) {
                    counted.push_back(row);
                }
            }
            for (std::size_t first = 0; first < counted.size(); first += group) {
                work.check();
                walks[thread]->add(
                    tree, rows, std::span(counted).subspan(first, std::min(group, counted.size() - first)), out.data());
            }
        }
    });
    return out;
}

}  // namespace

PathForest::PathForest(const ForestView& forest, std::span<const double> weight)
    : predictor_(forest), splits_(forest.feature.size()) {
    require(weight.size() == splits_.size(), "weights and nodes differ in number");
    starts_.assign(forest.tree_start.begin(), forest.tree_start.end());
    feature_starts_.push_back(0);
    std::vector<std::uint32_t> slot_of(forest.n_features, ~0u);
    for (std::size_t tree = 0; tree + 1 < starts_.size(); ++tree) {
        add_tree(tree, weight.subspan(starts_[tree], starts_[tree + 1] - starts_[tree]), slot_of);
    }
}

void PathForest::add_tree(std::size_t tree, std::span<const double> weight, std::vector<std::uint32_t>& slot_of) {
    struct Edge {  // a split on the path to the current node
        std::uint32_t node;
        std::uint32_t end;  // first node after its subtree
        double fraction;    // z of the side that is visited
    };
    const std::span<const Predictor::Node> nodes = predictor_.nodes(tree);
    Split* splits = splits_.data() + starts_[tree];
    std::vector<Edge> path;
    std::vector<std::vector<std::size_t>> levels;  // by slot: the levels of its splits on the path
    std::size_t n_distinct = 0, most = 0, depth = 0;
    const auto leave = [&](std::size_t node) {
        while (!path.empty() && path.back().end == node) {
            auto& of_feature = levels[splits[path.back().node].slot];
            of_feature.pop_back();
            n_distinct -= of_feature.empty();
            path.pop_back();
        }
    };
    const std::size_t first_feature = features_.size();
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
        leave(i);
        if (!path.empty() && i == nodes[path.back().node].right) {
            const Split& split = splits[path.back().node];
            path.back().fraction = split.above * split.right;
        }
        if (nodes[i].is_leaf()) {
            continue;
        }
        const std::uint32_t feature = nodes[i].column();
        if (slot_of[feature] == ~0u) {
            slot_of[feature] = static_cast<std::uint32_t>(features_.size() - first_feature);
            features_.push_back(feature);
            levels.emplace_back();
        }
        auto& of_feature = levels[slot_of[feature]];
        const double total = weight[i + 1] + weight[nodes[i].right];
        Split& split = splits[i];
        split.left = total > 0 ? weight[i + 1] / total : 0.5;
        split.right = total > 0 ? weight[nodes[i].right] / total : 0.5;
        split.depth = of_feature.empty() ? -1 : static_cast<std::int32_t>(of_feature.back());
        split.above = of_feature.empty() ? 1.0 : path[of_feature.back()].fraction;
        split.slot = slot_of[feature];
        n_distinct += of_feature.empty();
        of_feature.push_back(path.size());
        const std::uint32_t end = path.empty()                        ? static_cast<std::uint32_t>(nodes.size())
                                  : i < nodes[path.back().node].right ? nodes[path.back().node].right
                                                                      : path.back().end;
        path.push_back({i, end, split.above * split.left});
        most = std::max(most, n_distinct);
        depth = std::max(depth, path.size());
    }
    for (std::size_t slot = first_feature; slot < features_.size(); ++slot) {
        slot_of[features_[slot]] = ~0u;
    }
    feature_starts_.push_back(features_.size());
    n_distinct_.push_back(static_cast<std::uint32_t>(most));
    depth_.push_back(static_cast<std::uint32_t>(depth));
}

std::vector<double> shap_values(const PathForest& forest, const Matrix& x, const ShapTask& task, Work& work) {
    return walk_all<false>(forest, x, task, x.n_columns, work);
}

std::vector<double> shap_interactions(const PathForest& forest, const Matrix& x, const ShapTask& task, Work& work) {
    const std::size_t n = x.n_columns;
    std::vector<double> out = walk_all<true>(forest, x, task, n * n, work);
    for (std::size_t row = 0; row < x.n_rows; ++row) {
        double* pairs = out.data() + row * n * n;
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = i + 1; j < n; ++j) {
                pairs[j * n + i] = pairs[i * n + j];
            }
        }
    }
    return out;
}

}  // namespace weald
