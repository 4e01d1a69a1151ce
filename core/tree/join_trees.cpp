#include "tree/join_trees.h"

#include <algorithm>
#include <utility>

namespace weald {

namespace {

template <class T>
void put(const std::vector<T>& from, LargeVector<T>& to, std::size_t start) {
    if (!from.empty()) {
        std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(start));
    }
}

// Converts lengths to ends, which are the next starts; `end` is the end of the entries before.
void put_ends(const std::vector<std::uint32_t>& lengths, LargeVector<std::int64_t>& to, std::size_t start,
              std::size_t end) {
    std::transform(lengths.begin(), lengths.end(), to.begin() + static_cast<std::ptrdiff_t>(start + 1),
                   [&](std::uint32_t length) { return static_cast<std::int64_t>(end += length); });
}

// Memory for a number of entries, of which the first ones will certainly be needed. The rest is not on large pages,
// which would be allocated as a whole.
template <class T>
void widen(LargeVector<T>& array, std::size_t n, std::size_t n_sure) {
    if (n > array.size()) {
        array.reserve(n);
        array.resize(n);
        keep_to_small_pages(array, n_sure);
    }
}

constexpr std::size_t kLarge = std::size_t{48} << 20;  // bytes of the trees of a forest

std::size_t bytes_of(const TreeArrays& tree) {
    const auto bytes = [](const auto&... arrays) { return ((arrays.size() * sizeof(arrays[0])) + ...); };
    return bytes(tree.feature, tree.threshold, tree.right, tree.flags, tree.size, tree.weight, tree.decrease,
                 tree.leaf_length, tree.leaf_class, tree.leaf_weight, tree.value, tree.impurity, tree.set_length,
                 tree.category_sets);
}

void clear(TreeArrays& tree) {
    tree.feature.clear();
    tree.threshold.clear();
    tree.right.clear();
    tree.flags.clear();
    tree.size.clear();
    tree.weight.clear();
    tree.decrease.clear();
    tree.leaf_length.clear();
    tree.leaf_class.clear();
    tree.leaf_weight.clear();
    tree.value.clear();
    tree.impurity.clear();
    tree.set_length.clear();
    tree.category_sets.clear();
}

}  // namespace

TreeJoiner::TreeJoiner(std::size_t n_trees) : waiting_(n_trees), is_waiting_(n_trees) {
    joined_.tree_start.reserve(n_trees + 1);
    joined_.tree_start.push_back(0);
    joined_.leaf_start.assign(1, 0);
    joined_.category_start.assign(1, 0);
}

TreeArrays TreeJoiner::add(std::size_t number, TreeArrays tree) {
    std::vector<Placed> placed;
    {
        const std::scoped_lock lock(order_);
        is_large_ = is_large_ || (next_ == 0 && bytes_of(tree) > kLarge / waiting_.size());  // trees are similar
        waiting_[number] = std::move(tree);
        is_waiting_[number] = true;
        for (; !is_large_ && next_ < waiting_.size() && is_waiting_[next_]; ++next_) {
            placed.push_back(place(std::exchange(waiting_[next_], {})));
            make_room(next_ + 1);
        }
    }
    {
        const std::shared_lock lock(moving_);
        for (Placed& of_tree : placed) {
            copy(of_tree);
            clear(of_tree.tree);
        }
    }
    // One is enough; the memory of trees that were delayed is not needed.
    return placed.empty() ? TreeArrays{} : std::move(placed.front().tree);
}

// Trees are freed as they are copied.
void TreeJoiner::copy_all(Work& work) {
    std::vector<Placed> placed;
    std::size_t n_bytes = 0;
    for (; next_ < waiting_.size(); ++next_) {
        n_bytes += bytes_of(waiting_[next_]);
        placed.push_back(place(std::move(waiting_[next_])));
    }
    make_room(waiting_.size());
    FreedMemory freed;
    freed.expect(n_bytes, placed.size());
    work.run(
        placed.size(),
        [&](std::size_t i, std::size_t /*thread*/) {
            copy(placed[i]);
            const std::size_t n_freed = bytes_of(placed[i].tree);
            placed[i].tree = {};
            freed.add(n_freed);
        },
        [] { return 1.0; });
}

