#include "unfold.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "forest.h"

namespace weald {

namespace {

constexpr std::size_t kFewNodes = 1 << 16;  // are not worth a thread
constexpr double kLargest = 0x1p62;
constexpr std::int64_t kMostEntries = std::int64_t{1} << 40;

// Whole numbers are added and multiplied modulo 2^64, whatever stands in a file.
std::int64_t plus(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

std::int64_t minus_product(std::int64_t a, std::int64_t b, std::int64_t c) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) -
                                     static_cast<std::uint64_t>(b) * static_cast<std::uint64_t>(c));
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

std::int64_t to_whole(double x) {
    return x == x ? static_cast<std::int64_t>(std::rint(std::clamp(x, -kLargest, kLargest))) : 0;
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

// ---- The forest

struct Tree {
    std::size_t begin;  // its nodes
    std::size_t end;
    std::size_t first_split;  // among the splits of all trees
    std::size_t first_leaf;

    std::size_t n_nodes() const { return end - begin; }
    std::size_t n_splits() const { return n_nodes() / 2; }
};

class Unfolder {
  public:
    Unfolder(const FoldedHead& head, Columns columns, Work& work)
        : head_(head), columns_(std::move(columns)), work_(work) {}

    Unfolded unfold() {
        read_shape();
        read_leaves();
        read_weights();
        read_splits();
        if (head_.n_classes != 0) {
            read_class_decreases();
        } else {
            read_means();
        }
        read_tree_weights();
        columns_.require_empty();
        return std::move(made_);
    }

  private:
    void read_shape();
    void read_links(const Tree& tree);
    void read_leaves();
    void read_weights();
    void read_sizes(const std::vector<std::int64_t>& of_leaves);
    void read_splits();
    std::vector<std::uint8_t> read_flags();
    void read_sets(std::size_t n_sets);
    void read_class_decreases();
    void read_bound_values();
    void read_means();
    void read_tree_weights();

    std::size_t right_of(const Tree& tree, std::size_t node) const {
        return tree.begin + static_cast<std::size_t>(made_.right[node]);
    }
    std::size_t n_splits() const { return (head_.n_nodes - head_.n_trees) / 2; }
    std::size_t n_leaves() const { return (head_.n_nodes + head_.n_trees) / 2; }

    Tree tree_at(std::size_t t) const {
        const auto begin = static_cast<std::size_t>(made_.tree_start[t]);
        const std::size_t first_split = (begin - t) / 2;  // each tree before has one more leaf than splits
        return {begin, static_cast<std::size_t>(made_.tree_start[t + 1]), first_split, first_split + t};
    }
    // Visit all trees, many at a time where they are large.
    template <class Visit>
    void each_tree(Visit visit) const {
        if (head_.n_nodes >= kFewNodes) {
            work_.run(head_.n_trees, [&](std::size_t t, std::size_t) { visit(tree_at(t)); });
            return;
        }
        for (std::size_t t = 0; t < head_.n_trees; ++t) {
            visit(tree_at(t));
        }
    }
    // Visit the splits or the leaves of a tree, first to last.
    template <class Visit>
    void each_split(const Tree& tree, Visit visit) const {
        for (std::size_t split = tree.first_split; split < tree.first_split + tree.n_splits(); ++split) {
            visit(tree.begin + static_cast<std::size_t>(splits_[split]), split);
        }
    }
    template <class Visit>
    void each_leaf(const Tree& tree, Visit visit) const {
        for (std::size_t leaf = tree.first_leaf; leaf <= tree.first_leaf + tree.n_splits(); ++leaf) {
            visit(tree.begin + static_cast<std::size_t>(leaves_[leaf]), leaf);
        }
    }
    // Add up whole numbers of leaves, for each node of a tree over the leaves below it.
    template <class OfLeaf>
    std::vector<std::int64_t> add_up(const Tree& tree, OfLeaf of_leaf) const {
        std::vector<std::int64_t> sums(tree.n_nodes());
        each_leaf(tree, [&](std::size_t node, std::size_t leaf) { sums[node - tree.begin] = of_leaf(leaf); });
        for (std::size_t split = tree.first_split + tree.n_splits(); split-- > tree.first_split;) {
            const auto i = static_cast<std::size_t>(splits_[split]);
            sums[i] = plus(sums[i + 1], sums[static_cast<std::size_t>(made_.right[tree.begin + i])]);
        }
        return sums;
    }
    std::int64_t weight_of_class(std::size_t leaf, std::int32_t k) const {
        const auto begin = made_.leaf_class.begin() + made_.leaf_start[leaf];
        const auto end = made_.leaf_class.begin() + made_.leaf_start[leaf + 1];
        const auto found = end - begin < 8 ? std::find(begin, end, k) : std::lower_bound(begin, end, k);
        return found == end || *found != k
                   ? 0
                   : to_whole(made_.leaf_weight[static_cast<std::size_t>(found - made_.leaf_class.begin())]);
    }

    FoldedHead head_;
    Columns columns_;
    Work& work_;
    Unfolded made_;
    std::vector<std::int32_t> splits_;  // numbers of nodes inside their trees
    std::vector<std::int32_t> leaves_;
};

// ---- Links

void Unfolder::read_shape() {
    const Column n_nodes = take_numbers(columns_, "tree.nodes", head_.n_trees, 1ull << 31);
    made_.tree_start.reserve(head_.n_trees + 1);
    made_.tree_start.push_back(0);
    bool proper = true;
    for (std::size_t t = 0; t < head_.n_trees; ++t) {
        proper = proper && n_nodes.number(t) % 2 == 1;  // one more leaf than splits
        made_.tree_start.push_back(made_.tree_start.back() + static_cast<std::int64_t>(n_nodes.number(t)));
    }
    require(proper && made_.tree_start.back() == static_cast<std::int64_t>(head_.n_nodes),
            "The trees have other numbers of nodes.");
    const Column marks = columns_.need("node.leaf");
    if (!marks.is_whole() || marks.width != 1 || marks.size != (head_.n_nodes + 7) / 8) {
        refuse_array("node.leaf", "is not " + std::to_string(head_.n_nodes) + " bits");
    }
    made_.right.resize(head_.n_nodes);
    for (std::size_t i = 0; i < head_.n_nodes; ++i) {
        made_.right[i] = (marks.number(i / 8) >> (i % 8) & 1) != 0 ? 0 : 1;
    }
    splits_.resize(n_splits());
    leaves_.resize(n_leaves());
    each_tree([&](const Tree& tree) { read_links(tree); });
}

// A subtree ends where it has one leaf more than splits.
void Unfolder::read_links(const Tree& tree) {
    const std::span<std::int32_t> right = std::span(made_.right).subspan(tree.begin, tree.n_nodes());
    std::vector<std::int32_t> end(right.size());
    for (std::size_t i = right.size(); i-- > 0;) {
        if (right[i] == 0) {
            end[i] = static_cast<std::int32_t>(i + 1);
            continue;
        }
        const std::size_t second = i + 1 < right.size() ? static_cast<std::size_t>(end[i + 1]) : right.size();
        require(second < right.size(), "The leaf marks do not make trees.");
        right[i] = static_cast<std::int32_t>(second);
        end[i] = end[second];
    }
    require(static_cast<std::size_t>(end[0]) == right.size(), "The leaf marks do not make trees.");
    std::vector<std::int32_t>& depth = end;  // of a node whose end is not needed any more
    depth[0] = 0;
    std::int32_t* split = splits_.data() + tree.first_split;
    std::int32_t* leaf = leaves_.data() + tree.first_leaf;
    for (std::size_t i = 0; i < right.size(); ++i) {
        if (static_cast<std::size_t>(depth[i]) > head_.most_depth) {
            refuse("A tree is deeper than " + std::to_string(head_.most_depth) + ".");
        }
        if (right[i] == 0) {
            *leaf++ = static_cast<std::int32_t>(i);
        } else {
            *split++ = static_cast<std::int32_t>(i);
            depth[i + 1] = depth[static_cast<std::size_t>(right[i])] = depth[i] + 1;
        }
    }
}

// ---- Leaves, sizes and weights

void Unfolder::read_leaves() {
    made_.leaf_start.push_back(0);
    if (head_.n_classes == 0) {
        return;
    }
    const Column length = take_numbers_if(columns_, "leaf.length", n_leaves(), head_.n_classes + std::uint64_t{1});
    made_.leaf_start.reserve(n_leaves() + 1);
    for (std::size_t leaf = 0; leaf < n_leaves(); ++leaf) {
        const auto n = static_cast<std::int64_t>(length ? length.number(leaf) : 1);
        require(n > 0, "A leaf has no class.");
        made_.leaf_start.push_back(made_.leaf_start.back() + n);
        require(made_.leaf_start.back() < kMostEntries, "The leaves have too many classes.");
    }
    const auto n_entries = static_cast<std::size_t>(made_.leaf_start.back());
    const Column of_class = take_numbers(columns_, "leaf.class", n_entries, head_.n_classes);
    const Column weight = take_weights(columns_, "leaf.weight", n_entries);
    made_.leaf_class.reserve(n_entries);
    made_.leaf_weight.reserve(n_entries);
    for (std::size_t leaf = 0; leaf < n_leaves(); ++leaf) {
        std::int32_t before = -1;
        for (auto i = static_cast<std::size_t>(made_.leaf_start[leaf]);
             i < static_cast<std::size_t>(made_.leaf_start[leaf + 1]); ++i) {
            const auto k = static_cast<std::int32_t>(of_class.number(i));
            require(k > before, "The classes of a leaf do not ascend.");
            made_.leaf_class.push_back(before = k);
            made_.leaf_weight.push_back(weight_at(weight, i));
        }
    }
}

void Unfolder::read_weights() {
    std::vector<std::int64_t> of_leaves(n_leaves());
    if (head_.n_classes != 0) {
        for (std::size_t leaf = 0; leaf < of_leaves.size(); ++leaf) {
            auto i = static_cast<std::size_t>(made_.leaf_start[leaf]);
            double total = made_.leaf_weight[i];
            while (++i < static_cast<std::size_t>(made_.leaf_start[leaf + 1])) {
                total += made_.leaf_weight[i];
            }
            of_leaves[leaf] = to_whole(total);
        }
    }
    read_sizes(of_leaves);
    if (head_.n_classes == 0) {
        const Column given = columns_.has("leaf.weight") ? take_weights(columns_, "leaf.weight", n_leaves()) : Column{};
        each_tree([&](const Tree& tree) {
            each_leaf(tree, [&](std::size_t node, std::size_t leaf) {
                of_leaves[leaf] = given ? to_whole(weight_at(given, leaf)) : made_.size[node];
            });
        });
    }
    const Residual residual(columns_, "node.weight", head_.n_nodes);
    made_.weight.resize(head_.n_nodes);
    each_tree([&](const Tree& tree) {
        const auto sums = add_up(tree, [&](std::size_t leaf) { return of_leaves[leaf]; });
        for (std::size_t i = 0; i < sums.size(); ++i) {
            const double w = residual.restore(tree.begin + i, static_cast<double>(sums[i]));
            require(std::isfinite(w) && w > 0, "A node has a weight that is not above 0.");
            made_.weight[tree.begin + i] = w;
        }
    });
}

// Sizes of leaves of classes are their weights, unless something else is said.
void Unfolder::read_sizes(const std::vector<std::int64_t>& of_leaves) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    const Column given = take_numbers_if(columns_, "leaf.size", n_leaves(), kMost + 1);
    require(given || head_.n_classes != 0, "The array 'leaf.size' is missing.");
    const Column of_splits = take_numbers_if(columns_, "split.size", n_splits(), kMost + 1);
    made_.size.resize(head_.n_nodes);
    each_tree([&](const Tree& tree) {
        auto sums = add_up(tree, [&](std::size_t leaf) {
            return given ? static_cast<std::int64_t>(given.number(leaf)) : of_leaves[leaf];
        });
        if (of_splits) {
            each_split(tree, [&](std::size_t node, std::size_t split) {
                sums[node - tree.begin] = static_cast<std::int64_t>(of_splits.number(split));
            });
        }
        for (std::size_t i = 0; i < sums.size(); ++i) {
            require(sums[i] >= 0 && static_cast<std::uint64_t>(sums[i]) <= kMost,
                    "The sizes of the leaves add up to too much.");
            made_.size[tree.begin + i] = static_cast<std::uint32_t>(sums[i]);
        }
    });
}

// ---- Splits

void Unfolder::read_splits() {
    made_.feature.assign(head_.n_nodes, -1);
    made_.threshold.resize(head_.n_nodes);
    const Column feature =
        n_splits() == 0 ? Column{} : take_numbers(columns_, "split.feature", n_splits(), head_.n_features);
    made_.flags = read_flags();
    std::vector<std::size_t> n_sets(head_.n_trees + 1);  // in the trees before each
    for (std::size_t t = 0; t < head_.n_trees; ++t) {
        const auto begin = made_.flags.begin() + made_.tree_start[t];
        const auto end = made_.flags.begin() + made_.tree_start[t + 1];
        const auto n = std::count_if(begin, end, [](std::uint8_t f) { return (f & kCategorical) != 0; });
        n_sets[t + 1] = n_sets[t] + static_cast<std::size_t>(n);
    }
    read_sets(n_sets.back());
    const std::size_t n_by_number = n_splits() - n_sets.back();
    std::optional<Doubles> threshold;
    if (n_by_number != 0) {
        threshold.emplace(columns_, "split.threshold", n_by_number, head_.n_features);
    }
    each_tree([&](const Tree& tree) {
        std::size_t set = n_sets[tree.first_leaf - tree.first_split];
        each_split(tree, [&](std::size_t node, std::size_t split) {
            const std::uint64_t f = feature.number(split);
            made_.feature[node] = static_cast<std::int32_t>(f);
            if ((made_.flags[node] & kCategorical) != 0) {
                made_.threshold[node] = static_cast<double>(set++);
                return;
            }
            made_.threshold[node] = threshold->at(split - set, f);
            require(made_.threshold[node] == made_.threshold[node], "A threshold is no number.");
        });
    });
}

// Where no value was missing, the heavier side is for the missing ones; left on a tie.
std::vector<std::uint8_t> Unfolder::read_flags() {
    const Column given = take_numbers_if(columns_, "split.flags", n_splits(), 8);
    std::vector<std::uint8_t> flags(head_.n_nodes);
    each_tree([&](const Tree& tree) {
        each_split(tree, [&](std::size_t node, std::size_t split) {
            const bool is_left = made_.weight[node + 1] >= made_.weight[right_of(tree, node)];
            const std::uint64_t f = (given ? given.number(split) : 0) ^ (is_left ? kMissingLeft : 0);
            require((f & kCategorical) != 0 || f < 2, "A split by a number has the flags of a set.");
            flags[node] = static_cast<std::uint8_t>(f);
        });
    });
    return flags;
}

// What a set holds ascends.
void Unfolder::read_sets(std::size_t n_sets) {
    made_.category_start.push_back(0);
    const Column lengths = take_numbers_if(columns_, "set.length", n_sets, 1ull << 32);
    require(lengths || n_sets == 0, "The array 'set.length' is missing.");
    made_.category_start.reserve(n_sets + 1);
    for (std::size_t s = 0; s < n_sets; ++s) {
        made_.category_start.push_back(made_.category_start.back() + static_cast<std::int64_t>(lengths.number(s)));
        require(made_.category_start.back() < kMostEntries, "The sets have too many categories.");
    }
    const auto n_held = static_cast<std::size_t>(made_.category_start.back());
    const Column held = take_numbers_if(columns_, "set.category", n_held, 1ull << 32);
    require(held || n_held == 0, "The array 'set.category' is missing.");
    made_.category_sets.reserve(n_held);
    for (std::size_t s = 0; s < n_sets; ++s) {
        for (std::int64_t i = made_.category_start[s]; i < made_.category_start[s + 1]; ++i) {
            const auto category = static_cast<std::uint32_t>(held.number(static_cast<std::size_t>(i)));
            require(i == made_.category_start[s] || category > made_.category_sets.back(),
                    "The categories of a set do not ascend.");
            made_.category_sets.push_back(category);
        }
    }
}

// ---- Decreases, means and impurities

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

void Unfolder::read_class_decreases() {
    const Residual residual(columns_, "split.decrease", n_splits());
    made_.decrease.resize(head_.n_nodes);
    each_tree([&](const Tree& tree) {
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
            require(made_.decrease[node] >= 0, "A split does not lower the impurity.");
        });
    });
    if (head_.is_bound) {
        read_bound_values();
    }
}

