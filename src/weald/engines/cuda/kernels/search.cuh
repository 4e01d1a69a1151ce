// The best cut of a node of up to 65,535 draws by one feature, found by one warp.
//
//   count_bins     codes -> bins of codes, with the counts of two classes in each word
//   survey, score  the best cut at the edges of bins, and which bins could still win
//   look_into      exact scores of the cuts inside of these bins
//   search_feature all of it
//
// Where codes come from is a template argument: `codes.code(i)` and `codes.label(i)` of row i of the node. A label has
// the class in its lowest four bits, then the number of the class inside the node, then the copies in the bag.

#pragma once

#include "scores.cuh"

constexpr u32 kBinWords = 528;  // of a warp: 512, and one in 32 so that neighbors are in different banks
constexpr u32 kMarkWords = 16;  // a bit for each bin
constexpr u32 kEndWords = 256;  // 16 bits for each bin

DEVICE u32 padded(u32 x) {
    return x + (x >> 5);
}
DEVICE u32 make_label(u32 k, u32 copies) {
    return k | copies << 8;
}
DEVICE u32 class_of_label(u32 label) {
    return label & 15;
}
DEVICE u32 number_of_label(u32 label) {
    return label >> 4 & 15;
}
DEVICE u32 copies_of_label(u32 label) {
    return label >> 8;
}
DEVICE u32 numbered(u32 label, u32 classes) {  // `classes`: bits of those of the node
    const u32 number = __popc(classes & lanes_below(class_of_label(label)));
    return (label & 0xff0f) | number << 4;
}

// Shared memory of a warp.
struct WarpBins {
    u32 bins[kBinWords];
    u32 marks[kMarkWords];
};

struct NodeCounts {
    u32 counts[kPairs];  // by number of the class, two a word
    u32 weight, n_rows, n_classes;
};

struct CodeRange {
    u32 low, n_bins, per_lane, shift, step;  // `step`: of the draw
};

template <u32 W>
DEVICE CodeRange range_of(u32 n_rows, u32 low, u32 high, u32 step) {
    u32 bits = n_rows <= 64 ? 6 : n_rows <= 128 ? 7 : n_rows <= 1024 ? 8 : 9;
    const u32 most = W == 1 ? 9 : W == 2 ? 8 : 7;
    bits = bits < most ? bits : most;
    const u32 range = high - low, range_bits = 32 - __clz(range), shift = range_bits > bits ? range_bits - bits : 0;
    const u32 n_bins = (range >> shift) + 1;
    return CodeRange{low, n_bins, (n_bins + 31) / 32, shift, step};
}

