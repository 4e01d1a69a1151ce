#include "join_trees.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "freed.h"

namespace weald {

namespace {

constexpr std::size_t kMuch = std::size_t{1} << 20;  // bytes: less is copied before a thread has started

// Sets of categories are numbered through all trees, in the order of their nodes.
void number_sets(std::vector<TreeArrays>& trees) {
    std::size_t number = 0;
    for (TreeArrays& tree : trees) {
        for (std::size_t i = 0; i < tree.n_nodes() && !tree.set_length.empty(); ++i) {
            if ((tree.flags[i] & kCategorical) != 0) {
                tree.threshold[i] = static_cast<double>(number++);
            }
        }
    }
}

// Arrays are joined one after the other, the pieces of each side by side: a piece is the share of one tree.
class Joiner {
  public:
    explicit Joiner(std::vector<TreeArrays>& trees) : trees_(trees) {}

    template <class T>
    void join(LargeVector<T>& to, std::vector<T> TreeArrays::* member) {
        const std::vector<std::size_t> starts = starts_of(member);
        to.resize(starts.back());
        add(starts.back() * sizeof(T), [this, &to, member, starts](std::size_t i) {
            std::copy((trees_[i].*member).begin(), (trees_[i].*member).end(), to.begin() + at(starts[i]));
            free(trees_[i].*member);
        });
    }

    // Lengths become starts; `entries` is what they are the lengths of.
    template <class T>
    void join_lengths(LargeVector<std::int64_t>& to, std::vector<std::uint32_t> TreeArrays::* lengths,
                      std::vector<T> TreeArrays::* entries) {
        const std::vector<std::size_t> starts = starts_of(lengths);
        to.resize(starts.back() + 1);
        to[0] = 0;
        add(to.size() * sizeof(std::int64_t), [this, &to, lengths, starts, ends = starts_of(entries)](std::size_t i) {
            auto end = static_cast<std::int64_t>(ends[i]);
            std::transform((trees_[i].*lengths).begin(), (trees_[i].*lengths).end(), to.begin() + at(starts[i] + 1),
                           [&](std::uint32_t length) { return end += length; });
            free(trees_[i].*lengths);
        });
    }

    // Trees keep no weights where these are the sizes.
    void join_sizes(LargeVector<std::uint32_t>& sizes, LargeVector<double>& weights) {
        const std::vector<std::size_t> starts = starts_of(&TreeArrays::size);
        sizes.resize(starts.back());
        weights.resize(starts.back());
        add(starts.back() * (sizeof(double) + sizeof(std::uint32_t)), [this, &sizes, &weights, starts](std::size_t i) {
            TreeArrays& tree = trees_[i];
            std::copy(tree.size.begin(), tree.size.end(), sizes.begin() + at(starts[i]));
            if (tree.weight.empty()) {
                std::copy(tree.size.begin(), tree.size.end(), weights.begin() + at(starts[i]));
            } else {
                std::copy(tree.weight.begin(), tree.weight.end(), weights.begin() + at(starts[i]));
            }
            free(tree.size);
            free(tree.weight);
        });
    }

    void run(Work& work) {
        freed_.expect(n_bytes_, trees_.size());
        const std::size_t n = trees_.size();
        const auto copy = [&](std::size_t task, std::size_t) { copies_[task / n](task % n); };
        if (n_bytes_ >= kMuch) {
            work.run(copies_.size() * n, copy, [] { return 1.0; });
            return;
        }
        for (std::size_t task = 0; task < copies_.size() * n; ++task) {
            copy(task, 0);
        }
    }

  private:
    static std::ptrdiff_t at(std::size_t place) { return static_cast<std::ptrdiff_t>(place); }

    template <class T>
    std::vector<std::size_t> starts_of(std::vector<T> TreeArrays::* member) const {
        std::vector<std::size_t> starts{0};
        for (const TreeArrays& tree : trees_) {
            starts.push_back(starts.back() + (tree.*member).size());
        }
        return starts;
    }

    void add(std::size_t n_bytes, std::function<void(std::size_t tree)> copy) {
        copies_.push_back(std::move(copy));
        n_bytes_ += n_bytes;
    }

    template <class T>
    void free(std::vector<T>& array) {
        const std::size_t n_bytes = array.capacity() * sizeof(T);
        std::vector<T>().swap(array);
        freed_.add(n_bytes);
    }

    std::vector<TreeArrays>& trees_;
    std::vector<std::function<void(std::size_t)>> copies_;  // by array
    std::size_t n_bytes_ = 0;
    Freed freed_;
};

}  // namespace

ForestArrays join_trees(std::vector<TreeArrays> trees, Work& work) {
    ForestArrays joined;
    joined.tree_start.push_back(0);
    for (const TreeArrays& tree : trees) {
        joined.tree_start.push_back(joined.tree_start.back() + static_cast<std::int64_t>(tree.n_nodes()));
    }
    number_sets(trees);
    Joiner joiner(trees);
    joiner.join(joined.feature, &TreeArrays::feature);
    joiner.join(joined.threshold, &TreeArrays::threshold);
    joiner.join(joined.right, &TreeArrays::right);
    joiner.join(joined.flags, &TreeArrays::flags);
    joiner.join(joined.decrease, &TreeArrays::decrease);
    joiner.join_lengths(joined.leaf_start, &TreeArrays::leaf_length, &TreeArrays::leaf_class);
    joiner.join(joined.leaf_class, &TreeArrays::leaf_class);
    joiner.join(joined.leaf_weight, &TreeArrays::leaf_weight);
    joiner.join(joined.value, &TreeArrays::value);
    joiner.join(joined.impurity, &TreeArrays::impurity);
    joiner.join_lengths(joined.category_start, &TreeArrays::set_length, &TreeArrays::category_sets);
    joiner.join(joined.category_sets, &TreeArrays::category_sets);
    joiner.join_sizes(joined.size, joined.weight);
    joiner.run(work);
    return joined;
}

}  // namespace weald
