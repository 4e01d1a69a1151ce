// Twigs: a warp takes a small node, and grows all below it. Warps do not wait for each other.
//
// Nodes of more than 32 rows are searched feature by feature (search.cuh), smaller ones lane by lane (lanes.cuh).

#pragma once

#include "lanes.cuh"

constexpr u32 kTwigWarps = 4;
#define TWIG_THREADS 128

// The node at hand. 16 bits are enough for places in a twig.
struct TwigNode {
    u64 id;
    u32 first, n_rows, number, depth;
};
struct TwigStack {
    u32 rows, node, id_low, id_high, depth;
    u32 n;
};

// The shared memory of a warp.
DEVICE u32 twig_bytes() {
    const u32 words = plan.twig_in_shared && plan.row_words > 2 ? plan.row_words : 2;  // also of subtree sizes
    return (sizeof(WarpBins) + plan.twig_rows * (4 * words + 4 + 2 + 2 + 4 + 1) + 15) / 16 * 16;
}
DEVICE Twig place_twig(char* memory) {
    Twig twig;
    const u32 n = plan.twig_rows, words = plan.twig_in_shared && plan.row_words > 2 ? plan.row_words : 2;
    twig.bins = reinterpret_cast<WarpBins*>(memory);
    u32* rows = reinterpret_cast<u32*>(twig.bins + 1);
    twig.words = plan.twig_in_shared ? rows : plan.rows;
    twig.word_step = plan.twig_in_shared ? n : 1;
    twig.where = rows + words * n;
    twig.labels = reinterpret_cast<u16*>(twig.where + n);
    twig.scratch = twig.labels + n;
    twig.parent = twig.scratch + n;
    twig.index = reinterpret_cast<u8*>(twig.parent + 2 * n);
    twig.n_nodes = 1;
    twig.tree = 0;
    twig.nodes = plan.twig_scratch + static_cast<u64>(blockIdx.x * kTwigWarps + threadIdx.x / 32) * 2 * n;
    return twig;
}
DEVICE u32* sizes_in(const Twig& twig) {  // where rows were, when all is grown
    return reinterpret_cast<u32*>(twig.bins + 1);
}

DEVICE void load_twig(const Twig& twig, const TwigTask& task, u32 lane) {
    const Entry* entries = list_of(task.list, task.begin);
    u32* rows = reinterpret_cast<u32*>(twig.bins + 1);
#pragma unroll 1
    for (u32 i = lane; i < task.n_rows; i += 32) {
        const Entry entry = entries[i];
        const u32* from = plan.rows + entry.x * plan.row_stride;
        twig.labels[i] = static_cast<u16>(make_label(class_of(entry), copies_of(entry)));
        twig.index[i] = static_cast<u8>(i);
        twig.where[i] = plan.twig_in_shared ? i : entry.x * plan.row_stride;
        if (!plan.twig_in_shared) {
            continue;
        }
#pragma unroll 2
        for (u32 w = 0; w < plan.row_words; w += 4) {  // rows are padded to 16 bytes
            const uint4 four = *reinterpret_cast<const uint4*>(from + w);
            rows[w * plan.twig_rows + i] = four.x;
            if (w + 1 < plan.row_words) {
                rows[(w + 1) * plan.twig_rows + i] = four.y;
            }
            if (w + 2 < plan.row_words) {
                rows[(w + 2) * plan.twig_rows + i] = four.z;
            }
            if (w + 3 < plan.row_words) {
                rows[(w + 3) * plan.twig_rows + i] = four.w;
            }
        }
    }
    __syncwarp();
}

// Counts the classes of the node, and numbers them in the labels.
DEVICE NodeCounts count_twig_node(const Twig& twig, const TwigNode& at, u32& classes, u32 lane) {
    NodeCounts node = {};
    node.n_rows = at.n_rows;
    u32 seen = 0;
#pragma unroll 1
    for (u32 i = lane; i < at.n_rows; i += 32) {
        seen |= 1u << class_of_label(twig.labels[twig.index[at.first + i]]);
    }
    classes = warp_or(seen);
    node.n_classes = __popc(classes);
#pragma unroll 1
    for (u32 i = lane; i < at.n_rows; i += 32) {
        u16& label = twig.labels[twig.index[at.first + i]];
        label = static_cast<u16>(numbered(label, classes));
        add_label<kPairs>(node.counts, label);
    }
#pragma unroll
    for (u32 w = 0; w < kPairs; ++w) {
        node.counts[w] = warp_sum(node.counts[w]);
    }
    node.weight = weight_of<kPairs>(node.counts);
    __syncwarp();
    return node;
}

