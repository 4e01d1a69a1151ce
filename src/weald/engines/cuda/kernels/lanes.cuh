// All below a node of up to 32 rows: a row is a lane, a set of rows a mask, a count the bits of a mask.
//
// A node of up to 16 rows looks at two features at once, of up to 8 rows at four, of up to 4 rows at eight: groups of
// lanes hold the same rows and different features.

#pragma once

#include "twig_nodes.cuh"

// The node at hand, as each lane sees it.
struct LaneNode {
    u32 group_bits, group, in_group, first_lane, full;  // lanes of a feature; `full`: a bit for each row
    u32 n_rows, row, label;                             // of the row that the lane holds; copies are 0 if it has none
    bool has_row;
    u32 weight_bits[4], weight_lanes;  // copies of the rows, bit by bit; those of many copies need more bits
    u32 classes, my_rows, my_weight;   // lane k: the rows of class k
    u32 weight, squares;
};

DEVICE u32 weight_of_rows(const LaneNode& node, u32 rows) {
    u32 sum = 0;
#pragma unroll
    for (u32 b = 0; b < 4; ++b) {
        sum += __popc(rows & node.weight_bits[b]) << b;
    }
    if (node.weight_lanes) {
        for (u32 b = 4; b < 8; ++b) {
            sum += __popc(rows & ballot(copies_of_label(node.label) >> b & 1) & node.full) << b;
        }
    }
    return sum;
}

// `mask`: lanes that hold the rows of the node; `held`: row and label of each lane.
DEVICE LaneNode enter_lane_node(u32 mask, u32 held, u8* order, u32 lane) {
    LaneNode node;
    node.n_rows = __popc(mask);
    node.group_bits = node.n_rows <= 4 ? 2 : node.n_rows <= 8 ? 3 : node.n_rows <= 16 ? 4 : 5;
    node.group = 1u << node.group_bits;
    node.in_group = lane & (node.group - 1);
    node.first_lane = lane & ~(node.group - 1);
    node.full = node.n_rows == 32 ? ~0u : (1u << node.n_rows) - 1;
    __syncwarp();
    if (mask >> lane & 1) {
        order[__popc(mask & lanes_below(lane))] = static_cast<u8>(lane);
    }
    __syncwarp();
    node.has_row = node.in_group < node.n_rows;
    const u32 both = from_lane(held, node.has_row ? order[node.in_group] : 0);
    node.row = both & 0xffff;
    node.label = node.has_row ? both >> 16 : 0;
    const u32 copies = copies_of_label(node.label);
#pragma unroll
    for (u32 b = 0; b < 4; ++b) {
        node.weight_bits[b] = ballot(copies >> b & 1) & node.full;
    }
    node.weight_lanes = any(copies > 15);
    const u32 k = class_of_label(node.label);
    node.classes = warp_or(node.has_row ? 1u << k : 0);
    node.my_rows = node.my_weight = node.weight = node.squares = 0;
#pragma unroll 1
    for (u32 left = node.classes; left; left &= left - 1) {
        const u32 q = __ffs(left) - 1, rows = ballot(node.has_row && k == q) & node.full;
        const u32 weight = weight_of_rows(node, rows);
        if (lane == q) {
            node.my_rows = rows;
            node.my_weight = weight;
        }
        node.weight += weight;
        node.squares += weight * weight;
    }
    return node;
}

// The rows of the lane's group whose code is at most the lane's own. `differs`: bits in which codes of a group differ.
DEVICE u32 rows_up_to(const LaneNode& node, u32 code, u32 differs) {
    if (node.n_rows <= static_cast<u32>(__popc(differs))) {
        u32 rows = 0;
#pragma unroll 2
        for (u32 i = 0; i < node.n_rows; ++i) {
            rows |= static_cast<u32>(from_lane(code, node.first_lane + i) <= code) << i;
        }
        return rows;
    }
    u32 equal = node.full, less = 0;
#pragma unroll 1
    for (u32 left = differs; left;) {
        const u32 bit = 31 - __clz(left);
        left ^= 1u << bit;
        const bool is_one = code >> bit & 1;
        const u32 ones = ballot(is_one) >> node.first_lane;
        if (is_one) {
            less |= equal & ~ones;
            equal &= ones;
        } else {
            equal &= ~ones;
        }
    }
    return less | equal;
}

// Groups for which p holds in some lane.
DEVICE u32 count_groups(const LaneNode& node, bool p) {
    const u32 lanes = ballot(p), of_group = node.group == 32 ? ~0u : (1u << node.group) - 1;
    u32 n = 0;
    for (u32 first = 0; first < 32; first += node.group) {
        n += (lanes >> first & of_group) != 0;
    }
    return n;
}

