// The order in which a node draws its features.

#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "bag.h"
#include "random.h"

namespace weald {

// A set of features. Those that cannot cut a node cannot cut its children either, so the set is handed down.
class FeatureSet {
  public:
    static std::size_t n_words(std::size_t n_features) { return (n_features + 63) / 64; }

    explicit FeatureSet(std::uint64_t* words) : words_(words) {}
    bool has(std::uint32_t feature) const { return (words_[feature / 64] >> (feature % 64) & 1) != 0; }
    void add(std::uint32_t feature) { words_[feature / 64] |= std::uint64_t{1} << (feature % 64); }

  private:
    std::uint64_t* words_;
};

// Shuffles 0 ... n - 1 step by step and, when it ends, back again. With `in_order` it does not shuffle.
class FeatureDraw {
  public:
    explicit FeatureDraw(std::uint32_t n_features) : features_(n_features), swapped_(n_features) {
        std::iota(features_.begin(), features_.end(), 0u);
    }

    void begin(const Address& address, bool in_order) {
        address_ = address;
        in_order_ = in_order;
        n_drawn_ = 0;
    }
    bool is_empty() const { return n_drawn_ == features_.size(); }
    std::uint32_t next() {
        const std::uint32_t v = n_drawn_++;
        if (in_order_) {
            return v;
        }
        if (v % draws_.size() == 0) {
            draws_ = draw_block(address_, v / 2);
        }
        const auto other = v + static_cast<std::uint32_t>(below(draws_[v % draws_.size()], features_.size() - v));
        swapped_[v] = other;
        std::swap(features_[v], features_[other]);
        return features_[v];
    }
    void end() {
        if (in_order_) {
            return;
        }
        for (std::uint32_t v = n_drawn_; v-- > 0;) {
            std::swap(features_[v], features_[swapped_[v]]);
        }
    }

  private:
    std::vector<std::uint32_t> features_;
    std::vector<std::uint32_t> swapped_;
    DrawBlock draws_{};
    Address address_{};
    bool in_order_ = false;
    std::uint32_t n_drawn_ = 0;
};

}  // namespace weald
