#include "batch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace weald {

namespace {

constexpr std::size_t kLanes = 8;                           // rows of a group, or trees that one row walks
constexpr std::size_t kLine = 64;                           // bytes that the cache fetches at once
constexpr std::size_t kTreeBytes = std::size_t{256} << 10;  // trees that are walked together
constexpr std::size_t kBlockBytes = std::size_t{6} << 20;   // keys and sums of a task
constexpr std::size_t kLeastRows = 512;                     // of a task
constexpr std::size_t kFewRows = 4;                         // that are walked one by one
constexpr std::size_t kFewSteps = 16384;                    // rows x trees that are not worth a thread
constexpr std::size_t kLinesOfRow = 4;                      // of a large tree that a row asks for, at least

// ---- Walking

// The slot of the next node: twice the pair, and 1 more where the cut is below the key.
template <class Key>
inline std::uint64_t next_slot(std::uint64_t pair, const Key& cut, Key key) {
#if defined(__x86_64__) && defined(__GNUC__)
    // The compiler does not see that adding with carry does all of it.
    asm("cmp %[key], %[cut]\n\tadc %[pair], %[pair]" : [pair] "+r"(pair) : [cut] "m"(cut), [key] "r"(key) : "cc");
    return pair;
#else
    return 2 * pair + (cut < key);
#endif
}

template <bool HasMissing, class Node>
inline std::uint64_t step(const Node& node, typename Node::Key key) {
    if constexpr (HasMissing) {
        const bool goes_left = (node.link & kMissingGoLeft) != 0 && key == static_cast<typename Node::Key>(~0ull);
        return 2 * std::uint64_t{node.pair()} + ((node.cut < key) & !goes_left);
    } else {
        return next_slot(node.pair(), node.cut, key);
    }
}

using Slots = std::array<std::uint64_t, kLanes>;

// Walks a group of rows to their leaves in a tree.
template <bool HasMissing, class Node>
Slots walk_group(const Node* nodes, const typename Node::Key* group) {
    Slots at{};
    const auto key = [&](const Node& node, std::size_t lane) {
        return group[std::size_t{node.link & Node::kColumnMask} * (kLanes >> kLinkBits) + lane];
    };
    for (std::uint32_t arrived = 0; arrived == 0;) {
#pragma GCC unroll 8
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const Node& node = nodes[at[lane]];
            at[lane] = step<HasMissing>(node, key(node, lane));
        }
        arrived = kIsLeaf;
#pragma GCC unroll 8
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const Node& node = nodes[at[lane]];
            arrived &= node.link;
            at[lane] = step<HasMissing>(node, key(node, lane));
        }
    }
    return at;
}

// Walks one row to its leaves in as many trees as there are lanes.
template <class Node>
Slots walk_trees(const std::array<const Node*, kLanes>& trees, const typename Node::Key* row) {
    Slots at{};
    for (std::uint32_t arrived = 0; arrived == 0;) {
        arrived = kIsLeaf;
#pragma GCC unroll 8
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const Node& node = trees[lane][at[lane]];
            arrived &= node.link;
            at[lane] = step<true>(node, row[node.column()]);
        }
    }
    return at;
}

// ---- What leaves say

class Speaker {
  public:
    Speaker(const PackedForest& forest, bool hard)
        : n_classes_(forest.head().n_classes),
          hard_(hard),
          values_(forest.values().data()),
          classes_(forest.classes().data()),
          mixed_(forest.mixed().data()) {}

    // Adds what the leaf of that number says to the sums of a row.
    void say(std::uint64_t number, double* sums) const {
        if (n_classes_ == 0) {
            sums[0] += values_[number];
        } else if (number < n_classes_) {
            sums[number] += 1.0;
        } else {
            say_mixed(mixed_[number - n_classes_], sums);
        }
    }

  private:
    void say_mixed(const MixedLeaf& leaf, double* sums) const {
        if (hard_) {
            sums[leaf.winner] += 1.0;
            return;
        }
        for (std::uint32_t j = leaf.begin; j < leaf.end; ++j) {
            sums[classes_[j]] += values_[j];
        }
    }

    std::uint32_t n_classes_;
    bool hard_;
    const double* values_;
    const std::uint32_t* classes_;
    const MixedLeaf* mixed_;
};

void store(const Output& output, double total, std::size_t row, std::span<const double> sums) {
    std::byte* to = output.data + static_cast<std::ptrdiff_t>(row) * output.row_stride;
    for (const double sum : sums) {
        const double number = sum / total;
        if (output.is_double) {
            std::memcpy(to, &number, sizeof number);
        } else {
            const auto rounded = static_cast<float>(number);
            std::memcpy(to, &rounded, sizeof rounded);
        }
        to += output.column_stride;
    }
}

