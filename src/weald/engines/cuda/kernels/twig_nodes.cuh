// A twig: all below a small node, grown by one warp. Its rows lie in the warp's shared memory.
//
//   Twig           where its rows, and the nodes made so far, are
//   write_twig     nodes in the order they were made -> in pre-order
//
// Nodes are made in pairs: the children of a node are next to each other. Only the other child waits on a stack, and
// the one with fewer rows is grown first, so the stack is short: its entries fit the lanes of the warp.

#pragma once

#include "nodes.cuh"
#include "search.cuh"

struct Twig {
    const u32* words;  // packed rows: word w of row r is words[w * word_step + where[r]]
    u32* where;        // by row; in shared memory r itself
    u16* labels;
    u8* index;  // rows of the node at hand, and of those that wait, node by node
    u16* scratch;
    u16* parent;
    WarpBins* bins;
    Node* nodes;
    u32 word_step, tree, n_nodes;
};

struct TwigCodes {
    const Twig& twig;
    const u8* rows;
    Field field;
    DEVICE u32 code(u32 i) const {
        return code_in(field, twig.words[field.word * twig.word_step + twig.where[rows[i]]]);
    }
    DEVICE u32 label(u32 i) const { return twig.labels[rows[i]]; }
};

DEVICE u32 code_in_twig(const Twig& twig, const Field& field, u32 row) {
    return code_in(field, twig.words[field.word * twig.word_step + twig.where[row]]);
}

DEVICE void write_pure_leaf(const Twig& twig, u32 node, u32 weight, u32 k) {  // one lane
    twig.nodes[node] = Node{0.0, weight, 0, kNone, 0, k, 1};
}
DEVICE u32 make_pair(Twig& twig, u32 parent, u32 lane) {
    const u32 pair = twig.n_nodes;
    twig.n_nodes += 2;
    if (lane < 2) {
        twig.parent[pair + lane] = static_cast<u16>(parent);
    }
    return pair;
}

// A node of a twig that was divided: its children are leaves, or one is next and the other waits.
struct Children {
    u32 left_classes, right_classes, left_weight, right_weight;
    DEVICE bool left_is_pure() const { return (left_classes & (left_classes - 1)) == 0; }
    DEVICE bool right_is_pure() const { return (right_classes & (right_classes - 1)) == 0; }
};
DEVICE void write_pure_children(const Twig& twig, u32 pair, const Children& c, u32 lane) {
    if (lane == 0 && c.left_is_pure()) {
        write_pure_leaf(twig, pair, c.left_weight, __ffs(c.left_classes) - 1);
    }
    if (lane == 1 && c.right_is_pure()) {
        write_pure_leaf(twig, pair + 1, c.right_weight, __ffs(c.right_classes) - 1);
    }
}

// Subtree sizes, counted upward from each node; then the place of each node in pre-order.
DEVICE void write_twig(const Twig& twig, u32* sizes, u32 record, u32 lane) {
    const u32 n = twig.n_nodes;
    Counters* c = plan.counters;
    u32 first = 0;
    for (u32 i = lane; i < n; i += 32) {
        sizes[i] = 0;
    }
    if (lane == 0) {
        first = atomicAdd(&c->node_tail, n);
        if (first + n > plan.node_room) {
            fail(kTooManyNodes);
            first = 0;
        }
    }
    first = from_lane(first, 0);
    __syncwarp();
#pragma unroll 1
    for (u32 i = lane; i < n; i += 32) {
        for (u32 above = i;; above = twig.parent[above]) {
            atomicAdd(&sizes[above], 1u);
            if (above == 0) {
                break;
            }
        }
    }
    __syncwarp();
#pragma unroll 1
    for (u32 i = lane; i < n; i += 32) {
        u32 place = 0;
        for (u32 above = i; above; above = twig.parent[above]) {
            place += above & 1 ? 1 : 1 + sizes[above - 1];  // left children have odd numbers
        }
        Node node = twig.nodes[i];
        if (node.feature != kNone) {
            node.right = place + 1 + sizes[node.right];
        }
        plan.nodes[first + place] = node;
    }
    if (lane == 0) {
        plan.records[record].first = first;
        plan.records[record].n_nodes = n;
    }
    __syncwarp();
}
