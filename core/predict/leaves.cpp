#include "predict/leaves.h"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "base/require.h"
#include "tree/tree.h"

namespace weald {

namespace {

constexpr std::size_t kMostRows = 2048;  // rows of a task: enough to make up for loading a tree into the cache
constexpr std::size_t kMostValues = std::size_t{1} << 21;  // values of a task's rows that are converted to dense form

// The rows of a task as pointers to contiguous values; they are copied only if the table's strides require it.
template <class Float>
class RowBlock {
  public:
    RowBlock(const Matrix& x, std::size_t begin, std::size_t end) : rows_(end - begin) {
        if (!x.by_row.is_empty()) {
            fill(x, begin);
            return;
        }
        const bool in_place = x.column_stride == sizeof(Float) && x.row_stride % alignof(Float) == 0 &&
                              reinterpret_cast<std::uintptr_t>(x.data) % alignof(Float) == 0;
        if (!in_place) {
            copy_.resize(rows_.size() * x.n_columns);
        }
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            if (in_place) {
                rows_[i] =
                    reinterpret_cast<const Float*>(x.data + static_cast<std::ptrdiff_t>(begin + i) * x.row_stride);
                continue;
            }
            Float* row = copy_.data() + i * x.n_columns;
            for (std::size_t f = 0; f < x.n_columns; ++f) {
                row[f] = x.at<Float>(begin + i, f);
            }
            rows_[i] = row;
        }
    }
    const Float* const* rows() const { return rows_.data(); }
    std::size_t size() const { return rows_.size(); }

  private:
    // Rows of a sparse table.
    void fill(const Matrix& x, std::size_t begin) {
        copy_.resize(rows_.size() * x.n_columns);
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            Float* row = copy_.data() + i * x.n_columns;
            const auto last = static_cast<std::size_t>(x.by_row.starts[begin + i + 1]);
            for (auto j = static_cast<std::size_t>(x.by_row.starts[begin + i]); j < last; ++j) {
                row[x.by_row.places[j]] = static_cast<Float>(x.by_row.values[j]);
            }
            rows_[i] = row;
        }
    }

    std::vector<const Float*> rows_;
    std::vector<Float> copy_;
};

struct Blocks {
    std::size_t n_rows;
    std::size_t rows_per_block;

    Blocks(const Matrix& x, std::size_t n_threads)
        : n_rows(x.n_rows), rows_per_block(std::clamp<std::size_t>(x.n_rows / (4 * n_threads), 64, kMostRows)) {
        if (!x.by_row.is_empty()) {  // sparse rows are converted to dense form
            rows_per_block = std::min(rows_per_block, kMostValues / x.n_columns + 1);
        }
    }
    std::size_t n_blocks() const { return (n_rows + rows_per_block - 1) / rows_per_block; }
    std::size_t begin(std::size_t block) const { return block * rows_per_block; }
    std::size_t end(std::size_t block) const { return std::min(n_rows, (block + 1) * rows_per_block); }
};

// Runs use(block) for all blocks of rows, on threads if there is enough work.
template <class Use>
void for_blocks(const Matrix& x, std::size_t n_trees, Work& work, Use&& use) {
    const Blocks blocks(x, work.n_threads());
    if (x.n_rows * n_trees <= kFewSteps) {
        for (std::size_t b = 0; b < blocks.n_blocks(); ++b) {
            use(blocks.begin(b), blocks.end(b));
        }
        return;
    }
    work.run(blocks.n_blocks(), [&](std::size_t b, std::size_t) { use(blocks.begin(b), blocks.end(b)); });
}

std::uint32_t most_common_class(const ForestView& forest, std::size_t leaf) {
    const auto begin = forest.leaf_weight.begin() + forest.leaf_start[leaf];
    const auto end = forest.leaf_weight.begin() + forest.leaf_start[leaf + 1];
    if (begin == end) {
        return 0;  // an empty bag: any value, the same before and after permuting
    }
    const auto most = std::max_element(begin, end);  // ties: the first class
    return static_cast<std::uint32_t>(forest.leaf_class[static_cast<std::size_t>(most - forest.leaf_weight.begin())]);
}

}  // namespace