// ---- Keys

// A table as keys of some of its features. A row that is given in float has keys of double, too.
template <class Node>
class KeyReader {
  public:
    using Key = typename Node::Key;

    KeyReader(const Matrix& x, std::span<const std::uint32_t> columns) : x_(x), columns_(columns) {
        if (!x.by_row.is_empty()) {
            column_of_.assign(x.n_columns, 0);
            for (std::uint32_t c = 0; c < columns.size(); ++c) {
                column_of_[columns[c]] = kOwnColumns + c;
            }
        }
    }
    std::size_t n_keys() const { return kOwnColumns + columns_.size(); }

    // Writes the keys of a row, `stride` apart; says whether one is missing.
    bool read(std::size_t row, Key* keys, std::size_t stride) const {
        keys[0] = 0;
        keys[stride] = static_cast<Key>(~0ull);
        if (!x_.by_row.is_empty()) {
            return read_sparse(row, keys, stride);
        }
        return x_.dispatch([&]<class Float>() { return read_dense<Float>(row, keys + kOwnColumns * stride, stride); });
    }

  private:
    template <class Float>
    bool read_dense(std::size_t row, Key* keys, std::size_t stride) const {
        const std::byte* from = x_.data + static_cast<std::ptrdiff_t>(row) * x_.row_stride;
        Key largest = 0;
        for (std::size_t c = 0; c < columns_.size(); ++c) {
            Float value;
            std::memcpy(&value, from + static_cast<std::ptrdiff_t>(columns_[c]) * x_.column_stride, sizeof value);
            const Key key = key_of(static_cast<typename Node::Float>(value));
            keys[c * stride] = key;
            largest = std::max(largest, key);
        }
        return largest == static_cast<Key>(~0ull);
    }

    bool read_sparse(std::size_t row, Key* keys, std::size_t stride) const {
        for (std::size_t c = kOwnColumns; c < n_keys(); ++c) {
            keys[c * stride] = key_of(typename Node::Float{0});
        }
        Key largest = 0;
        const auto end = static_cast<std::size_t>(x_.by_row.starts[row + 1]);
        for (auto j = static_cast<std::size_t>(x_.by_row.starts[row]); j < end; ++j) {
            const std::uint32_t column = column_of_[static_cast<std::size_t>(x_.by_row.places[j])];
            if (column != 0) {
                const Key key = key_of(static_cast<typename Node::Float>(x_.by_row.values[j]));
                keys[column * stride] = key;
                largest = std::max(largest, key);
            }
        }
        return largest == static_cast<Key>(~0ull);
    }

    const Matrix& x_;
    std::span<const std::uint32_t> columns_;
    std::vector<std::uint32_t> column_of_;  // by feature, of a sparse table; 0: nobody asks for it
};

// ---- Rows and trees in blocks

template <class Node>
class Batch {
  public:
    using Key = typename Node::Key;

    Batch(const PackedForest& forest, const Matrix& x, const Verdict& verdict, const Output& output, const Work& work)
        : forest_(forest),
          reader_(x, forest.columns()),
          speaker_(forest, verdict.is_hard != 0),
          total_(verdict.total),
          output_(output),
          work_(work) {}

    std::size_t row_bytes() const { return reader_.n_keys() * sizeof(Key) + forest_.width() * sizeof(double); }

    void predict_one_by_one(std::size_t n_rows) const {
        std::vector<Key> keys(reader_.n_keys());
        std::vector<double> sums(forest_.width());
        for (std::size_t row = 0; row < n_rows; ++row) {
            reader_.read(row, keys.data(), 1);
            std::fill(sums.begin(), sums.end(), 0.0);
            for (std::size_t t = 0; t < forest_.n_trees(); t += kLanes) {
                const std::size_t n = std::min(kLanes, forest_.n_trees() - t);
                std::array<const Node*, kLanes> trees;
                for (std::size_t lane = 0; lane < kLanes; ++lane) {
                    trees[lane] = forest_.tree<Node>(t + std::min(lane, n - 1)).data();
                }
                const Slots at = walk_trees<Node>(trees, keys.data());
                for (std::size_t lane = 0; lane < n; ++lane) {
                    speaker_.say(trees[lane][at[lane]].cut, sums.data());
                }
            }
            store(output_, total_, row, sums);
        }
    }

