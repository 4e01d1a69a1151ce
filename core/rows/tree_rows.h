// The training rows of a tree.
//
//   TreeRows      the rows of its bag, which every split reorders
//   TreeInTraining   these, and other state shared by the threads that grow it

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/sort_network.h"
#include "score/labels.h"
#include "score/scores.h"
#include "tree/node.h"

namespace weald {

// The rows of a tree, initially ascending by rank.
template <class Payload>
struct TreeRows {
    std::vector<std::uint32_t> ids;
    std::vector<Payload> payloads;

    void clear() {
        ids.clear();
        payloads.clear();
    }
    void add(std::uint32_t rank, const Payload& payload) {
        ids.push_back(rank);
        payloads.push_back(payload);
    }
    // Keys are made in whole vectors.
    void end() { payloads.resize(ids.size() + kMostSorted); }
};

// Appends a row once for every `most` of its count, since a payload has 16 bits for it.
template <class Push>
void push_counted(std::uint32_t count, std::uint32_t most, Push&& push) {
    for (; count > most; count -= most) {
        push(most);
    }
    if (count != 0) {
        push(count);
    }
}

template <class Payload>
struct TreeInTraining {
    std::uint64_t seed = 0;
    std::uint32_t number = 0;
    TreeRows<Payload> rows;
    double root_weight = 0;
    Limits limits;

    Node root() const { return {0, static_cast<std::uint32_t>(rows.ids.size()), 0, kRootId}; }
    std::span<std::uint32_t> ids(const Node& node) { return {rows.ids.data() + node.begin, node.n_rows()}; }
    Payload* payloads(const Node& node) { return rows.payloads.data() + node.begin; }
};

}  // namespace weald
