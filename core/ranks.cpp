#include "ranks.h"

#include <algorithm>
#include <limits>

#include "random.h"
#include "sort_keys.h"
#include "weights.h"

namespace weald {

namespace {

constexpr std::uint64_t kMissingCode = 0xFFFFFFFFu;  // how a missing value enters the hash of a row

template <class Code>
void add_code_hashes(const Column& column, std::size_t feature, std::span<std::uint64_t> hashes, std::size_t begin) {
    const Code* codes = column.as<Code>() + begin;
    for (std::size_t i = 0; i < hashes.size(); ++i) {
        const std::uint64_t code =
            codes[i] == std::numeric_limits<Code>::max() ? kMissingCode : static_cast<std::uint64_t>(codes[i]);
        hashes[i] += mix64((static_cast<std::uint64_t>(feature) << 32) + code);
    }
}

}  // namespace

std::vector<std::uint64_t> hash_rows(const std::vector<Column>& columns, std::size_t n_rows, Work& work) {
    std::vector<std::uint64_t> hashes(n_rows);
    work.run(n_blocks(n_rows), [&](std::size_t block, std::size_t) {
        const std::size_t begin = block * kRowBlock;
        const std::span<std::uint64_t> mine(hashes.data() + begin, std::min(kRowBlock, n_rows - begin));
        for (std::size_t f = 0; f < columns.size(); ++f) {
            switch (columns[f].width) {
                case 1:
                    add_code_hashes<std::uint8_t>(columns[f], f, mine, begin);
                    break;
                case 2:
                    add_code_hashes<std::uint16_t>(columns[f], f, mine, begin);
                    break;
                default:
                    add_code_hashes<std::uint32_t>(columns[f], f, mine, begin);
                    break;
            }
        }
        for (std::uint64_t& h : mine) {
            h = mix64(h);
        }
    });
    return hashes;
}

namespace {

// Rows whose hashes begin with the same bits stand together in `items`: sorts them by (hash, target, position).
template <class Target>
void rank_part(std::vector<Keyed<std::uint32_t>>& items, const std::vector<std::uint64_t>& hashes,
               const Target& target) {
    std::vector<Keyed<std::uint32_t>> spare;
    radix_sort(items, spare);
    // Equal upper halves of hashes are rare, but for copies of rows.
    const auto before = [&](const Keyed<std::uint32_t>& a, const Keyed<std::uint32_t>& b) {
        return hashes[a.row] != hashes[b.row] ? hashes[a.row] < hashes[b.row] : target[a.row] < target[b.row];
    };
    for (std::size_t begin = 0; begin < items.size();) {
        std::size_t end = begin + 1;
        while (end < items.size() && items[end].key == items[begin].key) {
            ++end;
        }
        if (end - begin > 1) {
            std::stable_sort(items.begin() + static_cast<std::ptrdiff_t>(begin),
                             items.begin() + static_cast<std::ptrdiff_t>(end), before);
        }
        begin = end;
    }
}

// Positions sorted by (hash, target, position). Hashes are spread evenly, so their first bits make parts for threads.
template <class Target>
std::vector<std::uint32_t> rank_any(const std::vector<std::uint64_t>& hashes, const Target& target, Work& work) {
    constexpr int kPartBits = 6;
    std::vector<std::vector<Keyed<std::uint32_t>>> parts(std::size_t{1} << kPartBits);
    for (auto& part : parts) {
        part.reserve(hashes.size() / parts.size() * 9 / 8 + 16);
    }
    for (std::uint32_t r = 0; r < hashes.size(); ++r) {
        parts[hashes[r] >> (64 - kPartBits)].push_back({static_cast<std::uint32_t>(hashes[r] >> 32), r});
    }
    std::vector<std::size_t> starts{0};
    for (const auto& part : parts) {
        starts.push_back(starts.back() + part.size());
    }
    std::vector<std::uint32_t> positions(hashes.size());
    const auto rank = [&](std::size_t i) {
        rank_part(parts[i], hashes, target);
        std::transform(parts[i].begin(), parts[i].end(), positions.begin() + static_cast<std::ptrdiff_t>(starts[i]),
                       [](const auto& item) { return item.row; });
    };
    if (hashes.size() < kRowBlock) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            rank(i);
        }
    } else {
        work.run(parts.size(), [&](std::size_t i, std::size_t) { rank(i); });
    }
    return positions;
}

}  // namespace

std::vector<std::uint32_t> rank_rows(const std::vector<std::uint64_t>& hashes, std::span<const std::int32_t> target,
                                     Work& work) {
    return rank_any(hashes, target, work);
}

std::vector<std::uint32_t> rank_rows(const std::vector<std::uint64_t>& hashes, std::span<const double> target,
                                     Work& work) {
    return rank_any(hashes, target, work);
}

Ranking rank_table(const Table& table, const std::vector<Column>& columns, Work& work) {
    const std::size_t n_rows = table.x.n_rows;
    const std::vector<std::uint64_t> line = lay_line(table.weights, table.weights_whole);
    const std::vector<std::uint64_t> hashes = hash_rows(columns, n_rows, work);
    Ranking ranking;
    for (std::size_t r = 0; r < n_rows; ++r) {
        ranking.fingerprint += (line.empty() ? 1 : line[r]) * mix64(hashes[r] + mix64(target_bits(table, r)));
    }
    ranking.positions =
        table.n_classes ? rank_rows(hashes, table.classes, work) : rank_rows(hashes, table.numbers, work);
    return ranking;
}

}  // namespace weald
