#include "predict/packed.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "base/require.h"
#include "tree/tree.h"

namespace weald {

namespace {

constexpr std::uint32_t kSlots = 8;  // slots of a cluster of nodes: one cache line of small nodes, two of large ones
constexpr std::uint32_t kNoColumn = ~0u;
constexpr std::size_t kClearedAtOnce = std::size_t{4} << 20;  // bytes

// ---- The parts of the buffer, consecutive and aligned to cache lines

struct Parts {
    std::size_t columns;
    std::size_t roots;
    std::size_t nodes;
    std::size_t values;
    std::size_t classes;
    std::size_t mixed;
    std::size_t weights;
    std::size_t sets;
    std::size_t words;
    std::size_t lists;
    std::size_t end;

    explicit Parts(const PackedHead& head) {
        std::size_t at = sizeof(PackedHead);
        const auto take = [&](std::size_t n, std::size_t item) {
            const std::size_t begin = (at + kCacheLine - 1) / kCacheLine * kCacheLine;
            at = begin + n * item;
            return begin;
        };
        columns = take(head.n_columns, sizeof(std::uint32_t));
        roots = take(head.n_trees + 1, sizeof(std::uint64_t));
        nodes = take(head.n_slots, head.node_bytes);
        values = take(head.n_values, sizeof(double));
        classes = take(head.task() == Task::classification ? head.n_values : 0, sizeof(std::uint32_t));
        mixed = take(head.n_mixed, sizeof(MixedLeaf));
        weights = take(head.n_weights, sizeof(double));
        sets = take(head.n_sets, sizeof(CategorySet));
        words = take(head.n_words, sizeof(std::uint64_t));
        lists = take(head.n_listed, sizeof(std::uint32_t));
        end = at;
    }
};

// The purpose of a buffer. Owners may read all of it, so gaps contain zeros; for a single use, gaps are never read.
enum class Purpose { kKept, kWalked };

// ---- The positions of nodes

class TreeLayout {
  public:
    // `numbers`: indices of the leaves' predictions; empty in regression. `sizes` is working memory.
    // Writes the slot of each node of the tree to `slots`.
    TreeLayout(const ForestView& forest, std::size_t tree, std::span<const std::uint32_t> numbers,
               std::vector<std::uint32_t>& sizes, std::span<std::uint32_t> slots)
        : feature_(forest.feature.subspan(begin(forest, tree), n_nodes(forest, tree))),
          right_(forest.right.subspan(begin(forest, tree), n_nodes(forest, tree))),
          of_classes_(forest.task() == Task::classification),
          sizes_(sizes),
          slots_(slots) {
        measure(numbers);
        place();
    }
    std::uint32_t n_slots() const { return n_slots_; }

  private:
    static std::size_t begin(const ForestView& forest, std::size_t tree) {
        return static_cast<std::size_t>(forest.tree_start[tree]);
    }
    static std::size_t n_nodes(const ForestView& forest, std::size_t tree) {
        return static_cast<std::size_t>(forest.tree_start[tree + 1] - forest.tree_start[tree]);
    }
    std::uint32_t right(std::uint32_t node) const { return static_cast<std::uint32_t>(right_[node]); }

    // Counts the nodes below each node, from the last to the first.
    void measure(std::span<const std::uint32_t> numbers) {
        sizes_.assign(feature_.size(), 1);
        says_.assign(of_classes_ ? feature_.size() : 0, 0);
        std::size_t n_leaves = numbers.size();
        for (auto i = static_cast<std::uint32_t>(feature_.size()); i-- > 0;) {
            if (feature_[i] < 0 && of_classes_) {
                says_[i] = numbers[--n_leaves];
            } else if (feature_[i] >= 0) {
                require(right(i) == i + 1 + sizes_[i + 1], "nodes are not in pre-order");
                sizes_[i] = 1 + sizes_[i + 1] + sizes_[right(i)];
            }
        }
        require(sizes_[0] == feature_.size(), "nodes are not in pre-order");
    }

