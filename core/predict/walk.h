// Walks down a tree of a packed forest, several rows in step, and the predictions of the leaves.
//
//   With         the kinds of values that a step handles: numbers, missing values, categories
//   step         from a node to the next
//   walk_group   walks rows whose keys are adjacent to their leaves
//   walk_rows    walks rows whose keys are not adjacent
//   LeafReader   predictions of leaves
//
// All predictions and out-of-bag votes use this walk. Packed leaves have no indices, so predict/leaves.h has another
// walk, by raw values, for callers that need the index of the leaf.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "predict/packed.h"

namespace weald {

constexpr std::size_t kLanes = 8;  // rows that walk in step
constexpr std::size_t kLine = 64;  // bytes that are loaded into the cache at once

// The kinds of values that a step handles. Most rows need only the first.
enum class With { kNumbers, kMissing, kWords, kWordsMissing, kSets };

constexpr bool has_words(With with) {
    return with == With::kWords || with == With::kWordsMissing || with == With::kSets;
}
constexpr bool has_missing_values(With with) {
    return with == With::kMissing || with == With::kWordsMissing || with == With::kSets;
}

// The kind of a node, by its column.
struct NextNode {
    std::uint32_t first_in_word;  // the first categorical column
    std::uint32_t first_in_sets;  // the first one whose sets are not inside the nodes
    CategorySetsView sets;

