// Middle nodes: a block divides one. Its warps take features one by one; the codes of a feature are gathered once.

#pragma once

#include "nodes.cuh"
#include "search.cuh"

constexpr u32 kMiddleWarps = 4;
#define MIDDLE_THREADS 128

struct MiddleState {
    Task task;
    u32 ticket, n_features, next, first, found, best_near, classes;
    u32 feature[kFeaturesAtOnce];
    u32 cursor[2], left_pairs[4], below, above, pair;
    u32 count[2][kClasses];
    u32 kept_step[kMiddleWarps];  // the feature whose codes are in the buffer of a warp
    Best best[kMiddleWarps];
};
struct MiddleWarp {
    WarpBins bins;
    u32 ends[kEndWords];
};
struct MiddleMemory {
    MiddleState* state;
    MiddleWarp* warps;
    u32* rows;
    u16* labels;
    u16* codes;  // by warp and row
};

DEVICE MiddleMemory middle_memory(char* memory) {
    MiddleMemory m;
    m.state = reinterpret_cast<MiddleState*>(memory);
    m.warps = reinterpret_cast<MiddleWarp*>(memory + (sizeof(MiddleState) + 15) / 16 * 16);
    m.rows = reinterpret_cast<u32*>(m.warps + kMiddleWarps);
    m.labels = reinterpret_cast<u16*>(m.rows + plan.middle_rows);
    m.codes = m.labels + plan.middle_rows;
    return m;
}

struct GatheredCodes {
    const u16* codes;
    const u16* labels;
    DEVICE u32 code(u32 i) const { return codes[i]; }
    DEVICE u32 label(u32 i) const { return labels[i]; }
};

DEVICE u32 classes_of(const u32* counts) {
    u32 classes = 0;
    for (u32 k = 0; k < kClasses; ++k) {
        classes |= (counts[k] != 0) << k;
    }
    return classes;
}
DEVICE NodeCounts pack_counts(const Task& task, u32 classes) {
    NodeCounts node = {};
    node.weight = task.weight;
    node.n_rows = task.n_rows;
#pragma unroll
    for (u32 k = 0; k < kClasses; ++k) {
        if (classes >> k & 1) {
            const u32 add = task.count[k] << (node.n_classes % 2 * 16);
#pragma unroll
            for (u32 w = 0; w < kPairs; ++w) {
                node.counts[w] += node.n_classes / 2 == w ? add : 0;
            }
            ++node.n_classes;
        }
    }
    return node;
}

// The next features of the draw. A warp.
DEVICE void draw_features(MiddleState& s, FeatureDraw& draw, u32 lane) {
    const u32 first = draw.step, left = plan.n_features - first;
    u32 n = plan.max_features - s.found;
    n = n < kFeaturesAtOnce ? n : kFeaturesAtOnce;
    n = n < left ? n : left;
    for (u32 j = 0; j < n; ++j) {
        const u32 feature = next_feature(draw, lane);
        if (lane == 0) {
            s.feature[j] = feature;
        }
    }
    if (lane == 0) {
        s.first = first;
        s.n_features = n;
        s.next = 0;
    }
}

// Codes of a feature -> the warp's buffer. Returns whether they differ.
DEVICE bool gather(const MiddleMemory& m, u32 feature, u16* codes, u32 n_rows, u32& low, u32& high, u32 lane) {
    const Field field = field_of(feature);
    low = kNone;
    high = 0;
#pragma unroll 4
    for (u32 i = lane; i < n_rows; i += 32) {
        const u32 code = code_of_row(field, m.rows[i]);
        codes[i] = static_cast<u16>(code);
        low = code < low ? code : low;
        high = code > high ? code : high;
    }
    low = warp_min(low);
    high = warp_max(high);
    __syncwarp();
    return low != high;
}

