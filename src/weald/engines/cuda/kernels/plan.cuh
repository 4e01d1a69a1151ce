// What all kernels share: the plan of a batch of trees, nodes, and the tasks that wait in queues.
//
//   Plan      sizes and arrays; plan.py reads this declaration, so each member has a line of its own
//   Field     where the code of a feature is in a packed row
//   Entry     a row of a node: its number, how often it was drawn, its class
//   Node      a grown node
//   Task      a node that waits to be divided, with its class counts
//   TwigTask  a small node, all below which one warp grows
//   Record    a node of the upper tiers, or all of a twig, until the trees are put in order
//
// A module is compiled for CLASSES: 2, or up to 8.

#pragma once

#include "platform.cuh"

constexpr u32 kNone = 0xffffffffu;
constexpr u32 kClasses = CLASSES;
constexpr u32 kPairs = kClasses / 2;  // words with the counts of two classes each, of nodes of up to kMostPacked draws
constexpr u32 kMostPacked = 65535;
constexpr u32 kFeaturesAtOnce = 16;  // whose bins a block fills in one pass over the rows
constexpr u32 kMostSlots = 64;       // bins that are refined in one pass
constexpr u32 kMissingLeft = 1;      // flag of a node: missing values go left

struct Field {
    u32 word, shift, mask, missing;  // `missing`: the code of missing values; kNone: there are none
};

typedef uint2 Entry;  // x: the row; y: copies in the bag, and the class from bit 24
DEVICE u32 copies_of(Entry e) {
    return e.y & 0xffffffu;
}
DEVICE u32 class_of(Entry e) {
    return e.y >> 24;
}

// A leaf has feature kNone, in `above` its number of classes, and in `below` the class, or where in the pool of leaf
// entries its classes begin.
struct Node {
    double decrease;
    u32 size, right, feature, flags, below, above;
};

struct Task {
    u64 id;
    u32 tree, begin, n_rows, list, record, weight, depth, padding;
    u32 count[kClasses];
};

struct TwigTask {
    u64 id;
    u32 tree, begin, n_rows, list, record, depth;
};

enum Kind : u32 { kSplit, kLeaf, kTwig };

struct Record {
    Node node;
    u32 left, parent, tree, kind;
    u32 first, n_nodes;  // of a twig: where its nodes are
    u32 total, padding;  // nodes from here on down
};

struct Counters {
    u32 huge_head, huge_tail, huge_pending;
    u32 large_head, large_tail, large_pending;
    u32 middle_head, middle_tail, middle_pending;
    u32 twig_head, twig_tail;
    u32 work_tail, record_tail, node_tail, pool_tail;
    u32 error;
};

// Which array was too small.
enum Error : u32 { kNoError, kTooManyTasks, kTooManyRecords, kTooManyNodes, kTooManyEntries, kTooManyHuge };

struct HugeWork;

struct Plan {
    // The table: packed rows, classes, and where features are; and the extremes of each code, feature by feature.
    const u32* rows;
    const u8* classes;
    const Field* fields;
    const double* lows;
    const double* highs;
    const u32* first_value;
    // Bags: a byte for each row of each tree, and the rows before each chunk.
    u32* copies;
    u32* chunk_rows;
    u32* tree_rows;
    u32* tree_counts;
    // Rows of nodes; a split moves them from one list to the other.
    Entry* lists;
    // Queues.
    Counters* counters;
    u64* huge_tasks;
    u32* huge_ready;
    HugeWork* huge_work;
    u32* huge_bins;
    u32* huge_fine;
    float* huge_bounds;
    u16* huge_slots;
    Task* large_tasks;
    u32* large_ready;
    Task* middle_tasks;
    u32* middle_ready;
    u16* middle_scratch;
    TwigTask* twig_tasks;
    Node* twig_scratch;
    // Results.
    u32* measures;
    Record* records;
    Node* nodes;
    uint2* pool;
    u32* tree_start;
    int* out_feature;
    double* out_threshold;
    u32* out_right;
    u8* out_flags;
    u32* out_size;
    double* out_decrease;
    u32* out_leaf_length;
    int* out_leaf_class;
    double* out_leaf_weight;
    // The table.
    u32 n_rows;
    u32 n_features;
    u32 n_classes;
    u32 row_words;
    u32 row_stride;
    // The trees.
    u32 n_trees;
    u32 first_tree;
    u32 seed_low;
    u32 seed_high;
    u32 n_draws;
    u32 max_features;
    u32 ties_by_column;
    u32 max_depth;
    u32 min_split;
    u32 min_leaf;
    // How work is divided.
    u32 bag_words;
    u32 n_chunks;
    u32 huge_rows;
    u32 middle_rows;
    u32 twig_rows;
    u32 bin_bits;
    u32 fine_words;
    u32 features_at_once;
    u32 twig_in_shared;
    // Room in the arrays.
    u32 huge_room;
    u32 work_room;
    u32 large_room;
    u32 middle_room;
    u32 twig_room;
    u32 record_room;
    u32 node_room;
    u32 pool_room;
    double root_weight;
    double min_decrease;
};

extern "C" {
CONSTANT Plan plan;
}

DEVICE Field field_of(u32 feature) {
    const uint4 x = __ldg(reinterpret_cast<const uint4*>(plan.fields + feature));
    return Field{x.x, x.y, x.z, x.w};
}
DEVICE u32 code_in(const Field& field, u32 word) {
    return (word >> field.shift) & field.mask;
}
DEVICE u32 code_of_row(const Field& field, u32 row) {
    return code_in(field, __ldg(plan.rows + row * plan.row_stride + field.word));
}
DEVICE Entry* list_of(u32 number, u32 begin) {
    return plan.lists + static_cast<u64>(number) * plan.n_trees * plan.n_rows + begin;
}