    explicit NextNode(const PackedForest& forest)
        : first_in_word(kOwnColumns + forest.head().n_numbers),
          first_in_sets(first_in_word + forest.head().n_in_word),
          sets(forest.sets()) {}
};

// The slot of the next node: twice the pair, plus 1 if the row goes right. Numbers, words and missing values are
// handled without branches, since which of them a node has cannot be predicted.
template <With kWith, class Node>
inline std::uint64_t step(const Node& node, typename Node::Key key, const NextNode& ways) {
    using Key = typename Node::Key;
    constexpr Key kLargest = static_cast<Key>(~0ull);
    Key cut = node.cut;
    if constexpr (has_words(kWith)) {  // the bit of the category becomes the largest cut or 0
        const bool is_left = (cut << (key & Node::kOthersInWord) & (kLargest ^ kLargest >> 1)) != 0;
        cut = node.column() >= ways.first_in_word ? Key{0} - Key{is_left} : cut;
        if constexpr (kWith == With::kSets) {
            if (node.column() >= ways.first_in_sets) {
                cut = ways.sets.goes_left(node.cut, key) ? kLargest : 0;
                key |= 1;  // above 0
            }
        }
    }
    if constexpr (has_missing_values(kWith)) {
        cut = key == kLargest ? Key{0} - Key{node.link & kMissingGoLeft} : cut;
    }
    return 2 * std::uint64_t{node.pair()} + (cut < key);
}

using Slots = std::array<std::uint64_t, kLanes>;

#if defined(__x86_64__) && defined(__BMI2__) && defined(__GNUC__)
constexpr bool is_quick(With with) {
    return with != With::kSets;
}

// The step of a lane in the fewest instructions: add with carry doubles the pair and adds the comparison. The compiler
// would use half as many again. `keys` are those of a group or, for rows that are not adjacent, the positions where
// each begins. `first_in_word` is shifted like the column in a link.
template <With kWith, std::size_t kLane, bool kLooks, bool kApart>
inline void quick_step(const SmallNode* nodes, const void* keys, std::uint32_t first_in_word, std::uint64_t& at,
                       std::uint32_t& arrived) {
    static_assert(kLanes == 8 && SmallNode::kColumnMask == 0xFFC && kLinkBits == 2 && kMissingGoLeft == 1);
    std::uint64_t link;
    std::uint64_t key;
    if constexpr (kWith == With::kNumbers) {
        const std::uint32_t shift = SmallNode::kColumnBits + kLinkBits;
        asm volatile(
            "movl 4(%[nodes],%[at],8), %k[link]\n\t"
            "movl %k[link], %k[key]\n\t"
            "andl $0xFFC, %k[key]\n\t"
            ".if %c[apart]\n\t"
            "addq %c[lane](%[keys]), %[key]\n\t"
            "movl (%[key]), %k[key]\n\t"
            ".else\n\t"
            "movl %c[lane](%[keys],%[key],8), %k[key]\n\t"
            ".endif\n\t"
            ".if %c[looks]\n\t"
            "andl %k[link], %[arrived]\n\t"
            ".endif\n\t"
            "cmpl %k[key], (%[nodes],%[at],8)\n\t"
            "shrxl %[shift], %k[link], %k[at]\n\t"
            "adcq %[at], %[at]"
            : [link] "=&r"(link), [key] "=&r"(key), [at] "+r"(at), [arrived] "+r"(arrived)
            : [nodes] "r"(nodes), [keys] "r"(keys), [shift] "r"(shift),
              [lane] "i"(kLane * (kApart ? sizeof(const std::uint32_t*) : sizeof(std::uint32_t))), [looks] "i"(kLooks),
              [apart] "i"(kApart)
            : "cc", "memory");
    } else {
        std::uint32_t cut;
        std::uint32_t other;
        asm volatile(
            "movl 4(%[nodes],%[at],8), %k[link]\n\t"
            "movl (%[nodes],%[at],8), %[cut]\n\t"
            ".if %c[looks]\n\t"
            "andl %k[link], %[arrived]\n\t"
            ".endif\n\t"
            "movl %k[link], %k[at]\n\t"
            "andl $0xFFC, %k[link]\n\t"
            ".if %c[apart]\n\t"
            "movq %c[lane](%[keys]), %[key]\n\t"
            "movl (%[key],%[link]), %k[key]\n\t"
            ".else\n\t"
            "movl %c[lane](%[keys],%[link],8), %k[key]\n\t"
            ".endif\n\t"
            ".if %c[words]\n\t"
            "shlxl %k[key], %[cut], %[other]\n\t"
            "sarl $31, %[other]\n\t"
            "cmpl %[first], %k[link]\n\t"
            "cmovael %[other], %[cut]\n\t"
            ".endif\n\t"
            ".if %c[missing]\n\t"
            "movl %k[at], %[other]\n\t"
            "andl $1, %[other]\n\t"
            "negl %[other]\n\t"
            "cmpl $-1, %k[key]\n\t"
            "cmovel %[other], %[cut]\n\t"
            ".endif\n\t"
            "shrl $12, %k[at]\n\t"
            "cmpl %k[key], %[cut]\n\t"
            "adcq %[at], %[at]"
            : [link] "=&r"(link), [key] "=&r"(key), [cut] "=&r"(cut), [other] "=&r"(other), [at] "+r"(at),
              [arrived] "+r"(arrived)
            : [nodes] "r"(nodes), [keys] "r"(keys), [first] "rm"(first_in_word),
              [lane] "i"(kLane * (kApart ? sizeof(const std::uint32_t*) : sizeof(std::uint32_t))), [looks] "i"(kLooks),
              [apart] "i"(kApart), [words] "i"(has_words(kWith)), [missing] "i"(has_missing_values(kWith))
            : "cc", "memory");
    }
}

template <With kWith, bool kApart, std::size_t... kLane>
inline Slots walk_quickly(const SmallNode* nodes, const void* keys, std::uint32_t first_in_word,
                          std::index_sequence<kLane...>) {
    Slots at{};
    for (std::uint32_t arrived = 0; arrived == 0;) {
        (quick_step<kWith, kLane, false, kApart>(nodes, keys, first_in_word, at[kLane], arrived), ...);
        arrived = kIsLeaf;
        (quick_step<kWith, kLane, true, kApart>(nodes, keys, first_in_word, at[kLane], arrived), ...);
    }
    return at;
}
#else
constexpr bool is_quick(With) {
    return false;
}
#endif

// Walks eight rows to their leaves in a tree; key_of_lane(lane, column) returns a key, and `keys` is for the fast step.
template <With kWith, bool kApart, class Node, class KeyOfLane>
inline Slots walk_lanes(const Node* nodes, const void* keys, const NextNode& ways, KeyOfLane&& key_of_lane) {
    if constexpr (is_quick(kWith) && std::is_same_v<Node, SmallNode>) {
        return walk_quickly<kWith, kApart>(nodes, keys, ways.first_in_word << kLinkBits,
                                           std::make_index_sequence<kLanes>());
    }
    Slots at{};
    for (std::uint32_t arrived = 0; arrived == 0;) {
        arrived = kIsLeaf;
#pragma GCC unroll 8
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const Node& node = nodes[at[lane]];
            arrived &= node.link;
            const std::size_t column = (node.link & Node::kColumnMask) >> kLinkBits;
            at[lane] = step<kWith>(node, key_of_lane(lane, column), ways);
        }
    }
    return at;
}

