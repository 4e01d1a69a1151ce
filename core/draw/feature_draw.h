// The features that a node considers, and their order.
//
//   FeatureSet     a set of features
//   Interactions   which features may be used together on a path
//   ScaleLine      consecutive weights, and which of them covers a point
//   FeatureDraw    the order in which a node draws them

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/random_block.h"
#include "draw/bag.h"
#include "draw/tie_keys.h"

namespace weald {

// A set of features. Features that cannot cut a node cannot cut its children either, so the set is passed to children.
class FeatureSet {
  public:
    static std::size_t n_words(std::size_t n_features) { return (n_features + 63) / 64; }

    explicit FeatureSet(std::uint64_t* words) : words_(words) {}
    bool has(std::uint32_t feature) const { return (words_[feature / 64] >> (feature % 64) & 1) != 0; }
    void add_all_but(const FeatureSet& others, std::size_t n_words) {
        for (std::size_t i = 0; i < n_words; ++i) {
            words_[i] |= ~others.words_[i];
        }
    }
    void add(std::uint32_t feature) { words_[feature / 64] |= std::uint64_t{1} << (feature % 64); }
    std::uint64_t* words() { return words_; }

  private:
    std::uint64_t* words_;
};

// Groups of features that may be used together on a path, and the maximum number. A feature that may not join a path
// may not join a longer one.
class Interactions {
  public:
    Interactions(std::size_t n_features, std::span<const std::vector<std::uint32_t>> groups, std::uint32_t most)
        : n_words_(FeatureSet::n_words(n_features)), most_(most), groups_(groups.size() * n_words_) {
        for (std::size_t g = 0; g < groups.size(); ++g) {
            for (const std::uint32_t feature : groups[g]) {
                FeatureSet(groups_.data() + g * n_words_).add(feature);
            }
        }
    }

    bool are_free() const { return groups_.empty() && most_ == 0; }

    // Adds to `constant` the features that may not join a path.
    void close(const std::uint64_t* path, std::uint64_t* constant) {
        if (most_ != 0) {
            int n_met = 0;
            for (std::size_t i = 0; i < n_words_; ++i) {
                n_met += std::popcount(path[i]);
            }
            if (n_met >= static_cast<int>(most_)) {
                add_all_but(path, constant);
            }
        }
        if (!groups_.empty()) {
            allowed_.assign(n_words_, 0);
            for (std::size_t begin = 0; begin < groups_.size(); begin += n_words_) {
                add_group(groups_.data() + begin, path);
            }
            add_all_but(allowed_.data(), constant);
        }
    }

  private:
    void add_all_but(const std::uint64_t* kept, std::uint64_t* constant) const {
        for (std::size_t i = 0; i < n_words_; ++i) {
            constant[i] |= ~kept[i];
        }
    }
    // A group counts if it contains all features of the path.
    void add_group(const std::uint64_t* group, const std::uint64_t* path) {
        for (std::size_t i = 0; i < n_words_; ++i) {
            if ((path[i] & ~group[i]) != 0) {
                return;
            }
        }
        for (std::size_t i = 0; i < n_words_; ++i) {
            allowed_[i] |= group[i];
        }
    }

    std::size_t n_words_;
    std::uint32_t most_;
    std::vector<std::uint64_t> groups_;  // sets of features, one after the other
    std::vector<std::uint64_t> allowed_;
};

// A line of consecutive weights. Finding the weight that covers a point takes log2(number of weights) steps:
// sums_[i] adds up the weights before i, as many as its lowest bit states (a Fenwick tree).
class ScaleLine {
  public:
    void append(std::uint64_t scale) {
        std::uint64_t sum = scale;
        const std::size_t i = sums_.size();
        for (std::size_t before = i - 1; before != i - lowest_bit(i); before -= lowest_bit(before)) {
            sum += sums_[before];
        }
        sums_.push_back(sum);
    }
    // Negative differences wrap around.
    void add(std::uint32_t place, std::uint64_t difference) {
        for (std::size_t i = place + 1; i < sums_.size(); i += lowest_bit(i)) {
            sums_[i] += difference;
        }
    }
    std::uint32_t find(std::uint64_t point) const {
        std::size_t place = 0;
        for (std::size_t step = std::bit_floor(sums_.size()); step != 0; step /= 2) {
            if (place + step < sums_.size() && sums_[place + step] <= point) {
                place += step;
                point -= sums_[place];
            }
        }
        return static_cast<std::uint32_t>(place);
    }

