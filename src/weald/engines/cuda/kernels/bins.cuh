// Bins of large nodes: a block counts the classes of some features in its shared memory.
//
//   BlockState   what a block knows of its node
//   begin_round  the next features of the draw
//   fill         rows -> counts, of bins or inside of those that are refined
//   scan         counts -> the best cut at the edges of bins, and what cuts inside of each bin can score at most
//   refine       which bins could still win
//   end_round    the best of these features
//
// A bin is a range of codes. Bins whose bound is below the best score so far are never looked into: that makes the
// exact best cut cost little more than a histogram.

#pragma once

#include "nodes.cuh"

struct BinnedFeature {
    Field field;
    u32 number, base, n_bins, shift, copies_bits;  // `base`: its bins; few bins are kept in several copies
};

struct BlockState {
    Task task;
    u32 next_step;  // of the draw
    u32 ticket, n_features, found, best_near, wanted_slots;
    u32 cursor[2], left_count[kClasses], right_count[kClasses], below, above, pair, has_cut, best_feature;
    BinnedFeature feature[kFeaturesAtOnce];
    u32 admissible[kFeaturesAtOnce], refined[kFeaturesAtOnce];
    Best of_feature[kFeaturesAtOnce], of_slot[kMostSlots], best;
    u32 bin_of_slot[kMostSlots], slot_admissible[kMostSlots];
};

// Shared memory of a block, behind its state.
struct BinMemory {
    u32* bins;     // by feature, bin and class; then what is left of each bin
    u32* fine;     // of the refined bins, by slot, code and class
    float* bound;  // by feature and bin; 0: nothing to gain inside
    u16* slot;     // by feature and bin: where it is refined
    u32* control;  // two words for what is not of the node
};
constexpr u16 kNoSlot = 0xffff;

DEVICE BinMemory bin_memory(char* memory) {
    const u32 n_bins = plan.features_at_once << plan.bin_bits;
    BinMemory m;
    m.bins = reinterpret_cast<u32*>(memory + (sizeof(BlockState) + 15) / 16 * 16);
    m.fine = m.bins + n_bins * plan.n_classes;
    m.bound = reinterpret_cast<float*>(m.fine + plan.fine_words);
    m.slot = reinterpret_cast<u16*>(m.bound + n_bins);
    m.control = reinterpret_cast<u32*>(m.slot + n_bins);
    return m;
}

DEVICE void begin_node(BlockState& s) {  // one thread
    s.next_step = s.n_features = s.found = s.best_near = s.has_cut = 0;
    s.best = no_cut();
}

// A warp; afterwards n_features is 0 if the draw is at its end.
DEVICE void begin_round(BlockState& s, FeatureDraw& draw, u32 lane) {
    const u32 first = draw.step, left = plan.n_features - first;
    u32 n = plan.max_features - s.found;
    n = n < plan.features_at_once ? n : plan.features_at_once;
    n = n < left ? n : left;
    for (u32 j = 0; j < n; ++j) {
        const u32 number = next_feature(draw, lane);
        if (lane == 0) {
            const Field field = field_of(number);
            const u32 bits = 32 - __clz(field.mask), spare = bits < plan.bin_bits ? plan.bin_bits - bits : 0;
            s.feature[j] = BinnedFeature{field,
                                         number,
                                         j * (plan.n_classes << plan.bin_bits),
                                         1u << (bits < plan.bin_bits ? bits : plan.bin_bits),
                                         bits > plan.bin_bits ? bits - plan.bin_bits : 0,
                                         spare < 5 ? spare : 5};
            s.refined[j] = 0;
        }
    }
    __syncwarp();  // all have read the state of the round before
    if (lane == 0) {
        s.next_step = draw.step;
        s.n_features = n;
    }
}