    void place() {
        slots_[0] = 0;
        std::uint64_t next = 2;  // after the root
        std::vector<std::uint32_t> waiting;
        if (feature_[0] >= 0) {
            waiting.push_back(0);
        }
        while (!waiting.empty()) {
            const std::uint32_t top = waiting.back();
            waiting.pop_back();
            next = place_cluster(top, next, waiting);
        }
        next = (next + kSlots - 1) / kSlots * kSlots;
        require(next <= std::numeric_limits<std::uint32_t>::max(), "a tree has too many nodes");
        n_slots_ = static_cast<std::uint32_t>(next);
    }

    // A small subtree, whose nodes are adjacent, is placed as a whole: most nodes are in one.
    std::uint64_t place_whole(std::uint32_t top, std::uint64_t next) {
        const std::uint32_t end = top + sizes_[top];
        for (std::uint32_t i = top; i < end; ++i) {
            if (feature_[i] >= 0 && !share_leaves({i + 1, right(i)}, next)) {
                slots_[i + 1] = static_cast<std::uint32_t>(next);
                slots_[right(i)] = static_cast<std::uint32_t>(next + 1);
                next += 2;
            }
        }
        return next;
    }

    // Fills a cluster with pairs of children, those of the largest subtrees first, which most rows reach.
    std::uint64_t place_cluster(std::uint32_t top, std::uint64_t next, std::vector<std::uint32_t>& waiting) {
        std::uint64_t n_pairs = (kSlots - next % kSlots) / 2;
        if (n_pairs < std::min<std::uint64_t>(kSlots / 2, sizes_[top] / 2)) {
            next = (next + kSlots - 1) / kSlots * kSlots;
            n_pairs = kSlots / 2;
        }
        if (sizes_[top] / 2 <= n_pairs) {
            return place_whole(top, next);
        }
        std::array<std::uint32_t, kSlots> open{top};
        std::size_t n_open = 1;
        const auto smaller = [&](std::uint32_t a, std::uint32_t b) { return sizes_[a] < sizes_[b]; };
        while (n_pairs > 0 && n_open > 0) {
            std::uint32_t& largest = *std::max_element(open.begin(), open.begin() + n_open, smaller);
            const std::array<std::uint32_t, 2> children{largest + 1, right(largest)};
            largest = open[--n_open];
            if (share_leaves(children, next)) {
                continue;
            }
            --n_pairs;
            for (std::size_t side = 0; side < 2; ++side) {
                slots_[children[side]] = static_cast<std::uint32_t>(next + side);
                if (feature_[children[side]] >= 0) {
                    open[n_open++] = children[side];
                }
            }
            next += 2;
        }
        waiting.insert(waiting.end(), open.begin(), open.begin() + n_open);
        std::sort(waiting.end() - static_cast<std::ptrdiff_t>(n_open), waiting.end(), smaller);
        return next;
    }

    // A pair of leaves with the same predictions as an earlier pair uses its slots: most leaves of a classification
    // tree have one class, so there are few different pairs. A new pair takes the next slots.
    bool share_leaves(const std::array<std::uint32_t, 2>& children, std::uint64_t next) {
        const auto [left, right] = children;
        if (!of_classes_ || feature_[left] >= 0 || feature_[right] >= 0) {
            return false;
        }
        std::uint32_t* known;  // 0: no such pair yet (slot 0 is the root)
        if (says_[left] < kFewNumbers && says_[right] < kFewNumbers) {
            known = &few_pairs_[says_[left] * kFewNumbers + says_[right]];
        } else {
            known = &pairs_[std::uint64_t{says_[left]} << 32 | says_[right]];
        }
        const bool is_new = *known == 0;
        *known = is_new ? static_cast<std::uint32_t>(next) : *known;
        slots_[left] = *known;
        slots_[right] = *known + 1;
        return !is_new;
    }