DEVICE Best search_twig_node(const Twig& twig, const TwigNode& at, const NodeCounts& node, FeatureDraw& draw,
                             u32 lane) {
    Best best = no_cut();
    u32 n_found = 0, best_near = 0;
#pragma unroll 1
    while (n_found < plan.max_features && has_next(draw)) {
        const u32 step = draw.step;
        const TwigCodes codes{twig, twig.index + at.first, field_of(next_feature(draw, lane))};
        u32 low = kNone, high = 0;
#pragma unroll 2
        for (u32 i = lane; i < at.n_rows; i += 32) {
            const u32 code = codes.code(i);
            low = code < low ? code : low;
            high = code > high ? code : high;
        }
        low = warp_min(low);
        high = warp_max(high);
        if (low == high) {
            continue;
        }
        n_found += search_feature<false>(codes, *twig.bins, node, twig.scratch, nullptr, low, high, step, best_near,
                                         best, lane);
        if (any(best.score == static_cast<double>(node.weight))) {
            break;  // both sides are pure: later features can only tie
        }
    }
    return best_of_warp(best);
}

// A leaf of several classes.
DEVICE void write_twig_leaf(const Twig& twig, u32 number, const NodeCounts& node, u32 classes, u32 lane) {
    if (lane != 0) {
        return;
    }
    u32 counts[kClasses], n = 0;
#pragma unroll
    for (u32 k = 0; k < kClasses; ++k) {
        counts[k] = 0;
        if (classes >> k & 1) {
            counts[k] = count_at(node.counts, n);
            ++n;
        }
    }
    twig.nodes[number] = leaf_of_counts(counts, node.weight);
}

struct Divided {
    u32 left_rows, below, above;
    Children children;
};
// Rows on the left come first in the index.
DEVICE Divided divide_twig_node(const Twig& twig, const TwigNode& at, const Field& field, u32 cut, u32 weight,
                                u32 lane) {
    Divided d = {};
    u8* index = twig.index + at.first;
    u32 n_left = 0, n_right = 0, below = 0, above = kNone, left_classes = 0, right_classes = 0, left_weight = 0;
#pragma unroll 1
    for (u32 first = 0; first < at.n_rows; first += 32) {
        const bool is_row = first + lane < at.n_rows;
        const u32 row = is_row ? index[first + lane] : 0, label = twig.labels[row];
        const u32 code = code_in_twig(twig, field, row);
        const bool is_left = is_row && code <= cut, is_right = is_row && !is_left;
        __syncwarp();  // all have read their row
        const u32 lefts = ballot(is_left), rights = ballot(is_right);
        if (is_left) {
            index[n_left + __popc(lefts & lanes_below(lane))] = static_cast<u8>(row);
            below = code > below ? code : below;
            left_classes |= 1u << class_of_label(label);
            left_weight += copies_of_label(label);
        } else if (is_right) {
            twig.scratch[n_right + __popc(rights & lanes_below(lane))] = static_cast<u16>(row);
            above = code < above ? code : above;
            right_classes |= 1u << class_of_label(label);
        }
        n_left += __popc(lefts);
        n_right += __popc(rights);
    }
    __syncwarp();
#pragma unroll 1
    for (u32 i = lane; i < n_right; i += 32) {
        index[n_left + i] = static_cast<u8>(twig.scratch[i]);
    }
    d.left_rows = n_left;
    d.below = warp_max(below);
    d.above = warp_min(above);
    d.children.left_classes = warp_or(left_classes);
    d.children.right_classes = warp_or(right_classes);
    d.children.left_weight = warp_sum(left_weight);
    d.children.right_weight = weight - d.children.left_weight;
    __syncwarp();
    return d;
}

