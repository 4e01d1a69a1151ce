// Scores of cuts, and which of two cuts is better.
//
//   near_*    in float, to find which cuts need the exact score
//   exact     in double, the bits of the contract
//   bound_*   what the cuts inside of a bin can score at most, in float
//   Best      the best cut so far
//
// Counts are exact integers. What is only near has a margin, so that no cut of the contract is missed.

#pragma once

#include "plan.cuh"

constexpr float kMargin = 1.0f / 262144;  // 2^-18: floats err by less
constexpr float kUnbounded = 3e38f;

// a / l + b / r: squares of the counts over the weight of each side.
DEVICE_CALL double exact(u64 left_squares, u32 left, u64 right_squares, u32 right) {
    return static_cast<double>(left_squares) / static_cast<double>(left) +
           static_cast<double>(right_squares) / static_cast<double>(right);
}
DEVICE_CALL double decrease_of(double score, u64 squares, u32 weight) {
    const double gain = score - static_cast<double>(squares) / static_cast<double>(weight);
    return (gain > 0 ? gain : 0.0) / plan.root_weight;
}
DEVICE float near(u32 left_squares, u32 left, u32 right_squares, u32 right) {
    return multiply_add(static_cast<float>(left_squares), reciprocal(static_cast<float>(left)),
                        static_cast<float>(right_squares) * reciprocal(static_cast<float>(right)));
}

// ---- Counts of any size, one a word

DEVICE u64 squares_of(const u32* counts) {
    u64 sum = 0;
#pragma unroll
    for (u32 k = 0; k < kClasses; ++k) {
        sum += static_cast<u64>(counts[k]) * counts[k];
    }
    return sum;
}
DEVICE float near_squares(const u32* counts) {
    float sum = 0;
#pragma unroll
    for (u32 k = 0; k < kClasses; ++k) {
        const float x = static_cast<float>(counts[k]);
        sum = multiply_add(x, x, sum);
    }
    return sum;
}
DEVICE float near_counts(const u32* left, const u32* right, u32 left_weight, u32 right_weight) {
    return multiply_add(near_squares(left), reciprocal(static_cast<float>(left_weight)),
                        near_squares(right) * reciprocal(static_cast<float>(right_weight)));
}

// What a cut inside of a bin gains at most, given its class fractions: the score is convex in the counts on the left,
// so it lies below its tangent planes at the ends of the bin plus what squares add. `p`, `q`: fractions of a class left
// of the bin and from it on; `in_bin`: its count in the bin, which holds `bin` rows.
struct BoundSums {
    float linear, left, right;
};
DEVICE void add_class(BoundSums& sums, float p, float q, float in_bin, float bin, float slope) {
    sums.linear = multiply_add(in_bin, fmaxf(0.0f, 2.0f * (p - q) - slope), sums.linear);
    const float others = bin - in_bin;
    const float x = fmaxf(in_bin * (1.0f - p), others * p);
    const float z = fmaxf(in_bin * (1.0f - q), others * q);
    sums.left = multiply_add(x, x, sums.left);
    sums.right = multiply_add(z, z, sums.right);
}

// `left` before the bin, `bin` in it, `right` after it; `after`: the score of the cut after it.
DEVICE float bound_counts(const u32* left, const u32* bin, const u32* right, u32 left_weight, u32 bin_weight,
                          u32 right_weight, float after) {
    float from_squares = 0;
    bool one_class = false;
#pragma unroll
    for (u32 k = 0; k < kClasses; ++k) {
        const float x = static_cast<float>(right[k] + bin[k]);
        from_squares = multiply_add(x, x, from_squares);
        one_class = one_class || bin[k] == bin_weight;
    }
    const float in_bin = static_cast<float>(bin_weight);
    const float per_left = left_weight ? reciprocal(static_cast<float>(left_weight)) : 0.0f;
    const float per_from = reciprocal(static_cast<float>(right_weight + bin_weight));
    const float left_term = near_squares(left) * per_left, from_term = from_squares * per_from;
    if (one_class) {  // one of the ends is best, as the score is convex
        return fmaxf(left_term + from_term, after) * (1.0f + kMargin);
    }
    const float per_right = right_weight ? reciprocal(static_cast<float>(right_weight)) : 0.0f;
    float bound = left_term + near_squares(right) * per_right + in_bin;
    if (left_weight && right_weight) {
        BoundSums sums{0, 0, 0};
        const float slope = left_term * per_left - from_term * per_from;
#pragma unroll
        for (u32 k = 0; k < kClasses; ++k) {
            add_class(sums, static_cast<float>(left[k]) * per_left, static_cast<float>(right[k] + bin[k]) * per_from,
                      static_cast<float>(bin[k]), in_bin, slope);
        }
        bound = fminf(bound, left_term + from_term + sums.linear + sums.left * per_left + sums.right * per_right);
    }
    return bound * (1.0f + kMargin);
}