template <u32 W, class Codes>
DEVICE void count_bins(const Codes& codes, const CodeRange& range, WarpBins& memory, u32 n_rows, u32 lane) {
    __syncwarp();
#pragma unroll 1
    for (u32 i = lane; i < padded(range.per_lane * 32 * W); i += 32) {
        memory.bins[i] = 0;
    }
    if (lane < kMarkWords) {
        memory.marks[lane] = 0;
    }
    __syncwarp();
#pragma unroll 2
    for (u32 i = lane; i < n_rows; i += 32) {
        const u32 bin = (codes.code(i) - range.low) >> range.shift, label = codes.label(i);
        const u32 number = number_of_label(label);
        atomicAdd(&memory.bins[padded(bin * W + number / 2)], copies_of_label(label) << (number % 2 * 16));
    }
    __syncwarp();
}
template <u32 W>
DEVICE void pairs_before(const WarpBins& memory, const CodeRange& range, u32* before, u32 lane) {
#pragma unroll
    for (u32 w = 0; w < W; ++w) {
        u32 sum = 0;
#pragma unroll 1
        for (u32 i = 0; i < range.per_lane; ++i) {
            sum += memory.bins[padded((lane * range.per_lane + i) * W + w)];
        }
        before[w] = sum_up_to_lane(sum, lane) - sum;
    }
}
// The best score at an edge, in float.
template <u32 W>
DEVICE float survey(const WarpBins& memory, const CodeRange& range, const NodeCounts& node, const u32* before, u32 lane,
                    bool& admissible) {
    u32 left[W], right[W];
    float best = 0;
#pragma unroll
    for (u32 w = 0; w < W; ++w) {
        left[w] = before[w];
    }
#pragma unroll 1
    for (u32 i = 0; i < range.per_lane; ++i) {
        u32 in_bin = 0;
#pragma unroll
        for (u32 w = 0; w < W; ++w) {
            const u32 pair = memory.bins[padded((lane * range.per_lane + i) * W + w)];
            in_bin |= pair;
            left[w] += pair;
            right[w] = node.counts[w] - left[w];
        }
        const u32 left_weight = weight_of<W>(left), right_weight = node.weight - left_weight;
        if (in_bin && is_admissible(left_weight, right_weight)) {
            admissible = true;
            best = fmaxf(best, near(packed_squares<W>(left), left_weight, packed_squares<W>(right), right_weight));
        }
    }
    return best;
}
// Exact scores of what is near the best. Bins that could still win are marked, and all become what is left of them.
template <u32 W, bool TIGHT>
DEVICE bool score(WarpBins& memory, const CodeRange& range, const NodeCounts& node, const u32* before, float threshold,
                  bool admissible, Best& best, u32 lane) {
    u32 left[W];
    bool marked = false;
#pragma unroll
    for (u32 w = 0; w < W; ++w) {
        left[w] = before[w];
    }
#pragma unroll 1
    for (u32 i = 0; i < range.per_lane; ++i) {
        const u32 bin = lane * range.per_lane + i;
        u32 in_bin = 0, pairs[W], right[W], before_bin[W];
#pragma unroll
        for (u32 w = 0; w < W; ++w) {
            u32& place = memory.bins[padded(bin * W + w)];
            pairs[w] = place;
            place = left[w];
            before_bin[w] = left[w];
            in_bin |= pairs[w];
            left[w] += pairs[w];
            right[w] = node.counts[w] - left[w];
        }
        if (in_bin == 0) {
            continue;
        }
        const u32 left_weight = weight_of<W>(left), right_weight = node.weight - left_weight;
        const u32 left_squares = packed_squares<W>(left), right_squares = packed_squares<W>(right);
        const float after = right_weight ? near(left_squares, left_weight, right_squares, right_weight) : 0.0f;
        if (is_admissible(left_weight, right_weight) && after >= threshold) {
            offer(best, exact(left_squares, left_weight, right_squares, right_weight), range.step,
                  unevenness(left_weight, right_weight), range.low + ((bin + 1) << range.shift) - 1);
        }
        const u32 bin_weight = weight_of<W>(pairs);
        if (range.shift && may_be_admissible(left_weight - bin_weight, bin_weight, right_weight)) {
            const float bound = bound_packed<W, TIGHT>(before_bin, pairs, right, left_weight - bin_weight, bin_weight,
                                                       right_weight, after);
            if (bound >= threshold || !admissible) {
                marked = true;
                atomicOr(&memory.marks[bin / 32], 1u << (bin % 32));
            }
        }
    }
    return marked;
}