  private:
    static std::size_t lowest_bit(std::size_t i) { return i & (~i + 1); }

    std::vector<std::uint64_t> sums_ = {0};
};

// Shuffles the features step by step and undoes the swaps at the end. If all are considered it does not shuffle: the
// order only decides ties, and features come by column while keys decide ties (draw/tie_keys.h).
class FeatureDraw {
  public:
    // `scales` are the feature weights; features of weight 0 are never drawn. Empty: equal weights.
    explicit FeatureDraw(std::uint32_t n_features, std::vector<std::uint64_t> scales = {}, bool ties_by_column = false)
        : scales_(std::move(scales)), ties_by_column_(ties_by_column), swapped_(n_features) {
        for (std::uint32_t f = 0; f < n_features; ++f) {
            if (scales_.empty() || scales_[f] != 0) {
                features_.push_back(f);
            }
            if (!scales_.empty() && scales_[f] != 0) {
                line_.append(scales_[f]);
            }
        }
        scale_ = std::accumulate(scales_.begin(), scales_.end(), std::uint64_t{0});
    }

    // `first_wins`: all features that can cut the node tie. So features come in order of their keys, and the first that
    // can cut it is the best.
    void begin(const Address& address, std::uint32_t max_features, bool first_wins = false) {
        address_ = address;
        keys_.begin(address);
        n_drawn_ = 0;
        n_wanted_ = static_cast<std::uint32_t>(features_.size());
        scale_left_ = scale_;
        order_ = max_features < features_.size() ? Order::shuffled : Order::by_column;
        has_keys_ = order_ == Order::by_column && !ties_by_column_;
        has_rivals_ = false;
        if (has_keys_ && first_wins) {
            order_ = Order::by_key;
            has_keys_ = false;  // no need to compute them
            begin_by_key();
        }
    }
    bool is_empty() const { return n_drawn_ == n_wanted_; }
    std::uint32_t next() {
        const std::uint32_t v = n_drawn_++;
        switch (order_) {
            case Order::by_column: {
                const std::uint32_t feature = features_[v];
                pass_losers();
                return feature;
            }
            case Order::by_key:
                return next_by_key(v);
            default:
                return next_of_shuffle(v);
        }
    }
    void end() {
        if (order_ != Order::shuffled) {
            return;
        }
        for (std::uint32_t v = n_drawn_; v-- > 0;) {
            if (!scales_.empty()) {
                put_back(v, swapped_[v]);
            }
            std::swap(features_[v], features_[swapped_[v]]);
        }
    }

    // Whether a feature wins a tie against an earlier one.
    bool wins_tie(std::uint32_t feature, std::uint32_t earlier) {
        return has_keys_ && keys_.of(feature) < keys_.of(earlier);
    }
    // No cut can be better than this feature's. Only features that win a tie against it are still drawn.
    void keep_rivals_of(std::uint32_t feature) {
        if (!has_keys_) {
            n_wanted_ = n_drawn_;
            return;
        }
        has_rivals_ = true;
        key_to_beat_ = keys_.of(feature);
        pass_losers();
    }

  private:
    enum class Order { shuffled, by_column, by_key };
    static constexpr std::uint32_t kMostSought = 8;  // features that are found one by one; then the others are sorted

    void pass_losers() {
        while (has_rivals_ && n_drawn_ != n_wanted_ && keys_.of(features_[n_drawn_]) >= key_to_beat_) {
            ++n_drawn_;
        }
    }