// ---- Counts of up to 65,535, two a word; W words are enough for the classes of the node

DEVICE u32 count_at(const u32* counts, u32 k) {
    return k & 1 ? counts[k / 2] >> 16 : counts[k / 2] & 0xffff;
}
template <u32 W>
DEVICE u32 weight_of(const u32* counts) {
    u32 sum = 0;
#pragma unroll
    for (u32 w = 0; w < W; ++w) {
        sum += (counts[w] & 0xffff) + (counts[w] >> 16);
    }
    return sum;
}
template <u32 W>
DEVICE u32 packed_squares(const u32* counts) {
    u32 sum = 0;
#pragma unroll
    for (u32 w = 0; w < W; ++w) {
        const u32 a = counts[w] & 0xffff, b = counts[w] >> 16;
        sum += a * a + b * b;
    }
    return sum;
}
template <u32 W, bool TIGHT>
DEVICE float bound_packed(const u32* left, const u32* bin, const u32* right, u32 left_weight, u32 bin_weight,
                          u32 right_weight, float after) {
    u32 from[W];
    bool one_class = false;
#pragma unroll
    for (u32 w = 0; w < W; ++w) {
        from[w] = right[w] + bin[w];
        one_class = one_class || (bin[w] & 0xffff) == bin_weight || (bin[w] >> 16) == bin_weight;
    }
    const float in_bin = static_cast<float>(bin_weight);
    const float per_left = left_weight ? reciprocal(static_cast<float>(left_weight)) : 0.0f;
    const float per_from = reciprocal(static_cast<float>(right_weight + bin_weight));
    const float left_term = static_cast<float>(packed_squares<W>(left)) * per_left;
    const float from_term = static_cast<float>(packed_squares<W>(from)) * per_from;
    if (one_class) {
        return fmaxf(left_term + from_term, after) * (1.0f + kMargin);
    }
    const float per_right = right_weight ? reciprocal(static_cast<float>(right_weight)) : 0.0f;
    float bound = left_term + static_cast<float>(packed_squares<W>(right)) * per_right + in_bin;
    if (TIGHT && left_weight && right_weight) {
        BoundSums sums{0, 0, 0};
        const float slope = left_term * per_left - from_term * per_from;
#pragma unroll
        for (u32 k = 0; k < 2 * W; ++k) {
            add_class(sums, static_cast<float>(count_at(left, k)) * per_left,
                      static_cast<float>(count_at(from, k)) * per_from, static_cast<float>(count_at(bin, k)), in_bin,
                      slope);
        }
        bound = fminf(bound, left_term + from_term + sums.linear + sums.left * per_left + sums.right * per_right);
    }
    return bound * (1.0f + kMargin);
}

// ---- The best cut

DEVICE bool is_admissible(u32 left_weight, u32 right_weight) {
    return left_weight >= plan.min_leaf && right_weight >= plan.min_leaf;
}
// Whether a cut inside of a bin may be admissible: the left side can weigh more than before it, less than after it.
DEVICE bool may_be_admissible(u32 left_weight, u32 bin_weight, u32 right_weight) {
    return left_weight + bin_weight > plan.min_leaf && right_weight + bin_weight > plan.min_leaf && bin_weight > 1;
}

// `order`: the step of the draw that drew the feature; `cut`: the last code that goes left. A score of 0: none.
struct Best {
    double score;
    u32 order, uneven, cut;
};
DEVICE Best no_cut() {
    return Best{0.0, 0, 0, 0};
}
DEVICE u32 unevenness(u32 left, u32 right) {
    return left > right ? left - right : right - left;
}
// Between features only the score decides here: they are offered in the order of the draw.
DEVICE void offer(Best& best, double score, u32 order, u32 uneven, u32 cut) {
    const bool wins_tie = order == best.order && (uneven < best.uneven || (uneven == best.uneven && cut < best.cut));
    if (score > best.score || (score == best.score && wins_tie)) {
        best = Best{score, order, uneven, cut};
    }
}
DEVICE Best best_of_warp(const Best& best) {
    const u64 bits = bits_of(best.score);  // of positive doubles, in their order
    const u32 high = static_cast<u32>(bits >> 32), low = static_cast<u32>(bits);
    const u32 high_of_all = warp_max(high);
    bool stays = high == high_of_all;
    const u32 low_of_all = warp_max(stays ? low : 0);
    stays = stays && low == low_of_all;
    const u32 order = warp_min(stays ? best.order : kNone);
    stays = stays && best.order == order;
    const u32 uneven = warp_min(stays ? best.uneven : kNone);
    stays = stays && best.uneven == uneven;
    const u32 cut = warp_min(stays ? best.cut : kNone);
    return Best{double_of(static_cast<u64>(high_of_all) << 32 | low_of_all), order, uneven, cut};
}