    std::span<const std::int32_t> feature_;
    std::span<const std::int32_t> right_;
    bool of_classes_;
    std::vector<std::uint32_t>& sizes_;
    std::vector<std::uint32_t> says_;  // by node, of leaves
    static constexpr std::uint32_t kFewNumbers = 16;
    std::array<std::uint32_t, kFewNumbers * kFewNumbers> few_pairs_{};  // slots of a pair of leaves by predictions
    std::unordered_map<std::uint64_t, std::uint32_t> pairs_;            // the same for all other predictions
    std::span<std::uint32_t> slots_;
    std::uint32_t n_slots_ = 0;
};

// ---- Writing

// The key of the largest number of the node's type that is not above the threshold.
template <class Node>
auto cut_of(double threshold) {
    using Float = typename Node::Float;
    using Key = typename Node::Key;
    const auto cut = static_cast<Float>(threshold);
    const Key key = key_of(cut);
    // The next lower number has the next lower key; but below 0 comes -0.0, which has no key of its own.
    const Key below = key - 1 - (key == key_of(Float{0}));
    return static_cast<double>(cut) > threshold ? below : key;
}

// ---- The columns that nodes use

enum Kind : std::size_t { kNumbers, kInWord, kInSets, kNoSplit };
constexpr std::size_t kKinds = 3;

bool has_sets(const ForestView& forest) {
    return forest.category_start.size() > 1;
}

std::span<const std::uint32_t> categories_of(const ForestView& forest, std::size_t node) {
    const auto set = static_cast<std::size_t>(forest.threshold[node]);
    const auto begin = static_cast<std::size_t>(forest.category_start[set]);
    return forest.category_sets.subspan(begin, static_cast<std::size_t>(forest.category_start[set + 1]) - begin);
}

template <class Node>
Kind kind_of(const ForestView& forest, std::size_t node) {
    if (forest.feature[node] < 0) {
        return kNoSplit;
    }
    if ((forest.flags[node] & kCategorical) == 0) {
        return kNumbers;
    }
    const std::span<const std::uint32_t> categories = categories_of(forest, node);
    return categories.empty() || categories.back() < Node::kOthersInWord ? kInWord : kInSets;
}

struct Columns {
    std::vector<std::uint32_t> features;                     // indexed by column
    std::array<std::size_t, kKinds> lengths{};               // number of columns of each kind
    std::array<std::vector<std::uint32_t>, kKinds> numbers;  // column of each kind and feature

    template <class Node>
    static Columns used(const ForestView& forest) {
        Columns columns;
        columns.numbers.fill(std::vector<std::uint32_t>(forest.n_features, kNoColumn));
        if (!has_sets(forest)) {
            std::vector<std::uint32_t> looked(std::size_t{forest.n_features} + 1, kNoColumn);
            for (const std::int32_t feature : forest.feature) {
                looked[static_cast<std::size_t>(std::max(feature, -1) + 1)] = 0;  // the first column; leaves use none
            }
            columns.numbers[kNumbers].assign(looked.begin() + 1, looked.end());
        } else {
            for (std::size_t i = 0; i < forest.feature.size(); ++i) {
                if (const Kind kind = kind_of<Node>(forest, i); kind != kNoSplit) {
                    columns.numbers[kind][static_cast<std::size_t>(forest.feature[i])] = 0;
                }
            }
        }
        for (std::size_t kind = 0; kind < kKinds; ++kind) {
            for (std::uint32_t f = 0; f < forest.n_features; ++f) {
                if (columns.numbers[kind][f] != kNoColumn) {
                    columns.numbers[kind][f] = static_cast<std::uint32_t>(columns.features.size());
                    columns.features.push_back(f);
                    ++columns.lengths[kind];
                }
            }
        }
        return columns;
    }
};

// Numbers the sets of all nodes that do not contain them.
template <class Node>
CategorySets sets_of(const ForestView& forest, std::vector<std::uint32_t>& numbers) {
    CategorySets sets;
    numbers.assign(forest.category_start.size(), 0);
    for (std::size_t i = 0; has_sets(forest) && i < forest.feature.size(); ++i) {
        if (kind_of<Node>(forest, i) == kInSets) {
            numbers[static_cast<std::size_t>(forest.threshold[i])] =
                sets.add(categories_of(forest, i), (forest.flags[i] & kOthersLeft) != 0);
        }
    }
    return sets;
}

struct Writer {
    const ForestView& forest;
    const Columns& columns;
    std::span<const std::uint32_t> leaf_numbers;  // by leaf; empty: each has its own prediction
    double* leaf_values;                          // the prediction at this index
    std::span<const std::uint32_t> set_numbers;   // by set of the forest