template <class Codes>
DEVICE bool is_marked(const Codes& codes, const CodeRange& range, const WarpBins& memory, u32 i, u32& bin) {
    bin = (codes.code(i) - range.low) >> range.shift;
    return memory.marks[bin / 32] >> (bin % 32) & 1;
}
// The rows of marked bins, in any order. Returns their number.
template <class Codes>
DEVICE u32 list_marked(const Codes& codes, const CodeRange& range, const WarpBins& memory, u32 n_rows, u16* rows,
                       u32 lane) {
    u32 n = 0, bin;
#pragma unroll 1
    for (u32 first = 0; first < n_rows; first += 32) {
        const u32 i = first + lane;
        const bool marked = i < n_rows && is_marked(codes, range, memory, i, bin);
        const u32 all = ballot(marked);
        if (marked) {
            rows[n + __popc(all & lanes_below(lane))] = static_cast<u16>(i);
        }
        n += __popc(all);
    }
    return n;
}
// The same, bin by bin; `ends` becomes where each bin ends.
template <class Codes>
DEVICE u32 group_marked(const Codes& codes, const CodeRange& range, const WarpBins& memory, u32 n_rows, u16* rows,
                        u32* ends, u32 lane) {
    u32 bin;
    for (u32 i = lane; i < range.per_lane * 16; i += 32) {
        ends[i] = 0;
    }
    __syncwarp();
#pragma unroll 1
    for (u32 i = lane; i < n_rows; i += 32) {
        if (is_marked(codes, range, memory, i, bin)) {
            atomicAdd(&ends[bin / 2], 1u << (bin % 2 * 16));
        }
    }
    __syncwarp();
    u16* end_of = reinterpret_cast<u16*>(ends) + lane * range.per_lane;
    u32 of_lane = 0;
    for (u32 i = 0; i < range.per_lane; ++i) {
        of_lane += end_of[i];
    }
    u32 place = sum_up_to_lane(of_lane, lane);
    const u32 n = from_lane(place, 31);
    place -= of_lane;
    __syncwarp();
    for (u32 i = 0; i < range.per_lane; ++i) {
        const u32 in_bin = end_of[i];
        end_of[i] = static_cast<u16>(place);
        place += in_bin;
    }
    __syncwarp();
#pragma unroll 1
    for (u32 i = lane; i < n_rows; i += 32) {
        if (is_marked(codes, range, memory, i, bin)) {
            const u32 both = atomicAdd(&ends[bin / 2], 1u << (bin % 2 * 16));
            rows[both >> (bin % 2 * 16) & 0xffff] = static_cast<u16>(i);
        }
    }
    return n;
}

template <u32 W>
DEVICE void add_label(u32* counts, u32 label) {
    const u32 number = number_of_label(label), add = copies_of_label(label) << (number % 2 * 16);
#pragma unroll
    for (u32 w = 0; w < W; ++w) {
        counts[w] += W == 1 || number / 2 == w ? add : 0;
    }
}
// Adds the rows of its bin up to each row's own code. `rows` are bin by bin.
template <u32 W, class Codes>
DEVICE void add_inside_group(const Codes& codes, const u16* rows, const u32* ends, u32 bin, u32 code, bool is_row,
                             u32* left) {
    const u16* end_of = reinterpret_cast<const u16*>(ends);
    const u32 end = is_row ? end_of[bin] : 0;
#pragma unroll 1
    for (u32 i = bin ? end_of[bin - 1] : 0; i < end; ++i) {
        if (codes.code(rows[i]) <= code) {
            add_label<W>(left, codes.label(rows[i]));
        }
    }
}
// The same for few rows in any order: all are passed around.
template <u32 W, class Codes>
DEVICE void add_inside(const Codes& codes, const u16* rows, u32 n, u32 first_code, u32 code, u32* left, u32 lane) {
#pragma unroll 1
    for (u32 first = 0; first < n; first += 32) {
        const u32 in = first + lane < n ? rows[first + lane] : 0;
        const u32 other_code = codes.code(in), other_label = codes.label(in), end = n - first < 32 ? n - first : 32;
#pragma unroll 1
        for (u32 j = 0; j < end; ++j) {
            const u32 x = from_lane(other_code, j), label = from_lane(other_label, j);
            if (x >= first_code && x <= code) {
                add_label<W>(left, label);
            }
        }
    }
}
template <u32 W, bool GROUP, class Codes>
DEVICE bool look_into(const Codes& codes, const CodeRange& range, const WarpBins& memory, const NodeCounts& node,
                      u16* rows, u32* ends, float threshold, Best& best, u32 lane) {
    bool admissible = false;
    const u32 n = GROUP ? group_marked(codes, range, memory, node.n_rows, rows, ends, lane)
                        : list_marked(codes, range, memory, node.n_rows, rows, lane);
    __syncwarp();
#pragma unroll 1
    for (u32 first = 0; first < n; first += 32) {
        const bool is_row = first + lane < n;
        const u32 code = codes.code(is_row ? rows[first + lane] : 0), bin = (code - range.low) >> range.shift;
        u32 left[W], right[W];
#pragma unroll
        for (u32 w = 0; w < W; ++w) {
            left[w] = memory.bins[padded(bin * W + w)];
        }
        if (GROUP) {
            add_inside_group<W>(codes, rows, ends, bin, code, is_row, left);
        } else {
            add_inside<W>(codes, rows, n, range.low + (bin << range.shift), code, left, lane);
        }
#pragma unroll
        for (u32 w = 0; w < W; ++w) {
            right[w] = node.counts[w] - left[w];
        }
        const u32 left_weight = weight_of<W>(left), right_weight = node.weight - left_weight;
        if (is_row && is_admissible(left_weight, right_weight)) {
            admissible = true;
            const u32 left_squares = packed_squares<W>(left), right_squares = packed_squares<W>(right);
            if (near(left_squares, left_weight, right_squares, right_weight) >= threshold) {
                offer(best, exact(left_squares, left_weight, right_squares, right_weight), range.step,
                      unevenness(left_weight, right_weight), code);
            }
        }
    }
    __syncwarp();
    return any(admissible);
}

