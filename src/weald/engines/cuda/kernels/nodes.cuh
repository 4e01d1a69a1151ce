// Nodes of the upper tiers, and the queues in which they wait.
//
//   take          the next task of a queue
//   place_node    a new node -> a leaf, or a task of the tier for its size
//   write_split   a node was divided
//   place_roots   the roots, from the bags
//
// The order of a queue depends on timing, the forest does not: a node is known by its id, and order.cuh puts nodes in
// order at the end.

#pragma once

#include "draws.cuh"
#include "scores.cuh"

// Waits for the next task. kNone: there are none left, and none can come.
DEVICE u32 take(u32* head, const u32* pending, const u32* ready, u32 room) {
    const u32 ticket = atomicAdd(head, 1u);
    if (ticket >= room) {
        return kNone;
    }
    while (!load_shared_word(ready + ticket)) {
        if (load_shared_word(pending) == 0) {
            return kNone;
        }
        nap();
    }
    __threadfence();
    return ticket;
}
// After its children were placed: now the queue may be empty for good.
DEVICE void finish(u32* pending, u32 n) {
    __threadfence();
    atomicAdd(pending, 0u - n);
}

DEVICE void fail(u32 error) {
    plan.counters->error = error;
}

DEVICE bool stops(u32 weight, u32 depth) {
    return weight < plan.min_split || depth >= plan.max_depth;
}

// A leaf of the given class counts. Several classes are entries of the pool.
DEVICE Node leaf_of_counts(const u32* counts, u32 weight) {
    u32 n = 0, only = 0;
    for (u32 k = 0; k < kClasses; ++k) {
        n += counts[k] != 0;
        only = counts[k] != 0 ? k : only;
    }
    if (n == 1) {
        return Node{0.0, weight, 0, kNone, 0, only, 1};
    }
    u32 place = atomicAdd(&plan.counters->pool_tail, n);
    if (place + n > plan.pool_room) {
        fail(kTooManyEntries);
        place = 0;
    }
    Node leaf{0.0, weight, 0, kNone, 0, place, n};
    for (u32 k = 0; k < kClasses; ++k) {
        if (counts[k] != 0) {
            plan.pool[place].x = k;
            plan.pool[place].y = counts[k];
            ++place;
        }
    }
    return leaf;
}

DEVICE bool is_pure(const u32* counts) {
    u32 n = 0;
    for (u32 k = 0; k < kClasses; ++k) {
        n += counts[k] != 0;
    }
    return n <= 1;
}

DEVICE void write_leaf_record(u32 record, const u32* counts, u32 weight) {
    Record& r = plan.records[record];
    r.kind = kLeaf;
    r.n_nodes = 1;
    r.node = leaf_of_counts(counts, weight);
}

DEVICE void push(Task* tasks, u32* ready, u32* tail, u32* pending, u32 room, const Task& task) {
    const u32 place = atomicAdd(tail, 1u);
    if (place >= room) {
        fail(kTooManyTasks);
        return;
    }
    tasks[place] = task;
    atomicAdd(pending, 1u);
    __threadfence();
    atomicAdd(&ready[place], 1u);
}

DEVICE void push_huge(const Task& task);

// The node of a new task: its record is there, the rest of it is found out here.
DEVICE_CALL void place_node(Task& task, u32 parent) {
    task.weight = 0;
    for (u32 k = 0; k < kClasses; ++k) {
        task.weight += task.count[k];
    }
    Counters* c = plan.counters;
    Record& r = plan.records[task.record];
    r.parent = parent;
    r.tree = task.tree;
    r.total = 0;
    r.left = 0;
    r.first = 0;
    if (is_pure(task.count) || stops(task.weight, task.depth)) {
        write_leaf_record(task.record, task.count, task.weight);
        return;
    }
    r.kind = kSplit;
    r.n_nodes = 1;
    if (task.n_rows > plan.huge_rows) {
        push_huge(task);
    } else if (task.n_rows > plan.middle_rows || task.weight > kMostPacked) {
        push(plan.large_tasks, plan.large_ready, &c->large_tail, &c->large_pending, plan.large_room, task);
    } else if (task.n_rows > plan.twig_rows) {
        push(plan.middle_tasks, plan.middle_ready, &c->middle_tail, &c->middle_pending, plan.middle_room, task);
    } else {
        const u32 place = atomicAdd(&c->twig_tail, 1u);
        if (place >= plan.twig_room) {
            fail(kTooManyTasks);
            return;
        }
        r.kind = kTwig;
        r.n_nodes = 0;
        plan.twig_tasks[place] =
            TwigTask{task.id, task.tree, task.begin, task.n_rows, task.list, task.record, task.depth};
    }
}

// Where missing values go that the node did not see: to the heavier side, left on a tie.
DEVICE u32 flags_of(u32 left_weight, u32 weight) {
    return 2 * left_weight >= weight ? kMissingLeft : 0;
}

struct Split {
    double decrease;
    u32 feature, below, above;  // the codes on both sides of the cut
    u32 left_rows, left_weight;
};
// Writes the node, and returns the record of its left child; that of the right child is the next.
DEVICE u32 write_split(const Task& task, const Split& split) {
    u32 pair = atomicAdd(&plan.counters->record_tail, 2u);
    if (pair + 1 >= plan.record_room) {
        fail(kTooManyRecords);
        pair = 0;
    }
    Record& r = plan.records[task.record];
    r.left = pair;
    r.node = Node{split.decrease, task.weight, 0, split.feature, flags_of(split.left_weight, task.weight),
                  split.below,    split.above};
    return pair;
}
// The task of a child; its counts are still those of its own side.
DEVICE void place_child(const Task& task, u32 side, u32 left_rows, u32 record, const u32* counts) {
    Task child;
    child.id = id_of_child(task.id, side);
    child.tree = task.tree;
    child.begin = side ? task.begin + left_rows : task.begin;
    child.n_rows = side ? task.n_rows - left_rows : left_rows;
    child.list = 1 - task.list;
    child.record = record;
    child.depth = task.depth + 1;
    child.padding = 0;
    for (u32 k = 0; k < kClasses; ++k) {
        child.count[k] = counts[k];
    }
    place_node(child, task.record);
}

KERNEL(64, 1) place_roots() {
    const u32 tree = blockIdx.x * blockDim.x + threadIdx.x;
    if (tree >= plan.n_trees) {
        return;
    }
    Task task;
    task.id = 1;
    task.tree = tree;
    task.begin = tree * plan.n_rows;
    task.n_rows = plan.tree_rows[tree];
    task.list = 0;
    task.record = tree;
    task.depth = 0;
    task.padding = 0;
    for (u32 k = 0; k < kClasses; ++k) {
        task.count[k] = plan.tree_counts[tree * kClasses + k];
    }
    place_node(task, kNone);
}