// A warp takes features of this round until there are none left.
DEVICE void search_some(const MiddleMemory& m, const NodeCounts& node, u32 warp, u32& kept, Best& best, u32 lane) {
    MiddleState& s = *m.state;
    u16* codes = m.codes + warp * plan.middle_rows;
    u16* scratch = plan.middle_scratch + (blockIdx.x * kMiddleWarps + warp) * plan.middle_rows;
    u32 n_found = 0;
#pragma unroll 1
    for (;;) {
        u32 j = 0, low, high;
        if (lane == 0) {
            j = atomicAdd(&s.next, 1u);
        }
        j = from_lane(j, 0);
        if (j >= s.n_features) {
            break;
        }
        kept = s.first + j;
        if (!gather(m, s.feature[j], codes, node.n_rows, low, high, lane)) {
            continue;
        }
        u32 best_near = from_lane(load_shared_word(&s.best_near), 0);
        const GatheredCodes gathered{codes, m.labels};
        n_found += search_feature<true>(gathered, m.warps[warp].bins, node, scratch, m.warps[warp].ends, low, high,
                                        kept, best_near, best, lane);
        if (lane == 0) {
            atomicMax(&s.best_near, best_near);
        }
    }
    if (lane == 0 && n_found) {
        atomicAdd(&s.found, n_found);
    }
}

DEVICE void load_middle(const MiddleMemory& m, const Entry* entries, u32 thread) {
    MiddleState& s = *m.state;
#pragma unroll 2
    for (u32 i = thread; i < s.task.n_rows; i += MIDDLE_THREADS) {
        const Entry entry = load_entry(entries + i);
        m.rows[i] = entry.x;
        m.labels[i] = static_cast<u16>(numbered(make_label(class_of(entry), copies_of(entry)), s.classes));
    }
}

// The best cut of the node; the same for all threads. Its codes may still be in the buffer of warp `kept_by`.
DEVICE Best search_middle(const MiddleMemory& m, const NodeCounts& node, FeatureDraw& draw, u32& kept_by, u32 thread) {
    MiddleState& s = *m.state;
    const u32 lane = thread & 31, warp = thread / 32;
    Best best = no_cut();
    u32 kept = kNone;
#pragma unroll 1
    for (;;) {
        if (warp == 0) {
            draw_features(s, draw, lane);
        }
        __syncthreads();
        if (s.n_features == 0) {
            break;
        }
        search_some(m, node, warp, kept, best, lane);
        __syncthreads();
        if (s.found >= plan.max_features) {
            break;
        }
    }
    best = best_of_warp(best);
    if (lane == 0) {
        s.best[warp] = best;
        s.kept_step[warp] = kept;
    }
    __syncthreads();
    kept_by = kNone;
    best = s.best[0];
    for (u32 w = 1; w < kMiddleWarps; ++w) {
        const Best& other = s.best[w];
        if (other.score > best.score || (other.score == best.score && other.order < best.order)) {
            best = other;
        }
    }
    for (u32 w = 0; w < kMiddleWarps; ++w) {
        kept_by = s.kept_step[w] == best.order ? w : kept_by;
    }
    return best;
}

DEVICE void divide_middle(const MiddleMemory& m, const Best& best, u32 feature, u32 kept_by, u32 thread) {
    MiddleState& s = *m.state;
    const u32 lane = thread & 31, n = s.task.n_rows;
    const Field field = field_of(feature);
    Entry* to = list_of(1 - s.task.list, s.task.begin);
    u32 pairs[4] = {}, below = 0, above = kNone;
#pragma unroll 1
    for (u32 first = thread / 32 * 32; first < n; first += MIDDLE_THREADS) {
        const u32 i = first + lane;
        const bool is_row = i < n;
        u32 row = 0, label = 0, code = kNone;
        if (is_row) {
            row = m.rows[i];
            label = m.labels[i];
            code = kept_by != kNone ? m.codes[kept_by * plan.middle_rows + i] : code_of_row(field, row);
        }
        const bool is_left = is_row && code <= best.cut;
        const u32 lefts = ballot(is_left), rights = ballot(is_row && !is_left);
        u32 left = 0, right = 0;
        if (lane == 0) {
            left = atomicAdd(&s.cursor[0], static_cast<u32>(__popc(lefts)));
            right = atomicAdd(&s.cursor[1], static_cast<u32>(__popc(rights)));
        }
        left = from_lane(left, 0);
        right = from_lane(right, 0);
        Entry entry;
        entry.x = row;
        entry.y = copies_of_label(label) | class_of_label(label) << 24;
        if (is_left) {
            to[left + __popc(lefts & lanes_below(lane))] = entry;
            below = code > below ? code : below;
            add_label<4>(pairs, label);
        } else if (is_row) {
            to[n - 1 - right - __popc(rights & lanes_below(lane))] = entry;
            above = code < above ? code : above;
        }
    }
#pragma unroll
    for (u32 w = 0; w < 4; ++w) {
        const u32 sum = warp_sum(pairs[w]);
        if (lane == 0) {
            atomicAdd(&s.left_pairs[w], sum);
        }
    }
    below = warp_max(below);
    above = warp_min(above);
    if (lane == 0) {
        atomicMax(&s.below, below);
        atomicMin(&s.above, above);
    }
}