// The best cut by the features of the draw, in the lanes.
DEVICE Best search_lanes(const Twig& twig, const LaneNode& node, FeatureDraw& draw, u32 lane) {
    Best best = no_cut();
    float top = 0;
    u32 n_found = 0;
#pragma unroll 1
    while (n_found < plan.max_features && has_next(draw)) {
        const u32 first = draw.step, left = plan.n_features - first, wanted = plan.max_features - n_found;
        u32 n = 32u >> node.group_bits, mine = 0;
        n = n < wanted ? n : wanted;
        n = n < left ? n : left;
        const u32 group = lane >> node.group_bits;
        for (u32 j = 0; j < n; ++j) {
            const u32 feature = next_feature(draw, lane);
            mine = j == group || j == 0 ? feature : mine;
        }
        const bool counts = node.has_row && group < n;
        const Field field = field_of(mine);
        const u32 code = node.has_row ? code_in_twig(twig, field, node.row) : 0;
        const u32 first_code = from_lane(code, node.first_lane);
        const u32 differs = warp_or(node.has_row ? code ^ first_code : 0);
        if (differs == 0) {
            continue;
        }
        const u32 rows = rows_up_to(node, code, differs);
        u32 left_squares = 0, right_squares = 0, left_weight = 0;
#pragma unroll 1
        for (u32 classes = node.classes; classes; classes &= classes - 1) {
            const u32 k = __ffs(classes) - 1;
            const u32 l = weight_of_rows(node, rows & from_lane(node.my_rows, k)), r = from_lane(node.my_weight, k) - l;
            left_squares += l * l;
            right_squares += r * r;
            left_weight += l;
        }
        const u32 right_weight = node.weight - left_weight;
        const bool admissible = counts && is_admissible(left_weight, right_weight);
        n_found += count_groups(node, admissible);
        const float score = admissible ? near(left_squares, left_weight, right_squares, right_weight) : 0.0f;
        if (any(admissible && score >= top * (1.0f - kMargin))) {
            const double s = admissible ? exact(left_squares, left_weight, right_squares, right_weight) : 0.0;
            if (s > best.score) {  // later features lose ties
                best = Best{s, first + group, unevenness(left_weight, right_weight), code};
            }
            top = fmaxf(top, __uint_as_float(warp_max(__float_as_uint(score))));
            if (any(s == static_cast<double>(node.weight))) {
                break;  // both sides are pure: later features can only tie
            }
        }
    }
    return best_of_warp(best);
}

// A leaf of several classes.
DEVICE void write_lane_leaf(const Twig& twig, u32 number, const LaneNode& node, u32 lane) {
    const u32 n = __popc(node.classes);
    u32 place = 0;
    if (lane == 0) {
        place = atomicAdd(&plan.counters->pool_tail, n);
        if (place + n > plan.pool_room) {
            fail(kTooManyEntries);
            place = 0;
        }
        twig.nodes[number] = Node{0.0, node.weight, 0, kNone, 0, place, n};
    }
    place = from_lane(place, 0);
    if (node.classes >> lane & 1) {
        uint2 entry;
        entry.x = lane;
        entry.y = node.my_weight;
        plan.pool[place + __popc(node.classes & lanes_below(lane))] = entry;
    }
}

// What waits: one entry a lane.
struct LaneStack {
    u32 mask, id_low, id_high, node, depth;
    u32 n;
};

// `first`, `n`: the rows in the twig's index.
DEVICE void grow_lanes(Twig& twig, u32 first, u32 n, u64 id, u32 number, u32 depth, u32 lane) {
    const u32 own = lane < n ? twig.index[first + lane] : 0;
    const u32 held = own | (lane < n ? static_cast<u32>(twig.labels[own]) : 0) << 16;
    u8* order = reinterpret_cast<u8*>(twig.bins->bins);
    u32 mask = n == 32 ? ~0u : (1u << n) - 1;
    LaneStack stack = {};
#pragma unroll 1
    for (;;) {
        const LaneNode node = enter_lane_node(mask, held, order, lane);
        FeatureDraw draw;
        Best best = no_cut();
        if (!stops(node.weight, depth)) {
            draw = begin_draw(id, twig.tree, lane);
            best = search_lanes(twig, node, draw, lane);
        }
        const double decrease = best.score > 0 ? decrease_of(best.score, node.squares, node.weight) : 0;
        mask = 0;
        if (best.score == 0 || (plan.min_decrease > 0 && decrease < plan.min_decrease)) {
            write_lane_leaf(twig, number, node, lane);
        } else {
            const u32 feature = feature_at(draw, best.order, lane), pair = make_pair(twig, number, lane);
            const Field field = field_of(feature);
            const u32 code = code_in_twig(twig, field, node.row);
            const bool is_row = lane < node.n_rows, is_left = is_row && code <= best.cut, is_right = is_row && !is_left;
            const u32 holder = node.has_row ? order[node.in_group] : 0;
            const u32 lefts = warp_or(is_left ? 1u << holder : 0), rights = warp_or(is_right ? 1u << holder : 0);
            const u32 k = class_of_label(node.label), left_weight = weight_of_rows(node, ballot(is_left));
            const Children children{warp_or(is_left ? 1u << k : 0), warp_or(is_right ? 1u << k : 0), left_weight,
                                    node.weight - left_weight};
            const u32 below = warp_max(is_left ? code : 0), above = warp_min(is_right ? code : kNone);
            if (lane == 0) {
                twig.nodes[number] =
                    Node{decrease, node.weight, pair, feature, flags_of(left_weight, node.weight), below, above};
            }
            write_pure_children(twig, pair, children, lane);
            const bool left_ends = children.left_is_pure(), right_ends = children.right_is_pure();
            const u32 side = left_ends || (!right_ends && __popc(lefts) > __popc(rights));  // the next one
            ++depth;
            if (!left_ends && !right_ends) {
                const u64 other = id_of_child(id, 1 - side);
                if (lane == stack.n) {
                    stack.mask = side ? lefts : rights;
                    stack.id_low = static_cast<u32>(other);
                    stack.id_high = static_cast<u32>(other >> 32);
                    stack.node = pair + 1 - side;
                    stack.depth = depth;
                }
                ++stack.n;
            }
            if (!left_ends || !right_ends) {
                mask = side ? rights : lefts;
                id = id_of_child(id, side);
                number = pair + side;
            }
        }
        if (mask == 0) {
            if (stack.n == 0) {
                break;
            }
            --stack.n;
            mask = from_lane(stack.mask, stack.n);
            id = from_lane(stack.id_low, stack.n) | static_cast<u64>(from_lane(stack.id_high, stack.n)) << 32;
            number = from_lane(stack.node, stack.n);
            depth = from_lane(stack.depth, stack.n);
        }
    }
    __syncwarp();
}