    std::uint32_t next_of_shuffle(std::uint32_t v) {
        if (v % draws_.size() == 0) {
            draws_ = draw_block(address_, v / 2);
        }
        const std::uint64_t bits = draws_[v % draws_.size()];
        const auto other =
            scales_.empty() ? v + static_cast<std::uint32_t>(below(bits, features_.size() - v)) : pick(v, bits);
        swapped_[v] = other;
        std::swap(features_[v], features_[other]);
        return features_[v];
    }

    // ---- By key

    void begin_by_key() {
        key_of_place_.resize((features_.size() + kPhiloxBlock - 1) / kPhiloxBlock * kPhiloxBlock);
        for (std::size_t place = 0; place < features_.size(); ++place) {
            key_of_place_[place] = keys_.of(features_[place]);
        }
        // The positions after the last feature repeat the first one.
        std::fill(key_of_place_.begin() + static_cast<std::ptrdiff_t>(features_.size()), key_of_place_.end(),
                  key_of_place_.empty() ? 0 : key_of_place_[0]);
        past_ = 0;
    }
    std::uint32_t next_by_key(std::uint32_t v) {
        if (v >= kMostSought) {
            return sorted_next(v);
        }
        const std::uint32_t place = least_place();
        past_ = key_of_place_[place] + 1;
        return features_[place];
    }
    // Keys before `past_` wrap around, and are larger than all others.
    std::uint32_t least_place() const {
        Lanes least = ~Lanes{};
        Lanes at{};
        for (std::size_t place = 0; place < key_of_place_.size(); place += kPhiloxBlock) {
            Lanes keys;
            __builtin_memcpy(&keys, key_of_place_.data() + place, sizeof(keys));
            keys -= past_;
            const auto is_less = keys < least;
            least = is_less ? keys : least;
            at = is_less ? TieKeys::kPlaces + place : at;
        }
        return TieKeys::at_least(least, at);
    }
    std::uint32_t sorted_next(std::uint32_t v) {
        if (v == kMostSought) {
            sorted_.resize(features_.size());
            std::iota(sorted_.begin(), sorted_.end(), 0u);
            std::sort(sorted_.begin(), sorted_.end(),
                      [&](std::uint32_t a, std::uint32_t b) { return key_of_place_[a] < key_of_place_[b]; });
        }
        return features_[sorted_[v]];
    }

    // ---- By weight

    // The position on the line of the remaining weights; the drawn one is removed, and the first of them moves there.
    std::uint32_t pick(std::uint32_t v, std::uint64_t bits) {
        const std::uint32_t other = line_.find(below(bits, scale_left_));
        const std::uint64_t first = scales_[features_[v]];
        const std::uint64_t drawn = scales_[features_[other]];
        line_.add(other, first - drawn);
        line_.add(v, ~first + 1);
        scale_left_ -= drawn;
        return other;
    }
    void put_back(std::uint32_t v, std::uint32_t other) {
        const std::uint64_t first = scales_[features_[other]];
        const std::uint64_t drawn = scales_[features_[v]];
        line_.add(v, first);
        line_.add(other, drawn - first);
    }

    std::vector<std::uint64_t> scales_;  // indexed by feature
    bool ties_by_column_;
    ScaleLine line_;  // positions of the remaining features
    std::uint64_t scale_ = 0;
    std::uint64_t scale_left_ = 0;
    std::vector<std::uint32_t> features_;
    std::vector<std::uint32_t> swapped_;
    DrawBlock draws_{};
    Address address_{};
    Order order_ = Order::shuffled;
    std::uint32_t n_drawn_ = 0;
    std::uint32_t n_wanted_ = 0;
    TieKeys keys_;
    bool has_keys_ = false;    // keys decide ties
    bool has_rivals_ = false;  // draws nothing else
    std::uint64_t key_to_beat_ = 0;
    std::vector<std::uint64_t> key_of_place_;
    std::uint64_t past_ = 0;  // the second to last key
    std::vector<std::uint32_t> sorted_;
};

}  // namespace weald
