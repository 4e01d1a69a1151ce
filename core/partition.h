// Dividing the rows of a node, each side in the order it was in.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "candidate.h"
#include "gather.h"

namespace weald {

template <class Payload>
struct PartitionScratch {
    std::vector<std::uint32_t> ids;
    std::vector<Payload> payloads;
};

// Returns how many rows went left; they stand first.
template <class Code, class Payload>
std::uint32_t partition_rows(const Code* codes, const Candidate& cut, std::uint32_t* ids, Payload* payloads,
                             std::uint32_t n, PartitionScratch<Payload>& scratch) {
    if (scratch.ids.size() < n) {
        scratch.ids.resize(n);
        scratch.payloads.resize(n);
    }
    const bool missing_left = cut.missing_left();
    const Code last_left =
        cut.cuts_off_missing() ? static_cast<Code>(kMissing<Code> - 1) : static_cast<Code>(cut.last_left());
    std::uint32_t n_left = 0;
    std::uint32_t n_right = 0;
    for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint32_t id = ids[i];
        const Payload payload = payloads[i];
        const bool left = (codes[i] <= last_left) | (missing_left & (codes[i] == kMissing<Code>));
        ids[n_left] = id;
        payloads[n_left] = payload;
        scratch.ids[n_right] = id;
        scratch.payloads[n_right] = payload;
        n_left += left;
        n_right += !left;
    }
    std::copy_n(scratch.ids.begin(), n_right, ids + n_left);
    std::copy_n(scratch.payloads.begin(), n_right, payloads + n_left);
    return n_left;
}

}  // namespace weald
