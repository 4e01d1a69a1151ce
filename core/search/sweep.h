// A sweep: rows of many classes move from the right side to the left. Class weights of both sides, and the score after
// each move.
//
// Every criterion works with the plain Sweep, which computes its score from all classes at every cut. Specializations
// update the score in fewer steps.

#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "score/criteria.h"

namespace weald {

using ManyWeights = ClassWeights<std::span<const std::uint64_t>>;

// Class weights of a node, only of its classes.
struct ClassTotals {
    std::vector<std::uint32_t> slot_of_class;  // valid for the classes of the node
    std::vector<std::uint32_t> classes;        // by slot, ascending
    std::vector<std::uint64_t> weights;        // indexed by slot
    std::uint64_t weight = 0;
    std::int64_t size = 0;
};

// F of the weight that a class has on each side.
struct SideTerms {
    double left;
    double right;
};

// Memory that sweeps reuse.
struct SweepScratch {
    std::vector<SideTerms> terms;
    std::vector<std::uint64_t> left;
    std::vector<std::uint64_t> right;
};

class SweepSides {
  public:
    SweepSides(const ClassTotals& totals, SweepScratch& scratch) : right_weight_(totals.weight) {
        scratch.left.assign(totals.weights.size(), 0);
        scratch.right = totals.weights;
        left_ = scratch.left;
        right_ = scratch.right;
    }

    std::uint64_t left_weight() const { return left_weight_; }
    std::uint64_t right_weight() const { return right_weight_; }

    template <class Criterion>
    double exact() const {
        return Criterion::term(ManyWeights{left_, left_weight_}) + Criterion::term(ManyWeights{right_, right_weight_});
    }

  protected:
    void move_weight(std::uint32_t slot, std::uint64_t weight) {
        left_[slot] += weight;
        right_[slot] -= weight;
        left_weight_ += weight;
        right_weight_ -= weight;
    }

    std::span<std::uint64_t> left_;
    std::span<std::uint64_t> right_;
    std::uint64_t left_weight_ = 0;
    std::uint64_t right_weight_;
};

template <class Criterion>
class Sweep : public SweepSides {
  public:
    using SweepSides::SweepSides;
    void move(std::uint32_t slot, std::uint64_t weight) { move_weight(slot, weight); }
    double score() const { return exact<Criterion>(); }
    double exact_score() const { return exact<Criterion>(); }
    double slack() const { return 0; }
};

// (c + w)^2 = c^2 + w (2 c + w): one step per row, in integers and therefore exact.
template <>
class Sweep<Gini> : public SweepSides {
  public:
    Sweep(const ClassTotals& totals, SweepScratch& scratch) : SweepSides(totals, scratch) {
        for (const std::uint64_t c : totals.weights) {
            right_squares_ += static_cast<UInt128>(c) * c;
        }
    }
    void move(std::uint32_t slot, std::uint64_t weight) {
        left_squares_ += static_cast<UInt128>(weight) * (2 * left_[slot] + weight);
        right_squares_ -= static_cast<UInt128>(weight) * (2 * right_[slot] - weight);
        move_weight(slot, weight);
    }
    double score() const {
        return to_double(left_squares_) / static_cast<double>(left_weight_) +
               to_double(right_squares_) / static_cast<double>(right_weight_);
    }
    double exact_score() const { return score(); }
    double slack() const { return 0; }

  private:
    static double to_double(UInt128 x) {
        return x >> 63 == 0 ? static_cast<double>(static_cast<std::int64_t>(x)) : static_cast<double>(x);
    }
    UInt128 left_squares_ = 0;
    UInt128 right_squares_ = 0;
};

// The sums of F are updated in floating point: accurate enough to find which cuts need the exact score.
template <>
class Sweep<Entropy> : public SweepSides {
  public:
    Sweep(const ClassTotals& totals, SweepScratch& scratch) : SweepSides(totals, scratch) {
        scratch.terms.resize(totals.weights.size());
        terms_ = scratch.terms;
        for (std::size_t k = 0; k < terms_.size(); ++k) {
            terms_[k] = {0.0, x_log2_x(totals.weights[k])};
            right_sum_ += terms_[k].right;
        }
        magnitude_ = x_log2_x(totals.weight) * 0x1p-50;
    }
    void move(std::uint32_t slot, std::uint64_t weight) {
        move_weight(slot, weight);
        const SideTerms now{x_log2_x(left_[slot]), x_log2_x(right_[slot])};
        left_sum_ += now.left - terms_[slot].left;
        right_sum_ += now.right - terms_[slot].right;
        terms_[slot] = now;
        ++n_moves_;
    }
    double score() const { return (left_sum_ - x_log2_x(left_weight_)) + (right_sum_ - x_log2_x(right_weight_)); }
    double exact_score() const { return exact<Entropy>(); }
    double slack() const { return magnitude_ * static_cast<double>(n_moves_ + 16); }

  private:
    std::span<SideTerms> terms_;  // indexed by slot
    double left_sum_ = 0;
    double right_sum_ = 0;
    double magnitude_;
    std::uint64_t n_moves_ = 0;
};

}  // namespace weald