// Rows whose keys are stored side by side, column by column.
template <With kWith, class Node>
Slots walk_group(const Node* nodes, const typename Node::Key* group, const NextNode& ways) {
    return walk_lanes<kWith, false>(
        nodes, group, ways, [&](std::size_t lane, std::size_t column) { return group[column * kLanes + lane]; });
}

// Rows whose keys are not adjacent.
template <With kWith, class Node>
Slots walk_rows(const Node* nodes, const std::array<const typename Node::Key*, kLanes>& rows, const NextNode& ways) {
    return walk_lanes<kWith, true>(nodes, rows.data(), ways,
                                   [&](std::size_t lane, std::size_t column) { return rows[lane][column]; });
}

// Calls use.operator()<kWith>() with the kinds of values that a step handles.
template <class Use>
void with_needs(const PackedForest& forest, bool has_missing, Use&& use) {
    const PackedHead& head = forest.head();
    if (head.n_numbers + head.n_in_word < head.n_columns) {
        use.template operator()<With::kSets>();
    } else if (head.has_categories()) {
        has_missing ? use.template operator()<With::kWordsMissing>() : use.template operator()<With::kWords>();
    } else {
        has_missing ? use.template operator()<With::kMissing>() : use.template operator()<With::kNumbers>();
    }
}

class LeafReader {
  public:
    LeafReader(const PackedForest& forest, bool hard)
        : task_(forest.head().task()),
          n_classes_(forest.head().n_classes),
          hard_(hard),
          values_(forest.values().data()),
          classes_(forest.classes().data()),
          mixed_(forest.mixed().data()) {}

    // Prefetches the prediction of the leaf with this index.
    void fetch(std::uint64_t number) const {
        if (task_ == Task::regression) {
            __builtin_prefetch(values_ + number);
        }
    }

    // Whether the leaf with this index has a vote.
    bool has_vote(std::uint64_t number) const {
        return task_ == Task::regression || number < n_classes_ || mixed_[number - n_classes_].has_vote();
    }
    // Adds the prediction of the leaf with this index, times the weight of its tree, to the sums of a row.
    void add(std::uint64_t number, double weight, double* sums) const {
        if (task_ == Task::regression) {
            sums[0] += weight * values_[number];
        } else if (number < n_classes_) {
            sums[number] += weight;
        } else {
            add_mixed(mixed_[number - n_classes_], weight, sums);
        }
    }

  private:
    void add_mixed(const MixedLeaf& leaf, double weight, double* sums) const {
        if (hard_ && leaf.has_vote()) {
            sums[leaf.winner] += weight;
            return;
        }
        for (std::uint32_t j = leaf.begin; j < leaf.end; ++j) {
            sums[classes_[j]] += weight * values_[j];
        }
    }

    Task task_;
    std::uint32_t n_classes_;
    bool hard_;
    const double* values_;
    const std::uint32_t* classes_;
    const MixedLeaf* mixed_;
};

}  // namespace weald
