#include "files/decode.h"

#include <limits>
#include <optional>
#include <span>
#include <string>

#include "tree/tree.h"

namespace weald {

namespace {

constexpr std::int64_t kMostEntries = std::int64_t{1} << 40;

}  // namespace

// ---- Links

void Decoder::read_shape() {
    const EncodedColumn n_nodes = take_numbers(columns_, "tree.nodes", head_.n_trees, 1ull << 31);
    made_.tree_start.reserve(head_.n_trees + 1);
    made_.tree_start.push_back(0);
    bool proper = true;
    for (std::size_t t = 0; t < head_.n_trees; ++t) {
        proper = proper && n_nodes.number(t) % 2 == 1;  // a tree has one more leaf than splits
        made_.tree_start.push_back(made_.tree_start.back() + static_cast<std::int64_t>(n_nodes.number(t)));
    }
    require(proper && made_.tree_start.back() == static_cast<std::int64_t>(head_.n_nodes),
            "The numbers of nodes of the trees are even, or do not add up to the number in the header.");
    const EncodedColumn marks = columns_.need("node.leaf");
    if (!marks.is_whole() || marks.width != 1 || marks.size != (head_.n_nodes + 7) / 8) {
        refuse_array("node.leaf", "is not " + std::to_string(head_.n_nodes) + " bits");
    }
    made_.right.resize(head_.n_nodes);
    splits_.resize(n_splits());
    leaves_.resize(n_leaves());
    each_tree([&](const Tree& tree) {
        for (std::size_t i = tree.begin; i < tree.end; ++i) {
            made_.right[i] = (marks.load<std::uint8_t>(i / 8) >> (i % 8) & 1) != 0 ? 0 : 1;
        }
        read_links(tree);
    });
}

// A subtree ends where it has one leaf more than splits.
void Decoder::read_links(const Tree& tree) {
    const std::span<std::int32_t> right = std::span(made_.right).subspan(tree.begin, tree.n_nodes());
    std::vector<std::int32_t> end(right.size());
    for (std::size_t i = right.size(); i-- > 0;) {
        if (right[i] == 0) {
            end[i] = static_cast<std::int32_t>(i + 1);
            continue;
        }
        const std::size_t second = i + 1 < right.size() ? static_cast<std::size_t>(end[i + 1]) : right.size();
        require(second < right.size(), "The leaf marks do not form trees.");
        right[i] = static_cast<std::int32_t>(second);
        end[i] = end[second];
    }
    require(static_cast<std::size_t>(end[0]) == right.size(), "The leaf marks do not form trees.");
    std::vector<std::int32_t>& depth = end;  // reuses the ends that are no longer needed
    depth[0] = 0;
    std::int32_t* split = splits_.data() + tree.first_split;
    std::int32_t* leaf = leaves_.data() + tree.first_leaf;
    for (std::size_t i = 0; i < right.size(); ++i) {
        if (static_cast<std::size_t>(depth[i]) > head_.most_depth) {
            refuse("A tree is deeper than " + std::to_string(head_.most_depth) + " levels.");
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

void Decoder::read_leaves() {
    made_.leaf_start.push_back(0);
    if (head_.task() == Task::regression) {
        return;
    }
    const EncodedColumn length =
        take_numbers_if(columns_, "leaf.length", n_leaves(), head_.n_classes + std::uint64_t{1});
    made_.leaf_start.resize(n_leaves() + 1);
    for (std::size_t leaf = 0; leaf < n_leaves(); ++leaf) {
        const auto n = static_cast<std::int64_t>(length ? length.number(leaf) : 1);
        made_.leaf_start[leaf + 1] = made_.leaf_start[leaf] + n;
        require(made_.leaf_start[leaf + 1] < kMostEntries, "The lists of classes in the leaves are too long.");
    }
    const auto n_entries = static_cast<std::size_t>(made_.leaf_start.back());
    const EncodedColumn of_class =
        n_entries == 0 ? EncodedColumn{} : take_numbers(columns_, "leaf.class", n_entries, head_.n_classes);
    const EncodedColumn weight = n_entries == 0 ? EncodedColumn{} : take_weights(columns_, "leaf.weight", n_entries);
    made_.leaf_class.resize(n_entries);
    made_.leaf_weight.resize(n_entries);
    each_tree([&](const Tree& tree) {
        each_leaf(tree, [&](std::size_t, std::size_t leaf) {
            require(has_classes(leaf) || tree.n_nodes() == 1, "A leaf has no class.");
            std::int32_t before = -1;
            for (auto i = static_cast<std::size_t>(made_.leaf_start[leaf]);
                 i < static_cast<std::size_t>(made_.leaf_start[leaf + 1]); ++i) {
                const auto k = static_cast<std::int32_t>(of_class.number(i));
                require(k > before, "The classes of a leaf are not in ascending order.");
                made_.leaf_class[i] = before = k;
                made_.leaf_weight[i] = weight_at(weight, i);
            }
        });
    });
}

void Decoder::read_weights() {
    LargeVector<std::int64_t> of_leaves(n_leaves());
    if (head_.task() == Task::classification) {
        each_tree([&](const Tree& tree) {
            each_leaf(tree, [&](std::size_t, std::size_t leaf) {
                double total = 0;
                for (auto i = static_cast<std::size_t>(made_.leaf_start[leaf]);
                     i < static_cast<std::size_t>(made_.leaf_start[leaf + 1]); ++i) {
                    total += made_.leaf_weight[i];
                }
                of_leaves[leaf] = to_whole(total);
            });
        });
    }
    read_sizes(of_leaves);
    if (head_.task() == Task::regression) {
        const EncodedColumn given =
            columns_.has("leaf.weight") ? take_weights(columns_, "leaf.weight", n_leaves()) : EncodedColumn{};
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
        const bool is_empty =
            head_.task() == Task::classification && !has_classes(tree.first_leaf);  // the bag is empty
        require(!is_empty || made_.size[tree.begin] == 0, "A leaf without classes has rows.");
        for (std::size_t i = 0; i < sums.size(); ++i) {
            const double w = residual.restore(tree.begin + i, static_cast<double>(sums[i]));
            require(is_empty ? w == 0 : std::isfinite(w) && w > 0, "The weight of a node is not above 0.");
            made_.weight[tree.begin + i] = w;
        }
    });
}

// Sizes of classification leaves are their weights, unless given.
void Decoder::read_sizes(const LargeVector<std::int64_t>& of_leaves) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    const EncodedColumn given = take_numbers_if(columns_, "leaf.size", n_leaves(), kMost + 1);
    require(given || head_.task() == Task::classification, "The array 'leaf.size' is missing.");
    const EncodedColumn of_splits = take_numbers_if(columns_, "split.size", n_splits(), kMost + 1);
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
                    "The sum of the leaf sizes is too large.");
            made_.size[tree.begin + i] = static_cast<std::uint32_t>(sums[i]);
        }
    });
}

