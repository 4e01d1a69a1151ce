#include "predict/batch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "predict/leaves.h"
#include "predict/row_keys.h"
#include "predict/walk.h"

namespace weald {

namespace {

constexpr std::size_t kTreeLanes = 128;                      // maximum number of trees that one row walks together
constexpr std::size_t kTreeBytes = std::size_t{256} << 10;   // trees that are walked together
constexpr std::size_t kSharedBytes = std::size_t{24} << 20;  // keys and sums of all threads, which share a cache
constexpr std::size_t kBlockBytes = std::size_t{6} << 20;    // maximum size of a block
constexpr std::size_t kLeastBytes = std::size_t{2} << 20;    // minimum size of a block, with any number of threads
constexpr std::size_t kSparseBytes = std::size_t{1} << 20;  // maximum size of a block of a sparse table: most are zeros
constexpr std::size_t kLeastRows = 512;                     // rows of a block
constexpr std::size_t kLeastShare = 8;                      // minimum size of a block, as a fraction of a thread's rows
constexpr std::size_t kFewRows = 4;                         // rows that are walked one by one
constexpr std::size_t kLinesOfRow = 4;                      // cache lines of a large tree that a row reads, at least

// One row that walks down many trees.
template <class Node>
struct TreeWalks {
    std::array<const Node*, kTreeLanes> trees;
    std::array<std::uint64_t, kTreeLanes> numbers;  // sums over leaves
    std::array<std::uint32_t, kTreeLanes> lanes;    // trees in which the row has not reached a leaf yet,
    std::array<std::uint32_t, kTreeLanes> slots;    // and its node in each
};

// Walks one row down n trees. It takes one step in all trees, then the next: the next node is loaded while the other
// trees step. Trees in which it has reached a leaf are removed without a branch.
template <With kWith, class Node>
void walk_trees(TreeWalks<Node>& walks, std::size_t n, const typename Node::Key* row, const NextNode& ways) {
    while (n > 0) {
        std::size_t n_left = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const std::uint32_t lane = walks.lanes[i];
            const Node* nodes = walks.trees[lane];
            const Node& node = nodes[walks.slots[i]];
            const std::uint64_t next = step<kWith>(node, row[node.column()], ways);
            const bool goes_on = (node.link & kIsLeaf) == 0;
            __builtin_prefetch(nodes + next);
            walks.numbers[lane] = node.cut;
            walks.lanes[n_left] = lane;
            walks.slots[n_left] = static_cast<std::uint32_t>(next);
            n_left += goes_on;
        }
        n = n_left;
    }
}

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

// ---- Rows and trees in blocks

template <class Node>
class Batch {
  public:
    using Key = typename Node::Key;

    Batch(const PackedForest& forest, const Matrix& x, const Averaging& averaging, const Output& output,
          const Work& work)
        : forest_(forest),
          ways_(forest),
          reader_(x, forest),
          leaf_reader_(forest, averaging.is_hard != 0),
          total_(averaging.total),
          output_(output),
          work_(work) {}

    std::size_t row_bytes() const { return reader_.n_keys() * sizeof(Key) + forest_.width() * sizeof(double); }

    void predict_one_by_one(std::size_t n_rows) const {
        std::vector<Key> keys(reader_.n_keys());
        std::vector<double> sums(forest_.width());
        for (std::size_t row = 0; row < n_rows; ++row) {
            reader_.clear(keys);
            const bool has_missing = reader_.read(row, keys.data(), 1);
            std::fill(sums.begin(), sums.end(), 0.0);
            with_needs(forest_, has_missing, [&]<With kWith>() { add_row<kWith>(keys.data(), sums.data()); });
            store(output_, total_, row, sums);
        }
    }

    // Memory of a thread for its blocks, reused: the system would have to provide new pages.
    class Room {
      public:
        // Returns whether the keys are new memory.
        bool make(std::size_t n_keys, std::size_t n_sums, std::size_t n_groups) {
            const bool is_new = n_keys > n_keys_;
            if (is_new) {
                keys_ = std::make_unique_for_overwrite<Key[]>(n_keys);
                n_keys_ = n_keys;
            }
            sums_.assign(n_sums, 0.0);
            has_missing_.assign(n_groups, 0);
            return is_new;
        }
        Key* keys() { return keys_.get(); }
        std::span<double> sums() { return sums_; }
        std::span<std::uint8_t> has_missing() { return has_missing_; }  // indexed by group

      private:
        std::unique_ptr<Key[]> keys_;
        std::size_t n_keys_ = 0;
        std::vector<double> sums_;
        std::vector<std::uint8_t> has_missing_;
    };

    void predict(std::size_t begin, std::size_t end, Room& room) const {
        const std::size_t n_groups = (end - begin + kLanes - 1) / kLanes;
        const std::size_t group_keys = reader_.n_keys() * kLanes;
        const std::size_t width = forest_.width();
        const bool is_new = room.make(n_groups * group_keys, (end - begin) * width, n_groups);
        const std::span<Key> keys(room.keys(), n_groups * group_keys);
        const std::span<double> sums = room.sums();
        const std::span<std::uint8_t> has_missing = room.has_missing();
        if (is_new) {
            reader_.clear(keys);
        }
        const auto for_rows = [&](const auto& use) {
            for (std::size_t place = 0; place < n_groups * kLanes; ++place) {
                const std::size_t group = place / kLanes;
                const std::size_t row = std::min(begin + place, end - 1);  // the last row fills up its group
                use(row, keys.data() + group * group_keys + place % kLanes, group);
            }
        };
        for_rows([&](std::size_t row, Key* of_row, std::size_t group) {
            has_missing[group] |= reader_.read(row, of_row, kLanes);
        });
        for (std::size_t first = 0, last; first < forest_.n_trees(); first = last) {
            last = end_of_trees(first);
            work_.check();
            fetch(first, last, end - begin);
            for (std::size_t group = 0; group < n_groups; ++group) {
                const std::size_t n = std::min(kLanes, end - begin - group * kLanes);
                const Key* of_group = keys.data() + group * group_keys;
                double* of_rows = sums.data() + group * kLanes * width;
                with_needs(forest_, has_missing[group] != 0,
                           [&]<With kWith>() { add_group<kWith>(first, last, of_group, of_rows, n); });
            }
        }
        for (std::size_t row = begin; row < end; ++row) {
            store(output_, total_, row, sums.subspan((row - begin) * width, width));
        }
        for_rows([&](std::size_t row, Key* of_row, std::size_t) { reader_.clear_again(row, of_row, kLanes); });
    }