// Divides the node at hand; afterwards it is the next one, or has no rows.
DEVICE void grow_twig_node(Twig& twig, TwigNode& at, TwigStack& stack, u32 lane) {
    u32 classes;
    const NodeCounts node = count_twig_node(twig, at, classes, lane);
    FeatureDraw draw;
    Best best = no_cut();
    if (!stops(node.weight, at.depth)) {
        draw = begin_draw(at.id, twig.tree, lane);
        best = search_twig_node(twig, at, node, draw, lane);
    }
    const double decrease =
        best.score > 0 ? decrease_of(best.score, packed_squares<kPairs>(node.counts), node.weight) : 0;
    if (best.score == 0 || (plan.min_decrease > 0 && decrease < plan.min_decrease)) {
        write_twig_leaf(twig, at.number, node, classes, lane);
        at.n_rows = 0;
        return;
    }
    const u32 feature = feature_at(draw, best.order, lane), pair = make_pair(twig, at.number, lane);
    const Divided d = divide_twig_node(twig, at, field_of(feature), best.cut, node.weight, lane);
    if (lane == 0) {
        twig.nodes[at.number] =
            Node{decrease, node.weight, pair, feature, flags_of(d.children.left_weight, node.weight), d.below, d.above};
    }
    write_pure_children(twig, pair, d.children, lane);
    const bool left_ends = d.children.left_is_pure(), right_ends = d.children.right_is_pure();
    const u32 side = left_ends || (!right_ends && 2 * d.left_rows > at.n_rows);  // the next one
    const TwigNode before = at;
    if (!left_ends && !right_ends) {
        const u64 other = id_of_child(before.id, 1 - side);
        const u32 first = side ? before.first : before.first + d.left_rows;
        const u32 n = side ? d.left_rows : before.n_rows - d.left_rows;
        if (lane == stack.n) {
            stack.rows = first | n << 16;
            stack.node = pair + 1 - side;
            stack.id_low = static_cast<u32>(other);
            stack.id_high = static_cast<u32>(other >> 32);
            stack.depth = before.depth + 1;
        }
        ++stack.n;
    }
    at.n_rows = 0;
    if (!left_ends || !right_ends) {
        at.id = id_of_child(before.id, side);
        at.first = side ? before.first + d.left_rows : before.first;
        at.n_rows = side ? before.n_rows - d.left_rows : d.left_rows;
        at.number = pair + side;
        at.depth = before.depth + 1;
    }
}

DEVICE void grow_twig(Twig& twig, const TwigTask& task, u32 lane) {
    twig.tree = task.tree;
    twig.n_nodes = 1;
    load_twig(twig, task, lane);
    TwigNode at{task.id, 0, task.n_rows, 0, task.depth};
    TwigStack stack = {};
#pragma unroll 1
    for (;;) {
        if (at.n_rows == 0) {
            if (stack.n == 0) {
                break;
            }
            --stack.n;
            const u32 rows = from_lane(stack.rows, stack.n);
            at.first = rows & 0xffff;
            at.n_rows = rows >> 16;
            at.number = from_lane(stack.node, stack.n);
            at.id = from_lane(stack.id_low, stack.n) | static_cast<u64>(from_lane(stack.id_high, stack.n)) << 32;
            at.depth = from_lane(stack.depth, stack.n);
        }
        if (at.n_rows <= 32) {
            grow_lanes(twig, at.first, at.n_rows, at.id, at.number, at.depth, lane);
            at.n_rows = 0;
        } else {
            grow_twig_node(twig, at, stack, lane);
        }
    }
    __syncwarp();
    write_twig(twig, sizes_in(twig), task.record, lane);
}

KERNEL(TWIG_THREADS, 8) grow_twigs() {
    SHARED_MEMORY(memory);
    const u32 lane = lane_of_thread();
    Twig twig = place_twig(memory + threadIdx.x / 32 * twig_bytes());
    const u32 n_tasks = plan.counters->twig_tail < plan.twig_room ? plan.counters->twig_tail : plan.twig_room;
#pragma unroll 1
    for (;;) {
        u32 ticket = 0;
        if (lane == 0) {
            ticket = atomicAdd(&plan.counters->twig_head, 1u);
        }
        ticket = from_lane(ticket, 0);
        if (ticket >= n_tasks) {
            return;
        }
        grow_twig(twig, plan.twig_tasks[ticket], lane);
    }
}
