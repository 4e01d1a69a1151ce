#include "batch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "row_keys.h"

namespace weald {

namespace {

constexpr std::size_t kLanes = 8;                            // rows of a group
constexpr std::size_t kTreeLanes = 128;                      // trees that one row walks together, at most
constexpr std::size_t kLine = 64;                            // bytes that the cache fetches at once
constexpr std::size_t kTreeBytes = std::size_t{256} << 10;   // trees that are walked together
constexpr std::size_t kSharedBytes = std::size_t{24} << 20;  // keys and sums of all threads, which share a cache
constexpr std::size_t kBlockBytes = std::size_t{6} << 20;    // of a block, at most
constexpr std::size_t kLeastBytes = std::size_t{2} << 20;    // that a block may have, however many threads there are
constexpr std::size_t kLeastRows = 512;                      // of a block
constexpr std::size_t kLeastShare = 8;                       // no block is less than this part of a thread's rows
constexpr std::size_t kFewRows = 4;                          // that are walked one by one
constexpr std::size_t kFewSteps = 16384;                     // rows x trees that are not worth a thread
constexpr std::size_t kLinesOfRow = 4;                       // of a large tree that a row asks for, at least

// ---- Walking

// What a step must think of. Most rows need but the first.
enum class With { kNumbers, kMissing, kCategories };

// How to go on from a node, by its column.
struct Ways {
    std::uint32_t first_in_word;  // the first column of categories
    std::uint32_t first_in_sets;  // the first one whose sets are not inside the nodes
    CategorySetsView sets;

