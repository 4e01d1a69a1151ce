// A subtree of few rows whose targets are numbers, grown at once.
//
// Most nodes of a tree are this small, and what they cost is what is done once for a node: so little is left of it here
// as can be. The codes of all features are copied once, row by row. A row keeps its place, and a node is a set of
// places, a bit each: to divide a node is to divide its bits. Features are searched side by side as in search_lanes.h:
// sorted keys are code << 16 | place << 8 | count, near gains follow, and the few cuts that could be the best are
// scored exactly. Two features that divide the rows in the same way have the same score, which need not be computed
// again.
//
//   FewNodes       nodes in pre-order, before they are appended to a tree
//   SmallSubtree   grows them

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "bag.h"
#include "block.h"
#include "codes.h"
#include "growth.h"
#include "model_numbers.h"
#include "node.h"
#include "search_lanes.h"
#include "sibling_draws.h"
#include "tree_parts.h"
#include "tree_rows.h"
#include "vectors.h"

namespace weald {

// Whether there is a quick way for the small subtrees of a model.
template <class Model>
inline constexpr bool kHasSmallSubtrees = std::is_same_v<Model, NumberModel<CountedNumbers, SquaredError>>;

struct NoSmallSubtree {
    NoSmallSubtree(const Codes&, const Growth&) {}
};

struct FewNodes {
    // Without wide vectors, sorting more of them takes longer than what is saved.
    static constexpr std::uint32_t kMostRows = lanes::kLanes == 8 ? 32 : 16;
    static_assert(kMostRows <= CodeReader::kMostByRow);
    static constexpr std::uint32_t kMost = 2 * kMostRows - 1;

    std::uint32_t n = 0;
    std::array<std::int32_t, kMost> feature;
    std::array<Beside, kMost> beside;
    std::array<std::int32_t, kMost> right;  // counted from the first of these nodes; 0 in leaves
    std::array<std::uint8_t, kMost> flags;
    std::array<std::uint32_t, kMost> size;
    std::array<double, kMost> decrease;
    std::array<CountedNumbers::Cell, kMost> totals;
    std::array<Int128, kMost> squares;  // of leaves
};

class SmallSubtree {
  public:
    using Labels = CountedNumbers;
    using Cell = Labels::Cell;
    using Tree = PlantedTree<Labels::Payload>;
    using Scorer = NumberScorer<Labels, SquaredError>;
    static constexpr std::uint32_t kMostRows = FewNodes::kMostRows;

    SmallSubtree(const Codes& codes, const Growth& growth)
        : growth_(growth),
          n_features_(static_cast<std::uint32_t>(codes.columns.size())),
          draws_(n_features_),
          are_possible_(can_be_grown(codes, growth)) {}

    // Grows the subtree of a node; `dead` is what cannot cut it. Nothing: it is not fit for this.
    const FewNodes* grow(const Labels& labels, Tree& tree, const Node& node, const CodeReader& reader,
                         FeatureSet dead) {
        const std::uint32_t n = node.n_rows();
        if (!are_possible_ || n > kMostRows || !tree.limits.admit_all() || !take(labels, tree.payloads(node), n) ||
            (n > 1 && !reader.copy_by_row(node.begin, tree.ids(node), dead, codes_.data(), kRowLength))) {
            return nullptr;
        }
        tree_ = &tree;
        nodes_.n = 0;
        Waiting root{.rows = ~0u >> (32 - n), .depth = node.depth, .id = node.id, .dead = dead.words()[0], .total = {}};
        for (std::uint32_t i = 0; i < n; ++i) {
            root.total += {sums_[i], static_cast<std::int64_t>(low_[i] & 0xFF)};
        }
        if (n > 1) {
            root.steps = draws_.draw(address(0), {node.id, node.id})[0];
        }
        n_waiting_ = 0;
        grow_from(root);
        while (n_waiting_ != 0) {
            const Waiting next = waiting_[--n_waiting_];
            nodes_.right[next.parent] = static_cast<std::int32_t>(nodes_.n);
            grow_from(next);
        }
        return &nodes_;
    }

  private:
    using Keys = lanes::Keys;
    using Floats = lanes::Floats;
    static constexpr std::size_t kLanes = lanes::kLanes;
    static constexpr std::size_t kRowLength = FewDraw::kMostFeatures;
    static constexpr float kNone = -std::numeric_limits<float>::infinity();
    static constexpr double kScale = 0x1p-20;  // of targets: squares of sums, weighed, neither overflow nor vanish