struct FillTarget {
    u32* bins;
    u32* fine;
    const u16* slots;
    u32 slot_words;
    bool is_fine;
};
DEVICE void count_row(const BinnedFeature& feature, u32 j, Entry entry, u32 code, const FillTarget& to, u32 lane) {
    if (!to.is_fine) {
        const u32 cell = (code >> feature.shift) * plan.n_classes + class_of(entry);
        const u32 copy = lane & ((1u << feature.copies_bits) - 1);
        atomicAdd(&to.bins[feature.base + (cell << feature.copies_bits) + copy], copies_of(entry));
        return;
    }
    const u16 slot = to.slots[(j << plan.bin_bits) + (code >> feature.shift)];
    if (slot != kNoSlot) {
        const u32 inside = code & ((1u << feature.shift) - 1);
        atomicAdd(&to.fine[slot * to.slot_words + inside * plan.n_classes + class_of(entry)], copies_of(entry));
    }
}
// Rows `from` to `to` of the node; several loads are on their way at once.
DEVICE void fill(const BlockState& s, const Entry* entries, u32 begin, u32 end, const FillTarget& to, u32 thread,
                 u32 n_threads) {
    constexpr u32 kRows = 4;
    const u32 lane = thread & 31;
#pragma unroll 1
    for (u32 first = begin; first < end; first += kRows * n_threads) {
        Entry entry[kRows];
#pragma unroll
        for (u32 u = 0; u < kRows; ++u) {
            const u32 i = first + u * n_threads + thread;
            entry[u].x = entry[u].y = 0;
            if (i < end) {
                entry[u] = load_entry(entries + i);
            }
        }
#pragma unroll 1
        for (u32 j = 0; j < s.n_features; ++j) {
            if (to.is_fine && !s.refined[j]) {
                continue;
            }
            const BinnedFeature& feature = s.feature[j];
            u32 code[kRows];
#pragma unroll
            for (u32 u = 0; u < kRows; ++u) {
                code[u] = code_of_row(feature.field, entry[u].x);
            }
#pragma unroll
            for (u32 u = 0; u < kRows; ++u) {
                if (entry[u].y) {
                    count_row(feature, j, entry[u], code[u], to, lane);
                }
            }
        }
    }
}

// Bins in which a warp looks for a cut: those of a feature, or the codes of one of them.
struct Scan {
    u32* counts;        // n_bins x classes, each `1 << copies_bits` words
    const u32* before;  // counts on the left of the first bin; null: none
    float* bound;       // null: bins are codes, nothing is inside
    u32 n_bins, copies_bits, feature, shift, first_code;
};
struct Scanned {
    Best best;
    bool is_admissible;
};

DEVICE u32 count_in(const Scan& scan, u32 bin, u32 k) {
    return k < plan.n_classes ? scan.counts[(bin * plan.n_classes + k) << scan.copies_bits] : 0;
}
// Counts on the left of the lane's bins.
DEVICE void counts_before(const Scan& scan, u32 first, u32 end, u32* before, u32 lane) {
#pragma unroll
    for (u32 k = 0; k < kClasses; ++k) {
        u32 sum = 0;
        for (u32 bin = first; bin < end; ++bin) {
            sum += count_in(scan, bin, k);
        }
        before[k] = sum_up_to_lane(sum, lane) - sum;
        if (scan.before && k < plan.n_classes) {
            before[k] += scan.before[k << scan.copies_bits];
        }
    }
}