    explicit Ways(const PackedForest& forest)
        : first_in_word(kOwnColumns + forest.head().n_numbers),
          first_in_sets(first_in_word + forest.head().n_in_word),
          sets(forest.sets()) {}
};

template <class Node>
inline bool goes_right_by_category(const Node& node, typename Node::Key key, const Ways& ways) {
    return node.column() < ways.first_in_sets ? (node.cut >> (key & Node::kOthersInWord) & 1) == 0
                                              : !ways.sets.goes_left(node.cut, key);
}

// The slot of the next node: twice the pair, and 1 more where the row goes right.
template <With kWith, class Node>
inline std::uint64_t step(const Node& node, typename Node::Key key, const Ways& ways) {
    bool right = node.cut < key;
    if constexpr (kWith != With::kNumbers) {
        const bool is_missing = key == static_cast<typename Node::Key>(~0ull);
        if constexpr (kWith == With::kCategories) {  // a word may be as large as the key of what is missing
            if (node.column() >= ways.first_in_word) {
                right = is_missing || goes_right_by_category(node, key, ways);
            }
        }
        right = right && !(is_missing && (node.link & kMissingGoLeft) != 0);
    }
    return 2 * std::uint64_t{node.pair()} + right;
}

using Slots = std::array<std::uint64_t, kLanes>;

#if defined(__x86_64__) && defined(__BMI2__) && defined(__GNUC__)
constexpr bool kHasQuickStep = true;

// The step of a lane whose row holds numbers only, in as few instructions as there can be: the sum with carry doubles
// the pair and adds the comparison. Left to itself the compiler needs half as many again.
template <std::size_t kLane, bool kLooks>
inline void quick_step(const SmallNode* nodes, const std::uint32_t* group, std::uint64_t& at, std::uint32_t& arrived) {
    static_assert(kLanes == 8 && SmallNode::kColumnMask == 0xFFC && kLinkBits == 2);
    const std::uint32_t shift = SmallNode::kColumnBits + kLinkBits;
    std::uint64_t link;
    std::uint64_t key;
    asm volatile(
        "movl 4(%[nodes],%[at],8), %k[link]\n\t"
        "movl %k[link], %k[key]\n\t"
        "andl $0xFFC, %k[key]\n\t"
        "movl %c[lane](%[group],%[key],8), %k[key]\n\t"
        ".if %c[looks]\n\t"
        "andl %k[link], %[arrived]\n\t"
        ".endif\n\t"
        "cmpl %k[key], (%[nodes],%[at],8)\n\t"
        "shrxl %[shift], %k[link], %k[at]\n\t"
        "adcq %[at], %[at]"
        : [link] "=&r"(link), [key] "=&r"(key), [at] "+r"(at), [arrived] "+r"(arrived)
        : [nodes] "r"(nodes), [group] "r"(group), [shift] "r"(shift), [lane] "i"(kLane * sizeof(std::uint32_t)),
          [looks] "i"(kLooks)
        : "cc", "memory");
}

template <std::size_t... kLane>
Slots walk_quickly(const SmallNode* nodes, const std::uint32_t* group, std::index_sequence<kLane...>) {
    Slots at{};
    for (std::uint32_t arrived = 0; arrived == 0;) {
        (quick_step<kLane, false>(nodes, group, at[kLane], arrived), ...);
        arrived = kIsLeaf;
        (quick_step<kLane, true>(nodes, group, at[kLane], arrived), ...);
    }
    return at;
}
#else
constexpr bool kHasQuickStep = false;
#endif

// Walks a group of rows to their leaves in a tree.
template <With kWith, class Node>
Slots walk_group(const Node* nodes, const typename Node::Key* group, const Ways& ways) {
    if constexpr (kHasQuickStep && kWith == With::kNumbers && std::is_same_v<Node, SmallNode>) {
        return walk_quickly(nodes, group, std::make_index_sequence<kLanes>());
    }
    Slots at{};
    for (std::uint32_t arrived = 0; arrived == 0;) {
        arrived = kIsLeaf;
#pragma GCC unroll 8
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const Node& node = nodes[at[lane]];
            arrived &= node.link;
            const std::size_t column = std::size_t{node.link & Node::kColumnMask} * (kLanes >> kLinkBits);
            at[lane] = step<kWith>(node, group[column + lane], ways);
        }
    }
    return at;
}

// One row on its way down many trees.
template <class Node>
struct TreeWalks {
    std::array<const Node*, kTreeLanes> trees;
    std::array<std::uint64_t, kTreeLanes> numbers;  // of what the leaves say
    std::array<std::uint32_t, kTreeLanes> lanes;    // which trees are still on their way,
    std::array<std::uint32_t, kTreeLanes> slots;    // and where they are
};

// Walks one row down n trees. All go one step, then all the next: what a walk meets next is on its way from memory
// while the others step. Those that have arrived drop out without a branch.
template <With kWith, class Node>
void walk_trees(TreeWalks<Node>& walks, std::size_t n, const typename Node::Key* row, const Ways& ways) {
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

// ---- What leaves say

class Speaker {
  public:
    Speaker(const PackedForest& forest, bool hard)
        : n_classes_(forest.head().n_classes),
          hard_(hard),
          values_(forest.values().data()),
          classes_(forest.classes().data()),
          mixed_(forest.mixed().data()) {}

    // Asks for what the leaf of that number says.
    void fetch(std::uint64_t number) const {
        if (n_classes_ == 0) {
            __builtin_prefetch(values_ + number);
        }
    }

    // Adds what the leaf of that number says, times the weight of its tree, to the sums of a row.
    void say(std::uint64_t number, double weight, double* sums) const {
        if (n_classes_ == 0) {
            sums[0] += weight * values_[number];
        } else if (number < n_classes_) {
            sums[number] += weight;
        } else {
            say_mixed(mixed_[number - n_classes_], weight, sums);
        }
    }

  private:
    void say_mixed(const MixedLeaf& leaf, double weight, double* sums) const {
        if (hard_) {
            sums[leaf.winner] += weight;
            return;
        }
        for (std::uint32_t j = leaf.begin; j < leaf.end; ++j) {
            sums[classes_[j]] += weight * values_[j];
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

// ---- Rows and trees in blocks

template <class Node>
class Batch {
  public:
    using Key = typename Node::Key;

    Batch(const PackedForest& forest, const Matrix& x, const Verdict& verdict, const Output& output, const Work& work)
        : forest_(forest),
          ways_(forest),
          reader_(x, forest),
          speaker_(forest, verdict.is_hard != 0),
          total_(verdict.total),
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
            with(has_missing, [&]<With kWith>() { add_row<kWith>(keys.data(), sums.data()); });
            store(output_, total_, row, sums);
        }
    }

    // What a thread needs for its blocks, one after the other: memory that is new has to be brought by the system.
    class Room {
      public:
        void make(std::size_t n_keys, std::size_t n_sums, std::size_t n_groups) {
            if (n_keys > n_keys_) {
                keys_ = std::make_unique_for_overwrite<Key[]>(n_keys);
                n_keys_ = n_keys;
            }
            sums_.assign(n_sums, 0.0);
            has_missing_.assign(n_groups, 0);
        }
        Key* keys() { return keys_.get(); }
        std::span<double> sums() { return sums_; }
        std::span<std::uint8_t> has_missing() { return has_missing_; }  // by group

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
        room.make(n_groups * group_keys, (end - begin) * width, n_groups);
        const std::span<Key> keys(room.keys(), n_groups * group_keys);
        const std::span<double> sums = room.sums();
        const std::span<std::uint8_t> has_missing = room.has_missing();
        reader_.clear(keys);
        for (std::size_t place = 0; place < n_groups * kLanes; ++place) {
            const std::size_t group = place / kLanes;
            const std::size_t row = std::min(begin + place, end - 1);  // the last fills up its group
            has_missing[group] |= reader_.read(row, keys.data() + group * group_keys + place % kLanes, kLanes);
        }
        for (std::size_t first = 0, last; first < forest_.n_trees(); first = last) {
            last = end_of_trees(first);
            work_.check();
            fetch(first, last, end - begin);
            for (std::size_t group = 0; group < n_groups; ++group) {
                const std::size_t n = std::min(kLanes, end - begin - group * kLanes);
                const Key* of_group = keys.data() + group * group_keys;
                double* of_rows = sums.data() + group * kLanes * width;
                with(has_missing[group] != 0,
                     [&]<With kWith>() { add_group<kWith>(first, last, of_group, of_rows, n); });
            }
        }
        for (std::size_t row = begin; row < end; ++row) {
            store(output_, total_, row, sums.subspan((row - begin) * width, width));
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

    // Calls use.operator()<kWith>() with all that a step must think of.
    template <class Use>
    void with(bool has_missing, Use&& use) const {
        if (forest_.head().has_categories()) {
            use.template operator()<With::kCategories>();
        } else if (has_missing) {
            use.template operator()<With::kMissing>();
        } else {
            use.template operator()<With::kNumbers>();
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
                speaker_.fetch(walks.numbers[lane]);
            }
            for (std::size_t lane = 0; lane < n; ++lane) {
                speaker_.say(walks.numbers[lane], weight(first + lane), sums);
            }
        }
    }

    template <With kWith>
    void add_group(std::size_t first, std::size_t last, const Key* group, double* sums, std::size_t n) const {
        for (std::size_t t = first; t < last; ++t) {
            const Node* nodes = forest_.tree<Node>(t).data();
            const Slots at = walk_group<kWith>(nodes, group, ways_);
            for (std::size_t lane = 0; lane < n; ++lane) {
                speaker_.say(nodes[at[lane]].cut, weight(t), sums + lane * forest_.width());
            }
        }
    }

    const PackedForest& forest_;
    Ways ways_;
    KeyReader<Node> reader_;
    Speaker speaker_;
    double total_;
    const Output& output_;
    const Work& work_;
};

// Where blocks of rows begin and end. Each is half of what would be left for its thread, or what fits the cache, so
// that no thread has long to wait for the last; but not so few rows that trees are brought for little.
std::vector<std::size_t> cut_rows(std::size_t n_rows, std::size_t row_bytes, std::size_t n_threads) {
    const std::size_t bytes = std::clamp(kSharedBytes / n_threads, kLeastBytes, kBlockBytes);
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
void predict_with(const PackedForest& forest, const Matrix& x, const Verdict& verdict, const Output& output,
                  Work& work) {
    const Batch<Node> batch(forest, x, verdict, output, work);
    if (x.n_rows <= kFewRows) {
        batch.predict_one_by_one(x.n_rows);
        return;
    }
    const std::vector<std::size_t> starts = cut_rows(x.n_rows, batch.row_bytes(), work.n_threads());
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

void predict_rows(const PackedForest& forest, const Matrix& x, const Verdict& verdict, const Output& output,
                  Work& work) {
    forest.is_large() ? predict_with<LargeNode>(forest, x, verdict, output, work)
                      : predict_with<SmallNode>(forest, x, verdict, output, work);
}

}  // namespace weald
