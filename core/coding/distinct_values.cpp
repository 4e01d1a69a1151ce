#include "coding/distinct_values.h"

#include "base/sort_keys.h"
#include "base/sortable.h"

namespace weald {

template <class Float>
WeighedValues<Float> weigh_values(const Matrix& x, std::size_t column, std::span<const std::uint32_t> rows,
                                  std::span<const std::uint64_t> lengths) {
    const std::size_t n = rows.empty() ? x.n_rows : rows.size();
    std::vector<Keyed<Bits<Float>>> items;
    std::vector<Keyed<Bits<Float>>> spare;
    items.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
        const auto row = rows.empty() ? static_cast<std::uint32_t>(i) : rows[i];
        const Float value = x.at<Float>(row, column);
        if (value == value) {
            items.push_back({sortable(value), row});
        }
    }
    radix_sort(items, spare);
    WeighedValues<Float> found;
    found.values.reserve(items.size());
    found.weights.reserve(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (i == 0 || items[i].key != items[i - 1].key) {
            found.values.push_back(unsortable<Float>(items[i].key));
            found.weights.push_back(0);
        }
        found.weights.back() += lengths.empty() ? 1 : lengths[items[i].row];
    }
    return found;
}

template WeighedValues<float> weigh_values(const Matrix&, std::size_t, std::span<const std::uint32_t>,
                                           std::span<const std::uint64_t>);
template WeighedValues<double> weigh_values(const Matrix&, std::size_t, std::span<const std::uint32_t>,
                                            std::span<const std::uint64_t>);

}  // namespace weald