// The first pass over the lane's bins: the best score in float, and whether there is an admissible cut.
DEVICE float survey_bins(const Scan& scan, const BlockState& s, const u32* before, u32 first, u32 end,
                         bool& admissible) {
    u32 left[kClasses], right[kClasses], left_weight = 0;
    float best = 0;
#pragma unroll
    for (u32 k = 0; k < kClasses; ++k) {
        left[k] = before[k];
        left_weight += before[k];
    }
#pragma unroll 1
    for (u32 bin = first; bin < end; ++bin) {
        u32 in_bin = 0;
#pragma unroll
        for (u32 k = 0; k < kClasses; ++k) {
            const u32 n = count_in(scan, bin, k);
            in_bin += n;
            left[k] += n;
            right[k] = s.task.count[k] - left[k];
        }
        left_weight += in_bin;
        if (in_bin && is_admissible(left_weight, s.task.weight - left_weight)) {
            admissible = true;
            best = fmaxf(best, near_counts(left, right, left_weight, s.task.weight - left_weight));
        }
    }
    return best;
}
// The second pass: exact scores of what is near the best, and bounds. `counts` become those left of each bin.
DEVICE void score_bins(const Scan& scan, const BlockState& s, const u32* before, u32 first, u32 end, float threshold,
                       bool admissible, Best& best) {
    u32 left[kClasses], left_weight = 0;
#pragma unroll
    for (u32 k = 0; k < kClasses; ++k) {
        left[k] = before[k];
        left_weight += before[k];
    }
#pragma unroll 1
    for (u32 bin = first; bin < end; ++bin) {
        u32 in_bin = 0, bin_count[kClasses], right[kClasses], before_bin[kClasses];
#pragma unroll
        for (u32 k = 0; k < kClasses; ++k) {
            const u32 n = count_in(scan, bin, k);
            if (scan.bound && k < plan.n_classes) {
                scan.counts[(bin * plan.n_classes + k) << scan.copies_bits] = left[k];
            }
            before_bin[k] = left[k];
            bin_count[k] = n;
            in_bin += n;
            left[k] += n;
            right[k] = s.task.count[k] - left[k];
        }
        if (in_bin == 0) {
            if (scan.bound) {
                scan.bound[bin] = 0;
            }
            continue;
        }
        const u32 before_weight = left_weight;
        left_weight += in_bin;
        const u32 right_weight = s.task.weight - left_weight;
        float score = 0;
        if (is_admissible(left_weight, right_weight)) {
            score = near_counts(left, right, left_weight, right_weight);
            if (score >= threshold) {
                offer(best, exact(squares_of(left), left_weight, squares_of(right), right_weight), scan.feature,
                      unevenness(left_weight, right_weight), scan.first_code + ((bin + 1) << scan.shift) - 1);
            }
        }
        if (scan.bound) {
            float bound = 0;
            if (may_be_admissible(before_weight, in_bin, right_weight)) {
                const float after = right_weight ? near_counts(left, right, left_weight, right_weight) : 0.0f;
                bound = admissible
                            ? bound_counts(before_bin, bin_count, right, before_weight, in_bin, right_weight, after)
                            : kUnbounded;
            }
            scan.bound[bin] = bound;
        }
    }
}
DEVICE Scanned scan_bins(const Scan& scan, BlockState& s, u32 lane) {
    const u32 of_lane = (scan.n_bins + 31) / 32, first = lane * of_lane < scan.n_bins ? lane * of_lane : scan.n_bins;
    const u32 end = first + of_lane < scan.n_bins ? first + of_lane : scan.n_bins;
    u32 before[kClasses];
    counts_before(scan, first, end, before, lane);
    bool admissible = false;
    const float near = survey_bins(scan, s, before, first, end, admissible);
    admissible = any(admissible);
    u32 best_near = warp_max(__float_as_uint(near));
    if (lane == 0) {
        const u32 of_others = atomicMax(&s.best_near, best_near);
        best_near = best_near > of_others ? best_near : of_others;
    }
    const float threshold = __uint_as_float(from_lane(best_near, 0)) * (1.0f - kMargin);
    Best best = no_cut();
    best.order = scan.feature;
    score_bins(scan, s, before, first, end, threshold, admissible, best);
    return Scanned{best_of_warp(best), admissible};
}

