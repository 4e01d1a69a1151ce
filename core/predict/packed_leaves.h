// The predictions of the leaves of a packed forest: each distinct prediction is stored once.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tree/forest_view.h"

namespace weald {

// A leaf of several classes: their probabilities, and the most common one. The root of an empty bag has none, and no
// vote.
struct MixedLeaf {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t winner;

    bool has_vote() const { return begin != end; }
};

struct Leaves {
    std::vector<std::uint32_t> numbers;  // by leaf: index of its prediction; below n_classes: that class only
    std::vector<double> values;
    std::vector<std::uint32_t> classes;
    std::vector<MixedLeaf> mixed;
};

// For classification. In regression, each leaf has its own prediction.
class LeafTable {
  public:
    explicit LeafTable(const ForestView& forest) : forest_(forest) {
        // each tree has one leaf more than it has splits
        leaves_.numbers.reserve((forest.feature.size() + forest.n_trees()) / 2);
        for (std::size_t i = 0; i < forest.feature.size(); ++i) {
            if (forest.feature[i] < 0) {
                leaves_.numbers.push_back(number_of(i, leaves_.numbers.size()));
            }
        }
        if (leaves_.values.size() >= std::numeric_limits<std::uint32_t>::max()) {
            throw std::invalid_argument("the forest has too many leaves");
        }
    }
    Leaves take() { return std::move(leaves_); }

  private:
    using Share = std::pair<std::uint32_t, double>;

    std::uint32_t number_of(std::size_t node, std::size_t leaf) {
        const bool has_vote = forest_.leaf_start[leaf] < forest_.leaf_start[leaf + 1];
        return has_vote && !forest_.value.empty() ? of_bound(forest_.value[node]) : of_weights(leaf);
    }

    std::uint32_t of_weights(std::size_t leaf) {
        const auto begin = static_cast<std::size_t>(forest_.leaf_start[leaf]);
        const auto end = static_cast<std::size_t>(forest_.leaf_start[leaf + 1]);
        if (end - begin == 1) {
            return static_cast<std::uint32_t>(forest_.leaf_class[begin]);
        }
        double total = 0;  // sum of integers, at most 2^53: exact
        double most = -1;
        std::uint32_t winner = 0;
        for (std::size_t j = begin; j < end; ++j) {
            total += forest_.leaf_weight[j];
            if (forest_.leaf_weight[j] > most) {  // strictly: ties go to the first class
                most = forest_.leaf_weight[j];
                winner = static_cast<std::uint32_t>(forest_.leaf_class[j]);
            }
        }
        std::vector<Share> shares;
        for (std::size_t j = begin; j < end; ++j) {
            shares.emplace_back(forest_.leaf_class[j], forest_.leaf_weight[j] / total);
        }
        return keep(std::move(shares), winner);
    }

    // Under monotonic constraints a leaf stores one value, the probability of the second class.
    std::uint32_t of_bound(double second) {
        if (second == 0 || second == 1) {
            return static_cast<std::uint32_t>(second);
        }
        return keep({{0, 1.0 - second}, {1, second}}, second > 0.5);
    }

    // Many leaves have the same prediction.
    std::uint32_t keep(std::vector<Share> shares, std::uint32_t winner) {
        const auto [at, is_new] = known_.try_emplace({winner, std::move(shares)}, 0);
        if (is_new) {
            const auto begin = static_cast<std::uint32_t>(leaves_.values.size());
            for (const auto& [k, share] : at->first.second) {
                leaves_.classes.push_back(k);
                leaves_.values.push_back(share);
            }
            leaves_.mixed.push_back({begin, static_cast<std::uint32_t>(leaves_.values.size()), winner});
            at->second = forest_.n_classes + static_cast<std::uint32_t>(leaves_.mixed.size()) - 1;
        }
        return at->second;
    }

    const ForestView& forest_;
    Leaves leaves_;
    std::map<std::pair<std::uint32_t, std::vector<Share>>, std::uint32_t> known_;
};

}  // namespace weald