    template <class Node>
    void write(std::size_t tree, std::span<const std::uint32_t> slots, Node* nodes) const {
        const auto begin = static_cast<std::size_t>(forest.tree_start[tree]);
        std::size_t leaf = (begin + tree) / 2;  // a tree has one leaf more than it has splits
        for (std::size_t i = 0; i < slots.size(); ++i) {
            const std::uint32_t slot = slots[i];
            const Kind kind = kind_of<Node>(forest, begin + i);
            if (kind == kNoSplit) {
                nodes[slot] = Node::make(number_of(leaf++, begin + i), slot / 2, slot % 2, kIsLeaf);
                continue;
            }
            const std::uint32_t bits = (forest.flags[begin + i] & kMissingLeft) != 0 ? kMissingGoLeft : 0;
            const auto feature = static_cast<std::size_t>(forest.feature[begin + i]);
            const std::uint32_t column = kOwnColumns + columns.numbers[kind][feature];
            nodes[slot] = Node::make(cut<Node>(kind, begin + i), slots[i + 1] / 2, column, bits);
        }
    }

    std::uint32_t number_of(std::size_t leaf, std::size_t node) const {
        if (forest.task() == Task::classification) {
            return leaf_numbers[leaf];
        }
        leaf_values[leaf] = forest.value[node];
        return static_cast<std::uint32_t>(leaf);
    }