// Adds up the copies of bins into the first of them. A warp.
DEVICE void add_copies(u32* bins, u32 n, u32 copies_bits, u32 lane) {
    const u32 n_copies = 1u << copies_bits;
#pragma unroll 1
    for (u32 i = lane; i < n; i += 32) {
        u32 sum = 0;
        for (u32 c = 0; c < n_copies; ++c) {
            sum += bins[(i << copies_bits) + ((c + lane) & (n_copies - 1))];
        }
        bins[i << copies_bits] = sum;
    }
    __syncwarp();
}
DEVICE void scan_feature(BlockState& s, const BinMemory& m, u32 j, u32 lane) {
    const BinnedFeature& f = s.feature[j];
    if (f.copies_bits) {
        add_copies(m.bins + f.base, f.n_bins * plan.n_classes, f.copies_bits, lane);
    }
    float* bound = f.shift ? m.bound + (j << plan.bin_bits) : nullptr;
    const Scan scan{m.bins + f.base, nullptr, bound, f.n_bins, f.copies_bits, j, f.shift, 0};
    const Scanned found = scan_bins(scan, s, lane);
    if (lane == 0) {
        s.of_feature[j] = found.best;
        s.admissible[j] = found.is_admissible;
    }
}
DEVICE void scan_slot(BlockState& s, const BinMemory& m, u32 slot, u32 slot_words, u32 lane) {
    const u32 j = s.bin_of_slot[slot] >> plan.bin_bits, bin = s.bin_of_slot[slot] & ((1u << plan.bin_bits) - 1);
    const BinnedFeature& f = s.feature[j];
    const u32* before = m.bins + f.base + bin * plan.n_classes;
    const Scan scan{m.fine + slot * slot_words, before, nullptr, 1u << f.shift, 0, j, 0, bin << f.shift};
    const Scanned found = scan_bins(scan, s, lane);
    if (lane == 0) {
        s.of_slot[slot] = found.best;
        s.slot_admissible[slot] = found.is_admissible;
    }
}
// The slots of a feature -> its best cut. A warp.
DEVICE void join_slots(BlockState& s, u32 j, u32 n_slots, u32 lane) {
    Best best = s.of_feature[j];
    bool admissible = false;
    for (u32 slot = lane; slot < n_slots; slot += 32) {
        if (s.bin_of_slot[slot] >> plan.bin_bits == j) {
            const Best& found = s.of_slot[slot];
            if (found.score > 0) {
                offer(best, found.score, j, found.uneven, found.cut);
            }
            admissible = admissible || s.slot_admissible[slot];
        }
    }
    best = best_of_warp(best);
    admissible = any(admissible);
    __syncwarp();  // all have read what is replaced
    if (lane == 0) {
        s.of_feature[j] = best;
        s.admissible[j] |= admissible;
        if (best.score > 0) {
            atomicMax(&s.best_near, __float_as_uint(static_cast<float>(best.score) * (1.0f - kMargin)));
        }
    }
}

// How bins are refined: as many at a time as there is room for.
struct Refinement {
    u32 slot_words, n_slots, n_wanted;
};
DEVICE u32 widest_bin(const BlockState& s) {
    u32 shift = 0;
    for (u32 j = 0; j < s.n_features; ++j) {
        shift = s.feature[j].shift > shift ? s.feature[j].shift : shift;
    }
    return shift;
}
// Chooses bins that could still win, and forgets their bounds. All threads of a block.
DEVICE Refinement choose_bins(BlockState& s, const BinMemory& m, u32 shift, u32 thread, u32 n_threads) {
    Refinement r;
    r.slot_words = plan.n_classes << shift;
    u32 room = plan.fine_words / r.slot_words;
    room = room < kMostSlots ? room : kMostSlots;
    if (thread == 0) {
        s.wanted_slots = 0;
    }
    if (thread < s.n_features) {
        s.refined[thread] = 0;
    }
    __syncthreads();
    const float threshold = __uint_as_float(s.best_near) * (1.0f - kMargin);
#pragma unroll 1
    for (u32 i = thread; i < s.n_features << plan.bin_bits; i += n_threads) {
        u16 slot = kNoSlot;
        const u32 j = i >> plan.bin_bits;
        const float bound = m.bound[i];
        // A feature without an admissible cut so far may have one inside of a bin.
        if (bound > 0 && (bound >= threshold || !s.admissible[j])) {
            const u32 place = atomicAdd(&s.wanted_slots, 1u);
            if (place < room) {
                slot = static_cast<u16>(place);
                m.bound[i] = 0;
                s.bin_of_slot[place] = i;
                atomicOr(&s.refined[j], 1u);
            }
        }
        m.slot[i] = slot;
    }
    __syncthreads();
    r.n_wanted = s.wanted_slots;
    r.n_slots = r.n_wanted < room ? r.n_wanted : room;
    return r;
}

// All cuts of these features were considered. One thread.
DEVICE void end_round(BlockState& s) {
    for (u32 j = 0; j < s.n_features; ++j) {
        if (s.admissible[j]) {
            ++s.found;
            if (s.of_feature[j].score > s.best.score) {
                s.best = s.of_feature[j];
                s.best_feature = s.feature[j].number;
                s.has_cut = 1;
            }
        }
    }
}

DEVICE void begin_partition(BlockState& s) {  // one thread
    s.cursor[0] = s.cursor[1] = 0;
    s.below = 0;
    s.above = kNone;
    for (u32 k = 0; k < kClasses; ++k) {
        s.left_count[k] = 0;
    }
}