// One thread: counts of both sides, and the node.
DEVICE void write_middle_split(MiddleState& s, u32 feature, double decrease) {
    u32 number = 0, left_weight = 0;
    for (u32 k = 0; k < kClasses; ++k) {
        u32 left = 0;
        if (s.classes >> k & 1) {
            left = count_at(s.left_pairs, number++);
        }
        s.count[0][k] = left;
        s.count[1][k] = s.task.count[k] - left;
        left_weight += left;
    }
    s.pair = write_split(s.task, Split{decrease, feature, s.below, s.above, s.cursor[0], left_weight});
    __threadfence();
}

DEVICE void begin_middle(MiddleState& s) {  // one thread
    s.task = plan.middle_tasks[s.ticket];
    s.found = s.best_near = 0;
    s.cursor[0] = s.cursor[1] = 0;
    s.left_pairs[0] = s.left_pairs[1] = s.left_pairs[2] = s.left_pairs[3] = 0;
    s.below = 0;
    s.above = kNone;
    s.classes = classes_of(s.task.count);
}

KERNEL(MIDDLE_THREADS, 8) grow_middle() {
    SHARED_MEMORY(memory);
    const MiddleMemory m = middle_memory(memory);
    MiddleState& s = *m.state;
    Counters* c = plan.counters;
    const u32 thread = threadIdx.x;
#pragma unroll 1
    for (;;) {
        __syncthreads();
        if (thread == 0) {
            s.ticket = take(&c->middle_head, &c->middle_pending, plan.middle_ready, plan.middle_room);
            if (s.ticket != kNone) {
                begin_middle(s);
            }
        }
        __syncthreads();
        if (s.ticket == kNone) {
            return;
        }
        load_middle(m, list_of(s.task.list, s.task.begin), thread);
        const NodeCounts node = pack_counts(s.task, s.classes);
        FeatureDraw draw;
        if (thread < 32) {
            draw = begin_draw(s.task.id, s.task.tree, thread);
        }
        u32 kept_by;
        const Best best = search_middle(m, node, draw, kept_by, thread);
        const double decrease = decrease_of(best.score, packed_squares<kPairs>(node.counts), node.weight);
        if (best.score == 0 || (plan.min_decrease > 0 && decrease < plan.min_decrease)) {
            if (thread == 0) {
                write_leaf_record(s.task.record, s.task.count, s.task.weight);
                finish(&c->middle_pending, 1);
            }
            continue;
        }
        if (thread < 32) {
            const u32 feature = feature_at(draw, best.order, thread);
            if (thread == 0) {
                s.feature[0] = feature;
            }
        }
        __syncthreads();
        const u32 feature = s.feature[0];
        divide_middle(m, best, feature, kept_by, thread);
        __syncthreads();
        if (thread == 0) {
            write_middle_split(s, feature, decrease);
        }
        __syncthreads();
        if (thread < 2) {
            place_child(s.task, thread, s.cursor[0], s.pair + thread, s.count[thread]);
        }
        __syncthreads();
        if (thread == 0) {
            finish(&c->middle_pending, 1);
        }
    }
}