    template <class Node>
    typename Node::Key cut(Kind kind, std::size_t node) const {
        if (kind == kNumbers) {
            return cut_of<Node>(forest.threshold[node]);
        }
        if (kind == kInSets) {
            return set_numbers[static_cast<std::size_t>(forest.threshold[node])];
        }
        typename Node::Key word = 0;
        for (const std::uint32_t category : categories_of(forest, node)) {
            word |= typename Node::Key{1} << category;
        }
        return (forest.flags[node] & kOthersLeft) != 0 ? ~word : word;
    }
};

// Whether small or large nodes can represent a forest: it must not be too large for them.
bool can_pack(const ForestView& forest, bool large) {
    const std::uint64_t most_slots = large ? LargeNode::kMostSlots : SmallNode::kMostSlots;
    for (std::size_t t = 0; t < forest.n_trees(); ++t) {
        // At most a quarter of the slots of clusters are free.
        if (static_cast<std::uint64_t>(forest.tree_start[t + 1] - forest.tree_start[t]) * 3 / 2 + 16 > most_slots) {
            return false;
        }
    }
    if (large) {
        return true;
    }
    const auto fits = [](std::uint32_t category) { return category < SmallNode::kOthersInSets; };
    return std::all_of(forest.category_sets.begin(), forest.category_sets.end(), fits) &&
           (kKinds * std::size_t{forest.n_features} <= SmallNode::kMostColumns ||
            Columns::used<SmallNode>(forest).features.size() <= SmallNode::kMostColumns);
}

template <class T>
void copy_to(std::span<std::byte> buffer, std::size_t at, std::span<const T> values) {
    if (!values.empty()) {
        std::memcpy(buffer.data() + at, values.data(), values.size_bytes());
    }
}

// On all threads: the system has to provide new memory pages.
void clear(std::span<std::byte> bytes, Work& work) {
    const auto clear_part = [&](std::size_t i, std::size_t) {
        const std::span<std::byte> part = bytes.subspan(i * kClearedAtOnce);
        std::memset(part.data(), 0, std::min(part.size(), kClearedAtOnce));
    };
    const std::size_t n_parts = (bytes.size() + kClearedAtOnce - 1) / kClearedAtOnce;
    n_parts == 1 ? clear_part(0, 0) : work.run(n_parts, clear_part);
}

template <class Node>
void pack(const ForestView& forest, std::span<const double> weights, const Averaging& averaging, Purpose purpose,
          PackedBuffer& buffer, Work& work) {
    const auto columns = Columns::used<Node>(forest);
    const bool of_classes = forest.task() == Task::classification;
    const std::size_t n_leaves = (forest.feature.size() + forest.n_trees()) / 2;
    require(n_leaves < std::numeric_limits<std::uint32_t>::max(), "the forest has too many leaves");
    const Leaves leaves = of_classes ? LeafTable(forest).take() : Leaves{};
    std::vector<std::uint32_t> set_numbers;
    const CategorySets kept_sets = sets_of<Node>(forest, set_numbers);
    const CategorySetsView sets = kept_sets.view();
    LargeVector<std::uint32_t> slots(forest.feature.size());  // indexed by node
    const auto slots_of = [&](std::size_t t) {
        const auto begin = static_cast<std::size_t>(forest.tree_start[t]);
        return std::span(slots).subspan(begin, static_cast<std::size_t>(forest.tree_start[t + 1]) - begin);
    };
    std::vector<std::uint64_t> roots(forest.n_trees() + 1);
    std::vector<std::vector<std::uint32_t>> sizes(
        std::max<std::size_t>(1, std::min(work.n_threads(), forest.n_trees())));
    work.run(forest.n_trees(), [&](std::size_t t, std::size_t thread) {
        const auto begin = static_cast<std::size_t>(forest.tree_start[t]);
        const auto end = static_cast<std::size_t>(forest.tree_start[t + 1]);
        const std::span<const std::uint32_t> numbers(leaves.numbers);
        TreeLayout layout(forest, t, of_classes ? numbers.subspan((begin + t) / 2, (end - begin + 1) / 2) : numbers,
                          sizes[thread], slots_of(t));
        roots[t + 1] = layout.n_slots();
    });
    for (std::size_t t = 0; t < forest.n_trees(); ++t) {
        require(roots[t + 1] <= Node::kMostSlots, "a tree has too many nodes");
        roots[t + 1] += roots[t];
    }
    PackedHead head;
    head.node_bytes = sizeof(Node);
    head.n_features = forest.n_features;
    head.n_classes = forest.n_classes;
    head.n_columns = static_cast<std::uint32_t>(columns.features.size());
    head.n_numbers = static_cast<std::uint32_t>(columns.lengths[kNumbers]);
    head.n_in_word = static_cast<std::uint32_t>(columns.lengths[kInWord]);
    head.n_trees = forest.n_trees();
    head.n_slots = roots.back();
    head.n_values = of_classes ? leaves.values.size() : n_leaves;
    head.n_mixed = leaves.mixed.size();
    head.n_weights = weights.size();
    head.n_sets = sets.sets.size();
    head.n_words = sets.words.size();
    head.n_listed = sets.lists.size();
    head.averaging = averaging;
    const Parts parts(head);
    head.n_bytes = parts.end;
    if (purpose == Purpose::kKept) {
        buffer = PackedBuffer(parts.end);
        clear(buffer.bytes(), work);
    } else {
        buffer.use_again(parts.end);
    }
    const std::span<std::byte> bytes = buffer.bytes();
    std::memcpy(bytes.data(), &head, sizeof head);
    copy_to<std::uint32_t>(bytes, parts.columns, columns.features);
    copy_to<std::uint64_t>(bytes, parts.roots, roots);
    copy_to<double>(bytes, parts.values, leaves.values);
    copy_to<std::uint32_t>(bytes, parts.classes, leaves.classes);
    copy_to<MixedLeaf>(bytes, parts.mixed, leaves.mixed);
    copy_to<double>(bytes, parts.weights, weights);
    copy_to<CategorySet>(bytes, parts.sets, sets.sets);
    copy_to<std::uint64_t>(bytes, parts.words, sets.words);
    copy_to<std::uint32_t>(bytes, parts.lists, sets.lists);
    auto* nodes = reinterpret_cast<Node*>(bytes.data() + parts.nodes);
    auto* values = reinterpret_cast<double*>(bytes.data() + parts.values);
    const Writer writer{forest, columns, leaves.numbers, values, set_numbers};
    work.run(forest.n_trees(), [&](std::size_t t, std::size_t) { writer.write(t, slots_of(t), nodes + roots[t]); });
}

void require_forest(const ForestView& forest) {
    check_forest(forest);
    require(std::none_of(forest.threshold.begin(), forest.threshold.end(), [](double t) { return t != t; }),
            "a threshold is not a number");
}

// ---- Checking

template <class Node>
void check_tree(const PackedForest& forest, std::size_t t) {
    const std::span<const Node> nodes = forest.tree<Node>(t);
    const PackedHead& head = forest.head();
    const std::uint64_t n_numbers = head.task() == Task::regression ? head.n_values : head.n_classes + head.n_mixed;
    require(nodes.size() >= 2 && nodes.size() % kSlots == 0, "a tree has no nodes");
    for (std::size_t slot = 0; slot < nodes.size(); ++slot) {
        const Node& node = nodes[slot];
        if ((node.link & kIsLeaf) != 0) {
            require(node.pair() == slot / 2 && node.column() == slot % 2 && node.cut < n_numbers &&
                        (node.link & kMissingGoLeft) == 0,
                    "a leaf is not in order");
            continue;
        }
        const bool is_empty = node.link == 0 && node.pair() == 0 && node.cut == 0;  // no walk reads this slot
        require(is_empty || (node.column() >= kOwnColumns && node.column() - kOwnColumns < head.n_columns),
                "a feature is out of range");
        require(is_empty || node.column() - kOwnColumns < head.n_numbers + head.n_in_word || node.cut < head.n_sets,
                "a set is out of range");
        require(is_empty || 2 * std::size_t{node.pair()} + 1 < nodes.size(), "a child is out of range");
        if (!is_empty) {  // children must be present, and be later slots or both be leaves
            const Node* children = nodes.data() + 2 * std::size_t{node.pair()};
            require(node.pair() > slot / 2 || (children[0].link & children[1].link & kIsLeaf) != 0,
                    "a walk never ends");
            for (std::size_t side = 0; side < 2; ++side) {
                require(children[side].link != 0 || children[side].pair() != 0, "a child is missing");
            }
        }
    }
    require(nodes[0].link != 0 || nodes[0].pair() != 0, "a root is missing");
}

}  // namespace

PackedForest::PackedForest(std::span<const std::byte> buffer)
    : head_(reinterpret_cast<const PackedHead*>(buffer.data())) {
    const Parts parts(*head_);
    const auto at = [&]<class T>(std::size_t begin, std::size_t n) {
        return std::span<const T>(reinterpret_cast<const T*>(buffer.data() + begin), n);
    };
    columns_ = at.operator()<std::uint32_t>(parts.columns, head_->n_columns);
    roots_ = at.operator()<std::uint64_t>(parts.roots, head_->n_trees + 1);
    nodes_ = buffer.data() + parts.nodes;
    values_ = at.operator()<double>(parts.values, head_->n_values);
    classes_ = at.operator()<std::uint32_t>(parts.classes, head_->task() == Task::classification ? head_->n_values : 0);
    mixed_ = at.operator()<MixedLeaf>(parts.mixed, head_->n_mixed);
    weights_ = at.operator()<double>(parts.weights, head_->n_weights);
    sets_ = {at.operator()<CategorySet>(parts.sets, head_->n_sets),
             at.operator()<std::uint64_t>(parts.words, head_->n_words),
             at.operator()<std::uint32_t>(parts.lists, head_->n_listed)};
}

std::optional<PackedBuffer> pack_forest(const ForestView& forest, std::span<const double> weights, bool large,
                                        const Averaging& averaging, Work& work) {
    require_forest(forest);
    require(weights.empty() || weights.size() == forest.n_trees(), "weights and trees differ in number");
    if (!can_pack(forest, large)) {
        return std::nullopt;
    }
    PackedBuffer buffer;
    large ? pack<LargeNode>(forest, weights, averaging, Purpose::kKept, buffer, work)
          : pack<SmallNode>(forest, weights, averaging, Purpose::kKept, buffer, work);
    return buffer;
}

PackedBatches::PackedBatches(const ForestView& forest, bool small_is_exact, std::size_t n_nodes)
    : forest_(forest), small_is_exact_(small_is_exact), n_nodes_(n_nodes) {
    require_forest(forest);
}

std::size_t PackedBatches::end_from(std::size_t begin, std::size_t n_threads) const {
    const auto& starts = forest_.tree_start;
    std::size_t end = std::min(begin + std::max<std::size_t>(1, n_threads), forest_.n_trees());
    while (end < forest_.n_trees() && static_cast<std::size_t>(starts[end + 1] - starts[begin]) <= n_nodes_) {
        ++end;
    }
    return end;
}

PackedForest PackedBatches::pack_some(std::size_t begin, std::size_t end, PackedBuffer& room, Work& work) const {
    const SomeTrees trees(forest_, begin, end);
    const bool small = small_is_exact_ && can_pack(trees.view(), false);
    small ? pack<SmallNode>(trees.view(), {}, {}, Purpose::kWalked, room, work)
          : pack<LargeNode>(trees.view(), {}, {}, Purpose::kWalked, room, work);
    return PackedForest(room.bytes());
}

void check_packed(std::span<const std::byte> buffer) {
    require(buffer.size() >= sizeof(PackedHead) && reinterpret_cast<std::uintptr_t>(buffer.data()) % 16 == 0,
            "the buffer is too short, or not aligned to 16 bytes");
    PackedHead head;
    std::memcpy(&head, buffer.data(), sizeof head);
    require(head.mark == PackedHead::kMark, "the buffer does not hold a packed forest");
    const bool large = head.node_bytes == sizeof(LargeNode);
    require(large || head.node_bytes == sizeof(SmallNode), "the node size is unknown");
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40;  // limits that keep sums of lengths from overflowing
    constexpr std::uint32_t kMostClasses = 1u << 16;  // limits of a fit, since predictions allocate memory for each
    require(head.n_trees > 0 && head.n_trees < kMost && head.n_slots < kMost && head.n_values < kMost &&
                head.n_mixed < kMost && head.n_sets < kMost && head.n_words < kMost && head.n_listed < kMost &&
                head.n_features > 0 && head.n_classes <= kMostClasses && head.n_columns / kKinds <= head.n_features &&
                head.n_numbers <= head.n_columns && head.n_in_word <= head.n_columns - head.n_numbers &&
                (head.n_weights == 0 || head.n_weights == head.n_trees) && head.averaging.is_hard <= 1,
            "lengths are out of range");
    require(head.n_bytes == buffer.size() && Parts(head).end == buffer.size(),
            "the buffer is not as long as its parts");
    const PackedForest forest(buffer);
    for (const std::uint32_t feature : forest.columns()) {
        require(feature < head.n_features, "a feature is out of range");
    }
    require(forest.starts().front() == 0 && forest.starts().back() == head.n_slots &&
                std::is_sorted(forest.starts().begin(), forest.starts().end()),
            "trees are not one behind the other");
    for (const MixedLeaf& leaf : forest.mixed()) {
        require(leaf.begin <= leaf.end && leaf.end <= head.n_values && leaf.winner < head.n_classes,
                "a leaf is out of range");
    }
    for (const CategorySet& set : forest.sets().sets) {
        const std::uint64_t n = set.is_list != 0 ? head.n_listed : head.n_words;
        require(set.begin <= n && set.length <= n - set.begin, "a set is out of range");
    }
    for (const std::uint32_t k : forest.classes()) {
        require(k < head.n_classes, "a class is out of range");
    }
    for (std::size_t t = 0; t < head.n_trees; ++t) {
        large ? check_tree<LargeNode>(forest, t) : check_tree<SmallNode>(forest, t);
    }
}

}  // namespace weald