    typedef std::int64_t Words __attribute__((vector_size(64)));
    typedef double Doubles __attribute__((vector_size(64)));
    static constexpr std::size_t kAtOnce = 8;  // rows, in one vector

    struct Waiting {
        std::uint32_t rows;
        std::uint32_t parent = 0;
        std::int32_t depth;
        std::uint64_t id;
        std::uint64_t dead;
        Cell total;
        FirstSteps steps = {};
    };

    struct Cut {
        double score = kNoScore;
        std::uint32_t parts = 0;   // the rows of the side that has the first row
        std::uint32_t number = 0;  // of the feature, in the order of the draw
        std::uint32_t feature = 0;
        std::uint32_t rows_left = 0;
        Cell left;
        Beside beside;
    };

    static bool can_be_grown(const Codes& codes, const Growth& growth) {
        return codes.columns.size() <= FewDraw::kMostFeatures && !growth.random_cuts && growth.monotonic.empty() &&
               growth.interaction_groups.empty() && growth.max_interacting == 0 && growth.feature_weights.empty() &&
               growth.max_leaf_nodes == 0 && growth.min_impurity_decrease <= 0 && codes.filled.is_empty() &&
               std::all_of(codes.columns.begin(), codes.columns.end(),
                           [](const Column& column) { return column.width <= 2 && !column.is_categorical; });
    }

    Address address(std::uint64_t id) const { return {tree_->seed, id, tree_->number, kPurposeFeatures}; }

    // Takes in the targets of a subtree's rows. Says whether counts fit a key.
    bool take(const Labels& labels, const Labels::Payload* payloads, std::uint32_t n) {
        std::int64_t most = 0;
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::int64_t count = labels.count(payloads[i]);
            most |= count;
            numbers_[i] = labels.number(payloads[i]);
            sums_[i] = numbers_[i] * count;
            counts_[i] = static_cast<double>(count);
            low_[i] = i << 8 | static_cast<std::uint32_t>(count);
        }
        return most <= 0xFF;
    }

    // ---- From node to node

    // Goes left until there is a leaf; right children wait.
    void grow_from(Waiting node) {
        while (true) {
            Cut cut;
            const Scorer scorer(node.total, tree_->limits);
            if (node.total.weight < growth_.min_samples_split || node.depth == growth_.max_depth ||
                !find(node, scorer, cut)) {
                write_leaf(node);
                return;
            }
            const std::uint32_t number = write_split(node, scorer, cut);
            const std::uint32_t rows_right = node.rows ^ cut.rows_left;
            Waiting& right = waiting_[n_waiting_++];
            right = {.rows = rows_right,
                     .parent = number,
                     .depth = node.depth + 1,
                     .id = child_id(node.id, 1),
                     .dead = node.dead,
                     .total = node.total - cut.left};
            node = {.rows = cut.rows_left,
                    .depth = node.depth + 1,
                    .id = child_id(node.id, 0),
                    .dead = node.dead,
                    .total = cut.left};
            if (is_more_than_one(node.rows) || is_more_than_one(rows_right)) {
                const auto steps = draws_.draw(address(0), {node.id, right.id});
                node.steps = steps[0];
                right.steps = steps[1];
            }
        }
    }

    static bool is_more_than_one(std::uint32_t rows) { return (rows & (rows - 1)) != 0; }

    std::uint32_t write(const Cell& total) {
        const std::uint32_t number = nodes_.n++;
        nodes_.right[number] = 0;
        nodes_.size[number] = static_cast<std::uint32_t>(total.weight);
        nodes_.totals[number] = total;
        return number;
    }
    void write_leaf(const Waiting& node) {
        const std::uint32_t number = write(node.total);
        Int128 squares = 0;
        for (std::uint32_t rows = node.rows; rows != 0; rows &= rows - 1) {
            const auto i = static_cast<std::size_t>(std::countr_zero(rows));
            squares += Int128{numbers_[i]} * sums_[i];
        }
        nodes_.feature[number] = -1;
        nodes_.beside[number] = {};
        nodes_.flags[number] = 0;
        nodes_.decrease[number] = 0;
        nodes_.squares[number] = squares;
    }
    std::uint32_t write_split(const Waiting& node, const Scorer& scorer, const Cut& cut) {
        const std::uint32_t number = write(node.total);
        nodes_.feature[number] = static_cast<std::int32_t>(cut.feature);
        nodes_.beside[number] = cut.beside;
        nodes_.flags[number] = scorer.balance(cut.left) >= 0 ? kMissingLeft : 0;
        nodes_.decrease[number] = std::max(0.0, cut.score - scorer.undivided()) / tree_->root_weight;
        nodes_.squares[number] = 0;
        return number;
    }

