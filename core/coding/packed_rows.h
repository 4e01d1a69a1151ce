// Codes row by row in as few bits as they need, for engines that read whole rows.
//
//   ColumnFacts   what such an engine needs to know of a column
//   pack_rows     columns -> rows of 32-bit words

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/threads.h"
#include "coding/codes.h"

namespace weald {

struct ColumnFacts {
    std::size_t n_codes;
    bool has_missing;
    bool is_categorical;
};

// Where the code of a feature is in a row: its word, and its lowest bit. A missing value is the number of codes.
struct PackedField {
    std::uint32_t word;
    std::uint32_t shift;
};

std::vector<ColumnFacts> column_facts(const Codes& codes, Work& work);

// Rows by rank, each of `row_words` words.
std::vector<std::uint32_t> pack_rows(const Codes& codes, std::span<const PackedField> fields, std::size_t row_words,
                                     Work& work);

}  // namespace weald