Predictor::Predictor(const ForestView& forest) : n_features_(forest.n_features), n_classes_(forest.n_classes) {
    check_forest(forest);
    require(forest.n_features <= kFeature, "a forest has too many features");
    nodes_.resize(forest.feature.size());
    std::size_t n_leaves = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        Node& node = nodes_[i];
        if (forest.feature[i] >= 0) {
            node.threshold = forest.threshold[i];
            node.feature = static_cast<std::uint32_t>(forest.feature[i]);
            node.right = static_cast<std::uint32_t>(forest.right[i]) & 0x7FFFFFFFu;
            node.missing_left = (forest.flags[i] & kMissingLeft) != 0;
            if ((forest.flags[i] & kCategorical) != 0) {
                add_set(forest, i, node);
            }
            continue;
        }
        node.feature = kLeaf;
        if (task() == Task::regression) {
            node.threshold = forest.value[i];
        } else {
            // Under monotonic constraints a leaf stores one value, the probability of the second class.
            const std::uint32_t winner =
                forest.value.empty() ? most_common_class(forest, n_leaves) : std::uint32_t{forest.value[i] > 0.5};
            node.right = winner & 0x7FFFFFFFu;
        }
        ++n_leaves;
    }
    for (std::size_t t = 0; t + 1 < forest.tree_start.size(); ++t) {
        roots_.push_back(static_cast<std::size_t>(forest.tree_start[t]));
    }
}

// A set of small category codes becomes a word inside the node.
void Predictor::add_set(const ForestView& forest, std::size_t i, Node& node) {
    has_categories_ = true;
    const auto number = static_cast<std::size_t>(forest.threshold[i]);
    const auto begin = static_cast<std::size_t>(forest.category_start[number]);
    const auto end = static_cast<std::size_t>(forest.category_start[number + 1]);
    const std::span<const std::uint32_t> categories = forest.category_sets.subspan(begin, end - begin);
    const bool others_left = (forest.flags[i] & kOthersLeft) != 0;
    if (!categories.empty() && categories.back() >= kOthers) {
        node.set = sets_.add(categories, others_left);
        node.feature |= kInSets;
        return;
    }
    std::uint64_t bits = 0;
    for (const std::uint32_t category : categories) {
        bits |= std::uint64_t{1} << category;
    }
    node.left_bits = others_left ? ~bits : bits;
    node.feature |= kInWord;
}

bool Predictor::goes_left(const Node& node, double category) const {
    if ((node.feature & kInWord) != 0) {
        return (node.left_bits >> category_key<std::uint64_t>(category, kOthers) & 1) != 0;
    }
    constexpr std::uint64_t kNone = std::uint64_t{1} << 32;  // no set contains it
    return sets_.view().goes_left(static_cast<std::size_t>(node.set), category_key(category, kNone));
}

void Predictor::find_leaves(const Matrix& x, std::span<std::int32_t> leaves, Work& work) const {
    x.dispatch([&]<class Float>() {
        for_blocks(x, n_trees(), work, [&](std::size_t begin, std::size_t end) {
            const RowBlock<Float> block(x, begin, end);
            std::vector<std::uint32_t> found(block.size());
            for (std::size_t t = 0; t < n_trees(); ++t) {
                work.check();
                const auto walk_with = [&]<bool HasCategories>() {
                    walk<HasCategories>(
                        nodes(t), block.size(), [](std::size_t) { return 0u; },
                        [rows = block.rows()](std::size_t row, std::uint32_t column) { return rows[row][column]; },
                        [&](std::size_t row, std::uint32_t leaf) { found[row] = leaf; });
                };
                // Forests without categories are walked without checks for them.
                has_categories_ ? walk_with.template operator()<true>() : walk_with.template operator()<false>();
                for (std::size_t i = 0; i < found.size(); ++i) {
                    leaves[(begin + i) * n_trees() + t] = static_cast<std::int32_t>(found[i]);
                }
            }
        });
    });
}

void Predictor::find_leaves(const Matrix& x, std::span<const std::uint8_t> outside, std::span<std::int32_t> leaves,
                            Work& work) const {
    x.dispatch([&]<class Float>() {
        for_blocks(x, n_trees(), work, [&](std::size_t begin, std::size_t end) {
            const RowBlock<Float> block(x, begin, end);
            std::vector<std::uint32_t> chosen;
            for (std::size_t t = 0; t < n_trees(); ++t) {
                work.check();
                chosen.clear();
                for (std::size_t i = 0; i < block.size(); ++i) {
                    if (outside[t * x.n_rows + begin + i] != 0) {
                        chosen.push_back(static_cast<std::uint32_t>(i));
                    }
                }
                std::int32_t* found = leaves.data() + t * x.n_rows + begin;
                std::fill_n(found, block.size(), -1);
                const auto walk_with = [&]<bool HasCategories>() {
                    walk<HasCategories>(
                        nodes(t), chosen.size(), [](std::size_t) { return 0u; },
                        [&, rows = block.rows()](std::size_t i, std::uint32_t column) {
                            return rows[chosen[i]][column];
                        },
                        [&](std::size_t i, std::uint32_t leaf) { found[chosen[i]] = static_cast<std::int32_t>(leaf); });
                };
                has_categories_ ? walk_with.template operator()<true>() : walk_with.template operator()<false>();
            }
        });
    });
}

}  // namespace weald
