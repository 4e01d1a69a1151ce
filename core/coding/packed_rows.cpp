#include "coding/packed_rows.h"

#include <algorithm>
#include <limits>

#include "coding/ranks.h"

namespace weald {

namespace {

// Calls use(codes), a pointer to integers of the column's width.
template <class Use>
void with_codes(const Column& column, const Use& use) {
    column.width == 1   ? use(column.as<std::uint8_t>())
    : column.width == 2 ? use(column.as<std::uint16_t>())
                        : use(column.as<std::uint32_t>());
}

}  // namespace

std::vector<ColumnFacts> column_facts(const Codes& codes, Work& work) {
    std::vector<ColumnFacts> facts(codes.columns.size());
    work.run(facts.size(), [&](std::size_t f, std::size_t) {
        const Column& column = codes.columns[f];
        bool has_missing = false;
        with_codes(column, [&]<class Code>(const Code* code) {
            has_missing = std::find(code, code + codes.n_rows, std::numeric_limits<Code>::max()) != code + codes.n_rows;
        });
        facts[f] = {column.lows.size(), has_missing, column.is_categorical};
    });
    return facts;
}

std::vector<std::uint32_t> pack_rows(const Codes& codes, std::span<const PackedField> fields, std::size_t row_words,
                                     Work& work) {
    std::vector<std::uint32_t> rows(codes.n_rows * row_words);
    for_blocks(codes.n_rows, kRowBlock, work, [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t f = 0; f < fields.size(); ++f) {
            const auto [word, shift] = fields[f];
            const auto missing = static_cast<std::uint32_t>(codes.columns[f].lows.size());
            with_codes(codes.columns[f], [&]<class Code>(const Code* code) {
                for (std::size_t r = begin; r < end; ++r) {
                    const std::uint32_t c = code[r] == std::numeric_limits<Code>::max() ? missing : code[r];
                    rows[r * row_words + word] |= c << shift;
                }
            });
        }
    });
    return rows;
}

}  // namespace weald
