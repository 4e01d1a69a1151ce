#include "coding/ranks.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/random.h"
#include "base/sort_keys.h"
#include "base/weights.h"

namespace weald {

namespace {

constexpr std::uint64_t kMissingCode = 0xFFFFFFFFu;  // value of a missing code in the hash of a row

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

RowHashes hash_rows(const std::vector<Column>& columns, std::size_t n_rows, Work& work) {
    RowHashes hashes(n_rows);
    for_blocks(n_rows, kRowBlock, work, [&](std::size_t, std::size_t begin, std::size_t end) {
        const std::span<std::uint64_t> mine(hashes.data() + begin, end - begin);
        std::fill(mine.begin(), mine.end(), std::uint64_t{0});
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

using Item = Keyed<std::uint32_t>;  // the upper half of a row's hash, and the row

// Rows whose hashes have the same first bits, sorted by (hash, target, position).
template <class Target>
std::span<Item> rank_part(std::span<Item> items, std::vector<Item>& spare, const RowHashes& hashes,
                          const Target& target) {
    spare.resize(items.size());
    const std::span<Item> sorted = radix_sort(items, std::span<Item>(spare));
    // Equal upper halves of hashes are rare, except for copies of rows.
    const auto before = [&](const Item& a, const Item& b) {
        return hashes[a.row] != hashes[b.row] ? hashes[a.row] < hashes[b.row] : target[a.row] < target[b.row];
    };
    for (std::size_t begin = 0; begin < sorted.size();) {
        std::size_t end = begin + 1;
        while (end < sorted.size() && sorted[end].key == sorted[begin].key) {
            ++end;
        }
        if (end - begin > 1) {
            std::stable_sort(sorted.begin() + static_cast<std::ptrdiff_t>(begin),
                             sorted.begin() + static_cast<std::ptrdiff_t>(end), before);
        }
        begin = end;
    }
    return sorted;
}

constexpr int kPartBits = 6;
constexpr std::size_t kParts = std::size_t{1} << kPartBits;

// Rows by the first bits of their hashes; rows of a part keep their order.
struct Parts {
    LargeVector<Item> items;
    std::array<std::size_t, kParts + 1> starts{};
};

Parts part_rows(const RowHashes& hashes, Work& work) {
    constexpr std::size_t kBlock = std::size_t{1} << 16;  // rows: each block counts the rows of each part
    const std::size_t n_rows = hashes.size();
    const auto part_of = [&](std::size_t r) { return hashes[r] >> (64 - kPartBits); };
    std::vector<std::array<std::size_t, kParts>> places((n_rows + kBlock - 1) / kBlock);
    for_blocks(n_rows, kBlock, work, [&](std::size_t block, std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            ++places[block][part_of(r)];
        }
    });
    Parts parts;
    std::size_t place = 0;
    for (std::size_t part = 0; part < kParts; ++part) {
        parts.starts[part] = place;
        for (auto& of_block : places) {
            place += std::exchange(of_block[part], place);
        }
    }
    parts.starts[kParts] = place;
    parts.items.resize(n_rows);
    for_blocks(n_rows, kBlock, work, [&](std::size_t block, std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            parts.items[places[block][part_of(r)]++] = {static_cast<std::uint32_t>(hashes[r] >> 32),
                                                        static_cast<std::uint32_t>(r)};
        }
    });
    return parts;
}

// Positions sorted by (hash, target, position). Hashes are uniformly distributed, so their first bits define parts for
// threads.
template <class Target>
std::vector<std::uint32_t> rank_any(const RowHashes& hashes, const Target& target, Work& work) {
    Parts parts = part_rows(hashes, work);
    std::vector<std::uint32_t> positions(hashes.size());
    std::vector<std::vector<Item>> spares(work.n_threads());
    const auto rank = [&](std::size_t i, std::size_t thread) {
        const std::span<Item> items(parts.items.data() + parts.starts[i], parts.starts[i + 1] - parts.starts[i]);
        const std::span<Item> sorted = rank_part(items, spares[thread], hashes, target);
        std::transform(sorted.begin(), sorted.end(), positions.begin() + static_cast<std::ptrdiff_t>(parts.starts[i]),
                       [](const Item& item) { return item.row; });
    };
    if (hashes.size() < kRowBlock) {
        for (std::size_t i = 0; i < kParts; ++i) {
            rank(i, 0);
        }
    } else {
        work.run(kParts, rank);
    }
    return positions;
}

}  // namespace

std::vector<std::uint32_t> rank_rows(const RowHashes& hashes, std::span<const std::int32_t> target, Work& work) {
    return rank_any(hashes, target, work);
}

std::vector<std::uint32_t> rank_rows(const RowHashes& hashes, std::span<const double> target, Work& work) {
    return rank_any(hashes, target, work);
}

Ranking rank_table(const Table& table, const std::vector<Column>& columns, Work& work) {
    const std::size_t n_rows = table.x.n_rows;
    const std::vector<std::uint64_t> line = lay_line(table.weights, table.weights_whole);
    const RowHashes hashes = hash_rows(columns, n_rows, work);
    Ranking ranking;
    for (std::size_t r = 0; r < n_rows; ++r) {
        ranking.fingerprint += (line.empty() ? 1 : line[r]) * print_row(hashes[r], target_bits(table, r));
    }
    ranking.positions = table.task() == Task::classification ? rank_rows(hashes, table.classes, work)
                                                             : rank_rows(hashes, table.numbers, work);
    return ranking;
}

}  // namespace weald