  private:
    std::size_t end_of_trees(std::size_t first) const {
        std::size_t last = first + 1;
        while (last < forest_.n_trees() && forest_.trees<Node>(first, last + 1).size_bytes() <= kTreeBytes) {
            ++last;
        }
        return last;
    }

    // Prefetches trees from start to end, unless there are too few rows to use most of them.
    void fetch(std::size_t first, std::size_t last, std::size_t n_rows) const {
        const auto bytes = std::as_bytes(forest_.trees<Node>(first, last));
        if (bytes.size() / (last - first) > kLinesOfRow * kLine * n_rows) {
            return;
        }
        for (std::size_t at = 0; at < bytes.size(); at += kLine) {
            __builtin_prefetch(bytes.data() + at, 0, 2);
        }
    }

    double weight(std::size_t tree) const { return forest_.weights().empty() ? 1.0 : forest_.weights()[tree]; }

    template <With kWith>
    void add_row(const Key* keys, double* sums) const {
        TreeWalks<Node> walks;
        for (std::size_t first = 0; first < forest_.n_trees(); first += kTreeLanes) {
            const std::size_t n = std::min(kTreeLanes, forest_.n_trees() - first);
            for (std::uint32_t lane = 0; lane < n; ++lane) {
                walks.trees[lane] = forest_.tree<Node>(first + lane).data();
                walks.lanes[lane] = lane;
                walks.slots[lane] = 0;
                __builtin_prefetch(walks.trees[lane]);
            }
            walk_trees<kWith>(walks, n, keys, ways_);
            for (std::size_t lane = 0; lane < n; ++lane) {
                leaf_reader_.fetch(walks.numbers[lane]);
            }
            for (std::size_t lane = 0; lane < n; ++lane) {
                leaf_reader_.add(walks.numbers[lane], weight(first + lane), sums);
            }
        }
    }

    template <With kWith>
    void add_group(std::size_t first, std::size_t last, const Key* group, double* sums, std::size_t n) const {
        for (std::size_t t = first; t < last; ++t) {
            const Node* nodes = forest_.tree<Node>(t).data();
            const Slots at = walk_group<kWith>(nodes, group, ways_);
            for (std::size_t lane = 0; lane < n; ++lane) {
                leaf_reader_.add(nodes[at[lane]].cut, weight(t), sums + lane * forest_.width());
            }
        }
    }

    const PackedForest& forest_;
    NextNode ways_;
    KeyReader<Node> reader_;
    LeafReader leaf_reader_;
    double total_;
    const Output& output_;
    const Work& work_;
};

// The bounds of the blocks of rows. Each is half of the remaining rows of its thread, or what fits into the cache, so
// that no thread waits long for the last one; but blocks stay large enough to make loading trees worthwhile.
std::vector<std::size_t> cut_rows(std::size_t n_rows, std::size_t row_bytes, std::size_t n_threads, bool is_sparse) {
    const std::size_t bytes = is_sparse ? kSparseBytes : std::clamp(kSharedBytes / n_threads, kLeastBytes, kBlockBytes);
    const std::size_t most = std::max(kLanes, bytes / row_bytes);
    const std::size_t least = std::min(most, std::max(kLeastRows, n_rows / n_threads / kLeastShare));
    std::vector<std::size_t> starts{0};
    while (starts.back() < n_rows) {
        const std::size_t left = n_rows - starts.back();
        const std::size_t rows = std::clamp(n_threads > 1 ? left / n_threads / 2 : left, least, most);
        starts.push_back(starts.back() + std::min(left, (rows + kLanes - 1) / kLanes * kLanes));
    }
    return starts;
}

template <class Node>
void predict_with(const PackedForest& forest, const Matrix& x, const Averaging& averaging, const Output& output,
                  Work& work) {
    const Batch<Node> batch(forest, x, averaging, output, work);
    if (x.n_rows <= kFewRows) {
        batch.predict_one_by_one(x.n_rows);
        return;
    }
    const std::vector<std::size_t> starts =
        cut_rows(x.n_rows, batch.row_bytes(), work.n_threads(), !x.by_row.is_empty());
    std::vector<typename Batch<Node>::Room> rooms(work.n_threads());
    const auto predict = [&](std::size_t b, std::size_t thread) {
        batch.predict(starts[b], starts[b + 1], rooms[thread]);
    };
    if (x.n_rows * forest.n_trees() <= kFewSteps) {
        for (std::size_t b = 0; b + 1 < starts.size(); ++b) {
            predict(b, 0);
        }
        return;
    }
    work.run(starts.size() - 1, predict);
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

void predict_rows(const PackedForest& forest, const Matrix& x, const Averaging& averaging, const Output& output,
                  Work& work) {
    forest.is_large() ? predict_with<LargeNode>(forest, x, averaging, output, work)
                      : predict_with<SmallNode>(forest, x, averaging, output, work);
}

}  // namespace weald