// What a warp finds out while it moves rows.
struct Moved {
    u32 left_count[kClasses], below, above;
};
// Moves rows to the other list: those on the left from its begin upward, those on the right from its end downward. The
// order of rows inside a node does not matter. `cursor` counts both.
DEVICE Moved partition(const BlockState& s, const Entry* from, Entry* to, u32 begin, u32 end, u32* cursor, u32 warp,
                       u32 n_warps, u32 lane) {
    constexpr u32 kRows = 4;
    const Field field = field_of(s.best_feature);
    const u32 n = s.task.n_rows, cut = s.best.cut;
    Moved moved = {};
    moved.above = kNone;
#pragma unroll 1
    for (u32 first = begin + warp * kRows * 32; first < end; first += n_warps * kRows * 32) {
        Entry entry[kRows];
        u32 code[kRows], lefts[kRows], rights[kRows], n_left = 0, n_right = 0;
#pragma unroll
        for (u32 u = 0; u < kRows; ++u) {
            const u32 i = first + u * 32 + lane;
            entry[u].x = entry[u].y = 0;
            if (i < end) {
                entry[u] = load_entry(from + i);
            }
        }
#pragma unroll
        for (u32 u = 0; u < kRows; ++u) {
            code[u] = code_of_row(field, entry[u].x);
        }
#pragma unroll
        for (u32 u = 0; u < kRows; ++u) {
            const bool is_row = entry[u].y != 0, left = is_row && code[u] <= cut;
            lefts[u] = ballot(left);
            rights[u] = ballot(is_row && !left);
            n_left += __popc(lefts[u]);
            n_right += __popc(rights[u]);
            if (left) {
#pragma unroll
                for (u32 k = 0; k < kClasses; ++k) {
                    moved.left_count[k] += k == class_of(entry[u]) ? copies_of(entry[u]) : 0;
                }
                moved.below = code[u] > moved.below ? code[u] : moved.below;
            } else if (is_row) {
                moved.above = code[u] < moved.above ? code[u] : moved.above;
            }
        }
        u32 left = 0, right = 0;
        if (lane == 0) {
            left = atomicAdd(&cursor[0], n_left);
            right = atomicAdd(&cursor[1], n_right);
        }
        left = from_lane(left, 0);
        right = from_lane(right, 0);
#pragma unroll
        for (u32 u = 0; u < kRows; ++u) {
            if (lefts[u] >> lane & 1) {
                to[left + __popc(lefts[u] & lanes_below(lane))] = entry[u];
            } else if (entry[u].y) {
                to[n - 1 - (right + __popc(rights[u] & lanes_below(lane)))] = entry[u];
            }
            left += __popc(lefts[u]);
            right += __popc(rights[u]);
        }
    }
    return moved;
}
DEVICE void add_moved(BlockState& s, const Moved& moved, u32 lane) {  // s: of the block, or of all blocks of the node
#pragma unroll
    for (u32 k = 0; k < kClasses; ++k) {
        const u32 n = warp_sum(moved.left_count[k]);
        if (lane == 0 && n) {
            atomicAdd(&s.left_count[k], n);
        }
    }
    const u32 below = warp_max(moved.below), above = warp_min(moved.above);
    if (lane == 0) {
        atomicMax(&s.below, below);
        atomicMin(&s.above, above);
    }
}
// One thread: the node is written, unless its decrease is too small.
DEVICE void write_large_split(BlockState& s, double decrease) {
    u32 left_weight = 0;
    for (u32 k = 0; k < kClasses; ++k) {
        s.right_count[k] = s.task.count[k] - s.left_count[k];
        left_weight += s.left_count[k];
    }
    s.pair = write_split(s.task, Split{decrease, s.best_feature, s.below, s.above, s.cursor[0], left_weight});
    __threadfence();
}
DEVICE double decrease_of_best(const BlockState& s) {
    return decrease_of(s.best.score, squares_of(s.task.count), s.task.weight);
}
DEVICE bool is_worth_it(const BlockState& s) {
    return s.has_cut && !(plan.min_decrease > 0 && decrease_of_best(s) < plan.min_decrease);
}