// ---- Splits

void Decoder::read_splits() {
    made_.feature.resize(head_.n_nodes);
    made_.threshold.resize(head_.n_nodes);
    const EncodedColumn feature =
        n_splits() == 0 ? EncodedColumn{} : take_numbers(columns_, "split.feature", n_splits(), head_.n_features);
    made_.flags = read_flags();
    std::vector<std::size_t> n_sets(head_.n_trees + 1);  // number of sets in all trees before each tree
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
        std::fill(made_.feature.begin() + tree.first(), made_.feature.begin() + tree.last(), -1);
        std::fill(made_.threshold.begin() + tree.first(), made_.threshold.begin() + tree.last(), 0.0);
        std::size_t set = n_sets[tree.first_leaf - tree.first_split];
        each_split(tree, [&](std::size_t node, std::size_t split) {
            const std::uint64_t f = feature.number(split);
            made_.feature[node] = static_cast<std::int32_t>(f);
            if ((made_.flags[node] & kCategorical) != 0) {
                made_.threshold[node] = static_cast<double>(set++);
                return;
            }
            made_.threshold[node] = threshold->at(split - set, f);
            require(made_.threshold[node] == made_.threshold[node], "A threshold is NaN.");
        });
    });
}

// If no value was missing, missing values go to the child with the larger weight; left on a tie.
LargeVector<std::uint8_t> Decoder::read_flags() {
    const EncodedColumn given = take_numbers_if(columns_, "split.flags", n_splits(), 8);
    LargeVector<std::uint8_t> flags(head_.n_nodes);
    each_tree([&](const Tree& tree) {
        std::fill(flags.begin() + tree.first(), flags.begin() + tree.last(), std::uint8_t{0});
        each_split(tree, [&](std::size_t node, std::size_t split) {
            const bool is_left = made_.weight[node + 1] >= made_.weight[right_of(tree, node)];
            const std::uint64_t f = (given ? given.number(split) : 0) ^ (is_left ? kMissingLeft : 0);
            require((f & kCategorical) != 0 || f < 2, "A split by threshold has flags of a split by categories.");
            flags[node] = static_cast<std::uint8_t>(f);
        });
    });
    return flags;
}

// The contents of a set are ascending.
void Decoder::read_sets(std::size_t n_sets) {
    made_.category_start.push_back(0);
    const EncodedColumn lengths = take_numbers_if(columns_, "set.length", n_sets, 1ull << 32);
    require(lengths || n_sets == 0, "The array 'set.length' is missing.");
    made_.category_start.reserve(n_sets + 1);
    for (std::size_t s = 0; s < n_sets; ++s) {
        made_.category_start.push_back(made_.category_start.back() + static_cast<std::int64_t>(lengths.number(s)));
        require(made_.category_start.back() < kMostEntries, "The lists of categories in the splits are too long.");
    }
    const auto n_held = static_cast<std::size_t>(made_.category_start.back());
    const EncodedColumn held = take_numbers_if(columns_, "set.category", n_held, 1ull << 32);
    require(held || n_held == 0, "The array 'set.category' is missing.");
    made_.category_sets.reserve(n_held);
    for (std::size_t s = 0; s < n_sets; ++s) {
        for (std::int64_t i = made_.category_start[s]; i < made_.category_start[s + 1]; ++i) {
            const auto category = static_cast<std::uint32_t>(held.number(static_cast<std::size_t>(i)));
            require(i == made_.category_start[s] || category > made_.category_sets.back(),
                    "The categories of a set are not in ascending order.");
            made_.category_sets.push_back(category);
        }
    }
}

void Decoder::read_tree_weights() {
    const EncodedColumn given = columns_.take("tree.weight");
    if (!given) {
        return;
    }
    require(given.is_doubles() && given.size == head_.n_trees,
            "The array 'tree.weight' does not have one number for each tree.");
    bool is_some = false;
    for (std::size_t t = 0; t < head_.n_trees; ++t) {
        made_.tree_weight.push_back(given.value(t));
        require(std::isfinite(given.value(t)) && given.value(t) >= 0,
                "The weight of a tree is negative or not finite.");
        is_some = is_some || made_.tree_weight.back() > 0;
    }
    require(is_some, "The weights of all trees are 0.");
}

Decoded decode(const EncodedHead& head, EncodedColumns columns, Work& work) {
    return Decoder(head, std::move(columns), work).decode();
}

}  // namespace weald
