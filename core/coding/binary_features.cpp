#include "coding/binary_features.h"

namespace weald {

namespace {

bool is_binary(const Column& column, std::size_t n_rows) {
    if (column.width != 1 || column.is_categorical || column.lows.size() != 2) {
        return false;
    }
    const std::uint8_t* codes = column.as<std::uint8_t>();
    return std::find(codes, codes + n_rows, std::uint8_t{0xFF}) == codes + n_rows;
}

}  // namespace

BinaryFeatures::BinaryFeatures(const std::vector<Column>& columns, std::size_t n_rows, Work& work)
    : bits_(columns.size(), kNone) {
    for (std::uint32_t f = 0; f < columns.size() && features_.size() < kMost; ++f) {
        if (is_binary(columns[f], n_rows)) {
            bits_[f] = static_cast<std::uint8_t>(features_.size());
            features_.push_back(f);
        }
    }
    if (features_.size() < kLeast) {
        return;
    }
    words_.resize(n_rows);
    constexpr std::size_t kTile = 4096;  // rows whose words stay in the L1 cache while all columns are read
    work.run((n_rows + kTile - 1) / kTile, [&](std::size_t tile, std::size_t) {
        const std::size_t end = std::min(n_rows, (tile + 1) * kTile);
        for (std::uint32_t bit = 0; bit < features_.size(); ++bit) {
            const std::uint8_t* codes = columns[features_[bit]].as<std::uint8_t>();
            for (std::size_t r = tile * kTile; r < end; ++r) {
                words_[r] |= std::uint64_t{codes[r]} << bit;
            }
        }
    });
}

}  // namespace weald