void Unfolder::read_bound_values() {
    require(head_.n_classes == 2, "Only nodes of two classes are bound.");
    const Residual residual(columns_, "node.value", head_.n_nodes);
    made_.value.resize(head_.n_nodes);
    each_tree([&](const Tree& tree) {
        const auto sums = add_up(tree, [&](std::size_t leaf) { return weight_of_class(leaf, 1); });
        for (std::size_t i = 0; i < sums.size(); ++i) {
            const std::size_t node = tree.begin + i;
            const double share = residual.restore(node, static_cast<double>(sums[i]) / made_.weight[node]);
            require(share >= 0 && share <= 1, "A node says a share that is none.");
            made_.value[node] = share;
        }
    });
}

void Unfolder::read_means() {
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
            require(decrease >= 0, "A split does not lower the impurity.");
            made_.decrease[tree.begin + i] = decrease;
            const double below = weight[i + 1] * impurity[i + 1] + weight[right] * impurity[right];
            const double own = std::ldexp(decrease * weight[0], -2 * head_.exponent);
            impurity[i] = split_impurity.restore(split, is_foretold ? (below + own) / weight[i] : 0.0);
        }
        for (std::size_t i = 0; i < tree.n_nodes(); ++i) {
            require(std::isfinite(value[i]) && impurity[i] >= 0, "A node has a mean or an impurity that is none.");
        }
    });
}

void Unfolder::read_tree_weights() {
    const Column given = columns_.take("tree.weight");
    if (!given) {
        return;
    }
    require(given.is_doubles() && given.size == head_.n_trees,
            "The array 'tree.weight' is not a number for each tree.");
    bool is_some = false;
    for (std::size_t t = 0; t < head_.n_trees; ++t) {
        made_.tree_weight.push_back(given.value(t));
        require(std::isfinite(given.value(t)) && given.value(t) >= 0, "Votes weigh less than nothing.");
        is_some = is_some || made_.tree_weight.back() > 0;
    }
    require(is_some, "Votes weigh nothing.");
}

}  // namespace

Unfolded unfold(const FoldedHead& head, Columns columns, Work& work) {
    return Unfolder(head, std::move(columns), work).unfold();
}

}  // namespace weald