// Codes from `low` to `high` > `low`. `best_near` is the best score so far, as bits of a float. Returns whether there
// is an admissible cut.
template <u32 W, bool GROUP, class Codes>
DEVICE bool search_with(const Codes& codes, WarpBins& memory, const NodeCounts& node, u16* rows, u32* ends, u32 low,
                        u32 high, u32 step, u32& best_near, Best& best, u32 lane) {
    const CodeRange range = range_of<W>(node.n_rows, low, high, step);
    count_bins<W>(codes, range, memory, node.n_rows, lane);
    u32 before[W];
    pairs_before<W>(memory, range, before, lane);
    bool admissible = false;
    const float at_edges = survey<W>(memory, range, node, before, lane, admissible);
    admissible = any(admissible);
    const u32 of_warp = warp_max(__float_as_uint(at_edges));
    best_near = best_near > of_warp ? best_near : of_warp;
    const float threshold = __uint_as_float(best_near) * (1.0f - kMargin);
    if (range.shift == 0 && !any(at_edges >= threshold && at_edges > 0)) {
        return admissible;
    }
    __syncwarp();
    const bool marked = score<W, GROUP>(memory, range, node, before, threshold, admissible, best, lane);
    __syncwarp();
    if (!any(marked)) {
        return admissible;
    }
    admissible |= look_into<W, GROUP>(codes, range, memory, node, rows, ends, threshold, best, lane);
    const u32 found = warp_max(best.score > 0 ? __float_as_uint(static_cast<float>(best.score) * (1.0f - kMargin)) : 0);
    best_near = best_near > found ? best_near : found;
    return admissible;
}
template <bool GROUP, class Codes>
DEVICE bool search_feature(const Codes& codes, WarpBins& memory, const NodeCounts& node, u16* rows, u32* ends, u32 low,
                           u32 high, u32 step, u32& best_near, Best& best, u32 lane) {
#if CLASSES > 2
    if (node.n_classes > 4) {
        return search_with<4, GROUP>(codes, memory, node, rows, ends, low, high, step, best_near, best, lane);
    }
    if (node.n_classes > 2) {
        return search_with<2, GROUP>(codes, memory, node, rows, ends, low, high, step, best_near, best, lane);
    }
#endif
    return search_with<1, GROUP>(codes, memory, node, rows, ends, low, high, step, best_near, best, lane);
}
