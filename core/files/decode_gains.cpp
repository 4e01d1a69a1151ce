// Values of nodes: decreases of impurity, means and impurities.

#include <algorithm>
#include <cmath>

#include "files/decoder.h"

namespace weald {

namespace {

std::int64_t minus_product(std::int64_t a, std::int64_t b, std::int64_t c) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) -
                                     static_cast<std::uint64_t>(b) * static_cast<std::uint64_t>(c));
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

// x·log2(x) by the series of the contract; 0 for 0.
double x_log2(double x) {
    if (!(x > 0)) {
        return 0;
    }
    int k = 0;
    double m = std::frexp(x, &k);
    if (m < 0.7071067811865476) {
        m *= 2;
        --k;
    }
    const double z = (m - 1) / (m + 1);
    const double square = z * z;
    double s = 1.0 / 23.0;
    for (int i = 21; i > 0; i -= 2) {
        s = s * square + 1.0 / i;
    }
    return x * (k + z * s * 2.8853900817779268);
}

// Terms of the criterion's score, added up class after class.
double add_class(Rule rule, double term, double count) {
    if (rule == Rule::gini) {
        return term + count * count;
    }
    return rule == Rule::entropy ? term + x_log2(count) : std::max(term, count);
}

double finish_term(Rule rule, double term, double weight) {
    return rule == Rule::gini ? term / weight : rule == Rule::entropy ? term - x_log2(weight) : term;
}

double decrease_of(double left, double right, double whole, double root_weight) {
    const double gain = (left + right) - whole;
    return (gain > 0 ? gain : 0.0) / root_weight;
}

}  // namespace

void Decoder::read_class_decreases() {
    const Residual residual(columns_, "split.decrease", n_splits());
    made_.decrease.resize(head_.n_nodes);
    each_tree([&](const Tree& tree) {
        std::fill(made_.decrease.begin() + tree.first(), made_.decrease.begin() + tree.last(), 0.0);
        std::vector<double> term(tree.n_nodes());
        if (head_.rule != Rule::none) {
            for (std::uint32_t k = 0; k < head_.n_classes; ++k) {
                const auto sums =
                    add_up(tree, [&](std::size_t leaf) { return weight_of_class(leaf, static_cast<std::int32_t>(k)); });
                for (std::size_t i = 0; i < sums.size(); ++i) {
                    term[i] = add_class(head_.rule, term[i], static_cast<double>(sums[i]));
                }
            }
            for (std::size_t i = 0; i < term.size(); ++i) {
                term[i] = finish_term(head_.rule, term[i], made_.weight[tree.begin + i]);
            }
        }
        each_split(tree, [&](std::size_t node, std::size_t split) {
            const std::size_t i = node - tree.begin;
            const double guess = head_.rule == Rule::none
                                     ? 0.0
                                     : decrease_of(term[i + 1], term[static_cast<std::size_t>(made_.right[node])],
                                                   term[i], made_.weight[tree.begin]);
            made_.decrease[node] = residual.restore(split, guess);
            require(made_.decrease[node] >= 0, "The impurity decrease of a split is negative or NaN.");
        });
    });
    if (head_.is_bound) {
        read_bound_values();
    }
}

void Decoder::read_bound_values() {
    require(head_.n_classes == 2, "Bounded node values need two classes.");
    const Residual residual(columns_, "node.value", head_.n_nodes);
    made_.value.resize(head_.n_nodes);
    each_tree([&](const Tree& tree) {
        const auto sums = add_up(tree, [&](std::size_t leaf) { return weight_of_class(leaf, 1); });
        for (std::size_t i = 0; i < sums.size(); ++i) {
            const std::size_t node = tree.begin + i;
            const double weight = made_.weight[node];
            const double share = residual.restore(node, weight == 0 ? 0.0 : static_cast<double>(sums[i]) / weight);
            require(share >= 0 && share <= 1, "A bounded node value is not between 0 and 1.");
            made_.value[node] = share;
        }
    });
}

void Decoder::read_means() {
    const Doubles leaf_value(columns_, "leaf.value", n_leaves(), 1);
    const Residual leaf_impurity(columns_, "leaf.impurity", n_leaves());
    const Residual split_value(columns_, "split.value", n_splits());
    const Residual split_decrease(columns_, "split.decrease", n_splits());
    const Residual split_impurity(columns_, "split.impurity", n_splits());
    const bool is_foretold = head_.rule != Rule::none;
    made_.value.resize(head_.n_nodes);
    made_.impurity.resize(head_.n_nodes);
    made_.decrease.resize(head_.n_nodes);
    each_tree([&](const Tree& tree) {
        const double* const weight = made_.weight.data() + tree.begin;
        double* const value = made_.value.data() + tree.begin;
        double* const impurity = made_.impurity.data() + tree.begin;
        std::fill(made_.decrease.begin() + tree.first(), made_.decrease.begin() + tree.last(), 0.0);
        each_leaf(tree, [&](std::size_t node, std::size_t leaf) {
            made_.value[node] = leaf_value.at(leaf, 0);
            made_.impurity[node] = leaf_impurity.restore(leaf, 0.0);
        });
        const auto sums = add_up(tree, [&](std::size_t leaf) {
            const auto i = static_cast<std::size_t>(leaves_[leaf]);
            return to_whole(std::ldexp(value[i] - head_.center, head_.exponent) * weight[i]);
        });
        for (std::size_t split = tree.first_split + tree.n_splits(); split-- > tree.first_split;) {
            const auto i = static_cast<std::size_t>(splits_[split]);
            const auto right = static_cast<std::size_t>(made_.right[tree.begin + i]);
            const double mean = static_cast<double>(sums[i]) / weight[i];
            value[i] = split_value.restore(split, std::ldexp(mean, -head_.exponent) + head_.center);
            const auto whole = [&](std::size_t j) { return std::max<std::int64_t>(to_whole(weight[j]), 1); };
            const std::int64_t middle = floor_divide(sums[i], whole(i));
            const auto term = [&](std::size_t j) {
                const auto a = static_cast<double>(minus_product(sums[j], whole(j), middle));
                return a * a / weight[j];
            };
            const double guess = is_foretold ? decrease_of(term(i + 1), term(right), term(i), weight[0]) : 0.0;
            const double decrease = split_decrease.restore(split, guess);
            require(decrease >= 0, "The impurity decrease of a split is negative or NaN.");
            made_.decrease[tree.begin + i] = decrease;
            const double below = weight[i + 1] * impurity[i + 1] + weight[right] * impurity[right];
            const double own = std::ldexp(decrease * weight[0], -2 * head_.exponent);
            impurity[i] = split_impurity.restore(split, is_foretold ? (below + own) / weight[i] : 0.0);
        }
        for (std::size_t i = 0; i < tree.n_nodes(); ++i) {
            require(std::isfinite(value[i]) && impurity[i] >= 0,
                    "The mean of a node is not finite, or its impurity is negative or NaN.");
        }
    });
}

}  // namespace weald
