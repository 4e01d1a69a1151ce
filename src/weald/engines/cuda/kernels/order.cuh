// Trees in pre-order: the records of the upper tiers and the nodes of twigs -> arrays.
//
//   count_nodes   nodes from each record on down
//   start_trees   where each tree begins
//   write_nodes   a warp for each record: its nodes, at their place
//   measure       sizes of structures

#pragma once

#include "huge.cuh"
#include "middle.cuh"
#include "twigs.cuh"

constexpr u32 kOrderThreads = 256;

KERNEL(kOrderThreads, 4) count_nodes() {
    const u32 n = plan.counters->record_tail;
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        for (u32 above = i; above != kNone; above = plan.records[above].parent) {
            atomicAdd(&plan.records[above].total, plan.records[i].n_nodes);
        }
    }
}

KERNEL(32, 1) start_trees() {
    if (threadIdx.x == 0) {
        u32 start = 0;
        for (u32 tree = 0; tree < plan.n_trees; ++tree) {
            plan.tree_start[tree] = start;
            start += plan.records[tree].total;
        }
        plan.tree_start[plan.n_trees] = start;
    }
}

// Midpoint of the values on both sides, so that those below go left.
DEVICE double threshold_of(const Node& node) {
    if (node.feature == kNone) {
        return 0.0;
    }
    const u32 first = plan.first_value[node.feature];
    const double a = plan.highs[first + node.below], b = plan.lows[first + node.above], t = a / 2 + b / 2;
    return a <= t && t < b ? t : a;
}
// `leaf`: its number, if it is one.
DEVICE void write_node(u64 place, const Node& node, u32 right, u64 leaf) {
    plan.out_feature[place] = static_cast<int>(node.feature);
    plan.out_threshold[place] = threshold_of(node);
    plan.out_right[place] = right;
    plan.out_flags[place] = static_cast<u8>(node.flags);
    plan.out_size[place] = node.size;
    plan.out_decrease[place] = node.decrease;
    if (node.feature == kNone) {
        plan.out_leaf_length[leaf] = node.above;
        plan.out_leaf_class[leaf] = static_cast<int>(node.below);
        plan.out_leaf_weight[leaf] = static_cast<double>(node.size);
    }
}

// Nodes and leaves of the tree before a record: each step to the left child passes the parent, each step to the right
// one also all of the left child. A subtree of n nodes has (n + 1) / 2 leaves.
struct Before {
    u32 nodes, leaves;
};
DEVICE Before before_record(u32 record) {
    Before before{0, 0};
    for (u32 i = record; plan.records[i].parent != kNone;) {
        const u32 parent = plan.records[i].parent;
        ++before.nodes;
        if (i != plan.records[parent].left) {
            before.nodes += plan.records[i - 1].total;
            before.leaves += (plan.records[i - 1].total + 1) / 2;
        }
        i = parent;
    }
    return before;
}

KERNEL(kOrderThreads, 4) write_nodes() {
    const u32 n = plan.counters->record_tail, lane = lane_of_thread();
    const u32 first = (blockIdx.x * blockDim.x + threadIdx.x) / 32, step = gridDim.x * blockDim.x / 32;
    for (u32 i = first; i < n; i += step) {
        const Record& r = plan.records[i];
        const Before before = before_record(i);
        const u32 tree_start = plan.tree_start[r.tree];
        const u64 start = static_cast<u64>(tree_start) + before.nodes;
        u64 leaf = (static_cast<u64>(tree_start) + r.tree) / 2 + before.leaves;
        if (r.kind != kTwig) {
            if (lane == 0) {
                write_node(start, r.node, r.kind == kSplit ? before.nodes + 1 + plan.records[r.left].total : 0, leaf);
            }
            continue;
        }
        for (u32 k = 0; k < r.n_nodes; k += 32) {
            const bool is_node = k + lane < r.n_nodes;
            const Node node = plan.nodes[r.first + (is_node ? k + lane : 0)];
            const u32 leaves = ballot(is_node && node.feature == kNone);
            if (is_node) {
                write_node(start + k + lane, node, node.feature == kNone ? 0 : before.nodes + node.right,
                           leaf + __popc(leaves & lanes_below(lane)));
            }
            leaf += __popc(leaves);
        }
    }
}

// Sizes of structures, for the host: plan.py names them.
KERNEL(32, 1) measure() {
    if (threadIdx.x == 0) {
        const u32 sizes[] = {sizeof(BlockState), sizeof(MiddleState), sizeof(MiddleWarp), sizeof(WarpBins),
                             sizeof(Task),       sizeof(TwigTask),    sizeof(Record),     sizeof(Node),
                             sizeof(Counters),   sizeof(HugeWork),    sizeof(Plan)};
        for (u32 i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
            plan.measures[i] = sizes[i];
        }
    }
}