    void predict(std::size_t begin, std::size_t end) const {
        const std::size_t n_groups = (end - begin + kLanes - 1) / kLanes;
        const std::size_t group_keys = reader_.n_keys() * kLanes;
        std::vector<Key> keys(n_groups * group_keys);
        std::vector<std::uint8_t> has_missing(n_groups);
        for (std::size_t place = 0; place < n_groups * kLanes; ++place) {
            const std::size_t group = place / kLanes;
            const std::size_t row = std::min(begin + place, end - 1);  // the last fills up its group
            has_missing[group] |= reader_.read(row, keys.data() + group * group_keys + place % kLanes, kLanes);
        }
        const std::size_t width = forest_.width();
        std::vector<double> sums((end - begin) * width);
        for (std::size_t first = 0, last; first < forest_.n_trees(); first = last) {
            last = end_of_trees(first);
            work_.check();
            fetch(first, last, end - begin);
            for (std::size_t group = 0; group < n_groups; ++group) {
                const std::size_t n = std::min(kLanes, end - begin - group * kLanes);
                const Key* of_group = keys.data() + group * group_keys;
                double* of_rows = sums.data() + group * kLanes * width;
                has_missing[group] != 0 ? add_group<true>(first, last, of_group, of_rows, n)
                                        : add_group<false>(first, last, of_group, of_rows, n);
            }
        }
        for (std::size_t row = begin; row < end; ++row) {
            store(output_, total_, row, std::span(sums).subspan((row - begin) * width, width));
        }
    }

  private:
    std::size_t end_of_trees(std::size_t first) const {
        std::size_t last = first + 1;
        while (last < forest_.n_trees() && forest_.trees<Node>(first, last + 1).size_bytes() <= kTreeBytes) {
            ++last;
        }
        return last;
    }

    // Asks for trees in one go, unless the rows are too few to need most of them.
    void fetch(std::size_t first, std::size_t last, std::size_t n_rows) const {
        const auto bytes = std::as_bytes(forest_.trees<Node>(first, last));
        if (bytes.size() / (last - first) > kLinesOfRow * kLine * n_rows) {
            return;
        }
        for (std::size_t at = 0; at < bytes.size(); at += kLine) {
            __builtin_prefetch(bytes.data() + at, 0, 2);
        }
    }

    template <bool HasMissing>
    void add_group(std::size_t first, std::size_t last, const Key* group, double* sums, std::size_t n) const {
        for (std::size_t t = first; t < last; ++t) {
            const Node* nodes = forest_.tree<Node>(t).data();
            const Slots at = walk_group<HasMissing>(nodes, group);
            for (std::size_t lane = 0; lane < n; ++lane) {
                speaker_.say(nodes[at[lane]].cut, sums + lane * forest_.width());
            }
        }
    }

    const PackedForest& forest_;
    KeyReader<Node> reader_;
    Speaker speaker_;
    double total_;
    const Output& output_;
    const Work& work_;
};

template <class Node>
void predict_with(const PackedForest& forest, const Matrix& x, const Verdict& verdict, const Output& output,
                  Work& work) {
    const Batch<Node> batch(forest, x, verdict, output, work);
    if (x.n_rows <= kFewRows) {
        batch.predict_one_by_one(x.n_rows);
        return;
    }
    const bool few = x.n_rows * forest.n_trees() <= kFewSteps;
    const std::size_t most = std::max(kLanes, kBlockBytes / batch.row_bytes());
    // Two blocks for each thread, so that none has long to wait for the last.
    std::size_t rows = std::max(x.n_rows / (2 * work.n_threads()) + 1, std::min(kLeastRows, x.n_rows));
    rows = (std::min(rows, most) + kLanes - 1) / kLanes * kLanes;
    const std::size_t n_blocks = (x.n_rows + rows - 1) / rows;
    const auto predict = [&](std::size_t b, std::size_t) {
        batch.predict(b * rows, std::min(x.n_rows, (b + 1) * rows));
    };
    if (few) {
        for (std::size_t b = 0; b < n_blocks; ++b) {
            predict(b, 0);
        }
        return;
    }
    work.run(n_blocks, predict);
}

}  // namespace

bool fits_float(const Matrix& x) {
    if (!x.by_row.is_empty()) {
        return std::all_of(x.by_row.values.begin(), x.by_row.values.end(),
                           [](double v) { return v != v || static_cast<double>(static_cast<float>(v)) == v; });
    }
    if (!x.is_double) {
        return true;
    }
    for (std::size_t row = 0; row < x.n_rows; ++row) {
        bool fits = true;
        for (std::size_t c = 0; c < x.n_columns; ++c) {
            const double v = x.at<double>(row, c);
            fits &= static_cast<double>(static_cast<float>(v)) == v || v != v;
        }
        if (!fits) {
            return false;
        }
    }
    return true;
}

void predict_rows(const PackedForest& forest, const Matrix& x, const Verdict& verdict, const Output& output,
                  Work& work) {
    forest.is_large() ? predict_with<LargeNode>(forest, x, verdict, output, work)
                      : predict_with<SmallNode>(forest, x, verdict, output, work);
}

}  // namespace weald