    // ---- One node

    // Features that are found to be constant are added to node.dead.
    bool find(Waiting& node, const Scorer& scorer, Cut& cut) {
        const int n = std::popcount(node.rows);
        if (n <= 2) {
            return n == 2 && cut_two(node, scorer, cut);
        }
        const double squares = center(node, scorer.mean());
        if (squares == 0) {
            return false;  // all targets are the same
        }
        // Each of up to 32 additions of float may be off by 2^-24 of what is added up; the less weight a side has, the
        // more that counts.
        const auto slack =
            static_cast<float>(squares * std::sqrt(static_cast<double>(node.total.weight)) * 2 * kNearness);
        const Address at = address(node.id);
        FewDraw draw(at, node.steps, n_features_, growth_.max_features >= n_features_);
        std::uint32_t n_looked_at = 0;
        for (std::uint32_t n_before = 0; n_looked_at < growth_.max_features; n_before += kLanes) {
            const auto wanted = std::min<std::uint32_t>(kLanes, growth_.max_features - n_looked_at);
            std::uint64_t features = 0;  // a byte each
            std::uint32_t n_lanes = 0;
            while (n_lanes < wanted && !draw.is_empty()) {
                const std::uint64_t feature = draw.next();
                if ((node.dead >> feature & 1) == 0) {
                    features |= feature << (8 * n_lanes++);
                }
            }
            if (n_lanes == 0) {
                break;
            }
            fill_keys(node.rows, features);
            const std::uint32_t all = (1u << n_lanes) - 1;
            const std::uint32_t admissible =
                all & search<3, 4, 6, 8, 12, 16, 24, 32>(static_cast<std::uint32_t>(n), node, scorer,
                                                         {features, n_before, all, slack}, cut);
            n_looked_at += static_cast<std::uint32_t>(std::popcount(admissible));
            for (std::uint32_t constant = all ^ admissible; constant != 0; constant &= constant - 1) {
                node.dead |= std::uint64_t{1}
                             << feature_of(features, static_cast<std::uint32_t>(std::countr_zero(constant)));
            }
        }
        return cut.score != kNoScore;
    }

    static std::uint32_t feature_of(std::uint64_t features, std::uint32_t lane) {
        return features >> (8 * lane) & 0xFF;
    }

    // Two rows can be divided in one way, by the first feature that tells them apart.
    bool cut_two(const Waiting& node, const Scorer& scorer, Cut& cut) {
        const auto first = static_cast<std::uint32_t>(std::countr_zero(node.rows));
        const auto second = static_cast<std::uint32_t>(std::bit_width(node.rows)) - 1;
        if (numbers_[first] == numbers_[second]) {
            return false;
        }
        const Address at = address(node.id);
        FewDraw draw(at, node.steps, n_features_, growth_.max_features >= n_features_);
        while (!draw.is_empty()) {
            const std::uint32_t feature = draw.next();
            const std::uint32_t code = codes_[first * kRowLength + feature];
            const std::uint32_t other = codes_[second * kRowLength + feature];
            if ((node.dead >> feature & 1) == 0 && code != other) {
                const std::uint32_t low = code < other ? first : second;
                cut.feature = feature;
                cut.rows_left = 1u << low;
                cut.left = {sums_[low], static_cast<std::int64_t>(low_[low] & 0xFF)};
                cut.score = scorer.score(cut.left);
                cut.beside = {std::min(code, other), std::max(code, other)};
                return true;
            }
        }
        return false;
    }

    // Measures targets from the node's mean, and returns the sum of their squares.
    double center(const Waiting& node, std::int64_t mean) {
        const auto above = static_cast<double>(node.total.sum - mean * node.total.weight);
        const double rest = above / static_cast<double>(node.total.weight);
        Doubles squares{};
        for (std::size_t begin = 0; begin < kMostRows; begin += kAtOnce) {
            const auto words = vectors::load<Words>(numbers_.data() + begin) - mean;
            const auto counts = vectors::load<Doubles>(counts_.data() + begin);
            const Doubles distances = (__builtin_convertvector(words, Doubles) - rest) * kScale;
            const Doubles sums = distances * counts;
            const Words is_here = (node.rows >> (kPlaces + static_cast<std::int64_t>(begin)) & 1) != 0;
            squares += is_here ? sums * distances : Doubles{};
            typedef float Narrow __attribute__((vector_size(32)));
            vectors::store(__builtin_convertvector(sums, Narrow), near_sums_.data() + begin);
        }
        return ((squares[0] + squares[1]) + (squares[2] + squares[3])) +
               ((squares[4] + squares[5]) + (squares[6] + squares[7]));
    }