ForestArrays TreeJoiner::finish(Work& work) {
    if (is_large_) {
        copy_all(work);
    }
    const auto end = [](auto& array, std::size_t n) {
        if (!array.empty()) {
            array.resize(n);
        }
    };
    end(joined_.feature, placed_.nodes);
    end(joined_.threshold, placed_.nodes);
    end(joined_.right, placed_.nodes);
    end(joined_.flags, placed_.nodes);
    end(joined_.size, placed_.nodes);
    end(joined_.weight, placed_.nodes);
    end(joined_.decrease, placed_.nodes);
    end(joined_.value, placed_.values);
    end(joined_.impurity, placed_.impurities);
    end(joined_.leaf_start, placed_.leaves + 1);
    end(joined_.leaf_class, placed_.entries);
    end(joined_.leaf_weight, placed_.entries);
    end(joined_.category_start, placed_.sets + 1);
    end(joined_.category_sets, placed_.categories);
    return std::move(joined_);
}

// The position of a tree. The caller holds `order_`.
TreeJoiner::Placed TreeJoiner::place(TreeArrays tree) {
    const Counts start = placed_;
    placed_.nodes += tree.n_nodes();
    placed_.values += tree.value.size();
    placed_.impurities += tree.impurity.size();
    placed_.leaves += tree.leaf_length.size();
    placed_.entries += tree.leaf_class.size();
    placed_.sets += tree.set_length.size();
    placed_.categories += tree.category_sets.size();
    joined_.tree_start.push_back(static_cast<std::int64_t>(placed_.nodes));
    return {std::move(tree), start};
}

// Trees are similar: those that are finished predict the memory that all of them will need, and a quarter more takes no
// memory until it is written to; moving all trees later would take twice the memory. A fit of very many trees may be
// stopped early.
void TreeJoiner::make_room(std::size_t n_here) {
    constexpr std::size_t kMuch = std::size_t{1} << 24;  // entries
    const auto foresee = [&](std::size_t n) {
        const std::size_t of_all = n / n_here * waiting_.size() + n % n_here;
        return n_here == waiting_.size() ? n : std::min(of_all + of_all / 4, std::max(2 * n, kMuch));
    };
    const auto widen_all = [&](std::size_t Counts::* kind, std::size_t more, auto&... arrays) {
        if (placed_.*kind > room_.*kind) {
            const std::unique_lock lock(moving_);
            const std::size_t n = foresee(placed_.*kind);
            const std::size_t n_sure = n_here == waiting_.size() ? n : n - n / 4;
            (widen(arrays, n + more, n_sure), ...);
            room_.*kind =
                n;  // set last: if an allocation fails, other threads must not assume that the memory is available
        }
    };
    widen_all(&Counts::nodes, 0, joined_.feature, joined_.threshold, joined_.right, joined_.flags, joined_.size,
              joined_.weight, joined_.decrease);
    widen_all(&Counts::values, 0, joined_.value);
    widen_all(&Counts::impurities, 0, joined_.impurity);
    widen_all(&Counts::leaves, 1, joined_.leaf_start);
    widen_all(&Counts::entries, 0, joined_.leaf_class, joined_.leaf_weight);
    widen_all(&Counts::sets, 1, joined_.category_start);
    widen_all(&Counts::categories, 0, joined_.category_sets);
}

void TreeJoiner::copy(Placed& placed) {
    auto& [tree, start] = placed;
    // Sets of categories are numbered through all trees, in the order of their nodes.
    std::size_t set = start.sets;
    for (std::size_t i = 0; i < tree.n_nodes() && !tree.set_length.empty(); ++i) {
        if ((tree.flags[i] & kCategorical) != 0) {
            tree.threshold[i] = static_cast<double>(set++);
        }
    }
    put(tree.feature, joined_.feature, start.nodes);
    put(tree.threshold, joined_.threshold, start.nodes);
    put(tree.right, joined_.right, start.nodes);
    put(tree.flags, joined_.flags, start.nodes);
    put(tree.size, joined_.size, start.nodes);
    if (tree.weight.empty()) {  // weights equal the sizes
        std::copy(tree.size.begin(), tree.size.end(),
                  joined_.weight.begin() + static_cast<std::ptrdiff_t>(start.nodes));
    } else {
        put(tree.weight, joined_.weight, start.nodes);
    }
    put(tree.decrease, joined_.decrease, start.nodes);
    put(tree.value, joined_.value, start.values);
    put(tree.impurity, joined_.impurity, start.impurities);
    put_ends(tree.leaf_length, joined_.leaf_start, start.leaves, start.entries);
    put(tree.leaf_class, joined_.leaf_class, start.entries);
    put(tree.leaf_weight, joined_.leaf_weight, start.entries);
    put_ends(tree.set_length, joined_.category_start, start.sets, start.categories);
    put(tree.category_sets, joined_.category_sets, start.categories);
}

}  // namespace weald