    static constexpr Words kPlaces = {0, 1, 2, 3, 4, 5, 6, 7};

    // Keys of the node's rows by the features of each lane.
    void fill_keys(std::uint32_t rows, std::uint64_t features) {
#if defined(__AVX512BW__)
        // A code of each feature to the upper half of its lane: one instruction, whatever the features.
        const __m128i bytes = _mm_cvtsi64_si128(static_cast<long long>(features));
        const __m512i from = _mm512_maskz_slli_epi32(0xFF, _mm512_maskz_cvtepu8_epi32(0xFF, bytes), 16);
        typedef std::uint32_t Wide __attribute__((vector_size(64)));
        constexpr std::size_t kInVector = 32;
        for (Keys* to = keys_.data(); rows != 0; rows &= rows - 1, ++to) {
            const auto i = static_cast<std::size_t>(std::countr_zero(rows));
            const std::uint16_t* row = codes_.data() + i * kRowLength;
            const __m512i first = _mm512_load_si512(row);
            const Wide codes =
                Wide(n_features_ <= kInVector ? _mm512_maskz_permutexvar_epi16(0xAAAAAAAA, from, first)
                                              : _mm512_maskz_permutex2var_epi16(0xAAAAAAAA, first, from,
                                                                                _mm512_load_si512(row + kInVector)));
            *to = __builtin_shufflevector(codes, codes, 0, 1, 2, 3, 4, 5, 6, 7) | low_[i];
        }
#else
        std::array<std::uint32_t, kLanes> feature;
        for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
            feature[lane] = feature_of(features, lane);
        }
        for (Keys* to = keys_.data(); rows != 0; rows &= rows - 1, ++to) {
            const auto i = static_cast<std::size_t>(std::countr_zero(rows));
            const std::uint16_t* row = codes_.data() + i * kRowLength;
            const Keys codes = [&]<std::size_t... I>(std::index_sequence<I...>) {
                return Keys{row[feature[I]]...};
            }(std::make_index_sequence<kLanes>());
            *to = codes << 16 | low_[i];
        }
#endif
    }

    // ---- Many features at once

    struct Looks {
        std::uint64_t features;
        std::uint32_t n_before;  // lanes before these
        std::uint32_t all;       // those that have a feature, a bit each
        float slack;
    };

    // By a network for at least as many rows as there are. Returns which lanes can cut the node.
    template <std::size_t N, std::size_t... More>
    std::uint32_t search(std::uint32_t n, const Waiting& node, const Scorer& scorer, const Looks& looks, Cut& best) {
        if constexpr (sizeof...(More) != 0) {
            if (n > N) {
                return search<More...>(n, node, scorer, looks, best);
            }
        }
        if constexpr (N > kMostRows) {
            __builtin_unreachable();
        } else {
            return search_sorted<N>(n, node, scorer, looks, best);
        }
    }

    template <std::size_t N>
    std::uint32_t search_sorted(std::uint32_t n, const Waiting& node, const Scorer& scorer, const Looks& looks,
                                Cut& best) {
        for (std::size_t i = 0; i < N; ++i) {
            keys_[i] = i < n ? keys_[i] : ~Keys{};
        }
        lanes::sort<N>(keys_.data());
        const Floats tops = gain_all<N>(static_cast<float>(node.total.weight));
        const std::uint32_t admissible = looks.all & vectors::bits_of(tops > kNone);
        if (admissible == 0) {
            return 0;
        }
        float top = kNone;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            top = (looks.all >> lane & 1) != 0 ? std::max(top, tops[lane]) : top;
        }
        if (best.score != kNoScore) {
            top = std::max(top, static_cast<float>((best.score - scorer.undivided()) * (kScale * kScale)));
        }
        const float floor = top - std::abs(top) * static_cast<float>(kNearness) - looks.slack;
        offer_near<N>(node, scorer, looks, floor, best);
        return admissible;
    }

    // Near gains of the cuts after each place, and the greatest of each lane. Behind the last row nothing is left.
    template <std::size_t N>
    Floats gain_all(float weight) {
        Floats left{};
        Floats sum{};
        Keys rows{};
        Floats tops = Floats{} + kNone;
#pragma GCC unroll 16
        for (std::size_t i = 0; i + 1 < N; ++i) {
            const Keys keys = keys_[i];
            left += __builtin_convertvector(keys & 0xFF, Floats);
            sum += lanes::fetch<kMostRows>(near_sums_.data(), keys >> 8);
            rows |= (Keys{} + 1) << (keys >> 8 & (kMostRows - 1));
            const auto is_cut = ((keys ^ keys_[i + 1]) >> 16 != 0) & (left < weight);
            const Floats gains = is_cut ? sum * sum * weight / (left * (weight - left)) : Floats{} + kNone;
            tops = gains > tops ? gains : tops;
            gains_[i] = gains;
            lefts_[i] = left;
            rows_left_[i] = rows;
        }
        return tops;
    }

    // Scores the cuts that could be the best exactly.
    template <std::size_t N>
    void offer_near(const Waiting& node, const Scorer& scorer, const Looks& looks, float floor, Cut& best) {
        constexpr std::size_t kPlacesOfWord = 64 / kLanes;
        for (std::size_t begin = 0; begin + 1 < N; begin += kPlacesOfWord) {
            std::uint64_t near = 0;  // a bit for each lane of each place
            for (std::size_t i = begin; i < std::min(begin + kPlacesOfWord, N - 1); ++i) {
                const std::uint64_t bits = vectors::bits_of(gains_[i] >= floor) & looks.all;
                near |= bits << (kLanes * (i - begin));
            }
            for (; near != 0; near &= near - 1) {
                const auto bit = static_cast<std::uint32_t>(std::countr_zero(near));
                offer(node, scorer, looks, begin + bit / kLanes, bit % kLanes, best);
            }
        }
    }

    // Places of a lane come in their order; lanes do not.
    void offer(const Waiting& node, const Scorer& scorer, const Looks& looks, std::size_t place, std::uint32_t lane,
               Cut& best) {
        const std::uint32_t number = looks.n_before + lane;
        const std::uint32_t rows_left = rows_left_[place][lane];
        const std::uint32_t first = node.rows & (~node.rows + 1);
        const std::uint32_t parts = (rows_left & first) != 0 ? rows_left : node.rows ^ rows_left;
        Cell left;
        if (parts == best.parts) {
            if (number >= best.number) {
                return;
            }
            left = rows_left == best.rows_left ? best.left : scorer.rest(best.left);
        } else {
            left = {sum_of(rows_left), static_cast<std::int64_t>(lefts_[place][lane])};
            const double score = scorer.score(left);
            if (score < best.score || (score == best.score && !wins_tie(scorer, left, number, best))) {
                return;
            }
            best.score = score;
        }
        best.parts = parts;
        best.number = number;
        best.feature = feature_of(looks.features, lane);
        best.rows_left = rows_left;
        best.left = left;
        best.beside = {keys_[place][lane] >> 16, keys_[place + 1][lane] >> 16};
    }

    // The feature drawn earlier, then the more even cut, then the earlier one.
    static bool wins_tie(const Scorer& scorer, const Cell& left, std::uint32_t number, const Cut& best) {
        return number != best.number ? number < best.number
                                     : std::abs(scorer.balance(left)) < std::abs(scorer.balance(best.left));
    }

    std::int64_t sum_of(std::uint32_t rows) const {
        Words sums{};
        for (std::size_t begin = 0; begin < kMostRows; begin += kAtOnce) {
            const Words is_here = (rows >> (kPlaces + static_cast<std::int64_t>(begin)) & 1) != 0;
            sums += vectors::load<Words>(sums_.data() + begin) & is_here;
        }
        return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    }

    const Growth& growth_;
    std::uint32_t n_features_;
    SiblingDraws draws_;
    bool are_possible_;
    Tree* tree_ = nullptr;
    FewNodes nodes_;
    std::uint32_t n_waiting_ = 0;
    std::array<Waiting, kMostRows> waiting_;

    // By place.
    alignas(64) std::array<std::uint16_t, kMostRows * kRowLength> codes_;  // a row's one after the other
    alignas(64) std::array<std::int64_t, kMostRows> numbers_{};            // the targets
    alignas(64) std::array<std::int64_t, kMostRows> sums_{};               // the same times counts
    alignas(64) std::array<double, kMostRows> counts_{};
    alignas(64) std::array<std::uint32_t, kMostRows> low_{};  // of keys: place << 8 | count
    alignas(64) std::array<float, kMostRows> near_sums_{};    // about the node's mean, scaled

    // By place in the order of each lane.
    alignas(64) std::array<Keys, kMostRows> keys_;
    alignas(64) std::array<Floats, kMostRows> gains_;
    alignas(64) std::array<Floats, kMostRows> lefts_;  // weight on the left
    alignas(64) std::array<Keys, kMostRows> rows_left_;
};

}  // namespace weald
