#include "coding/code_columns.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "base/sort_keys.h"
#include "base/sortable.h"
#include "coding/bucket_index.h"

namespace weald {

namespace {

// Bytes of a code; the largest integer means missing.
std::size_t width_of(std::size_t n_codes) {
    return n_codes <= 0xFF ? 1 : n_codes <= 0xFFFF ? 2 : 4;
}

template <class Item>
std::size_t count_distinct(const std::vector<Item>& sorted) {
    std::size_t n = sorted.empty() ? 0 : 1;
    for (std::size_t i = 1; i < sorted.size(); ++i) {
        n += key_of(sorted[i]) != key_of(sorted[i - 1]);
    }
    return n;
}

// The smallest key of each code, with equal weights: a code ends when it has its fraction of the weight left at its
// start, and includes all equal keys.
template <class Item>
auto cut_evenly(const std::vector<Item>& sorted, std::uint32_t max_bins) {
    std::vector<std::remove_cvref_t<decltype(key_of(sorted[0]))>> starts;
    for (std::size_t i = 0; i < sorted.size();) {
        starts.push_back(key_of(sorted[i]));
        const std::size_t n_codes_left = max_bins - starts.size() + 1;
        i += (sorted.size() - i + n_codes_left - 1) / n_codes_left;
        while (i < sorted.size() && key_of(sorted[i]) == key_of(sorted[i - 1])) {
            ++i;
        }
    }
    return starts;
}

// The same by weight. Walks the sampled values upward and closes a code when its weight times the codes left reaches
// the weight that was left at its start.
template <class Key>
std::vector<Key> cut_by_weight(const std::vector<Keyed<Key>>& sorted, const ColumnCoding& coding,
                               std::uint32_t max_bins) {
    const auto weight_of = [&](const Keyed<Key>& item) -> std::uint64_t {
        return !coding.sampled.empty() && !coding.sampled[item.row] ? 0
               : coding.line.empty()                                ? 1
                                                                    : coding.line[item.row];
    };
    std::uint64_t weight_left = 0;
    for (const Keyed<Key>& item : sorted) {
        weight_left += weight_of(item);
    }
    __extension__ using Wide = unsigned __int128;
    std::vector<Key> starts;
    std::uint64_t inside = 0;
    std::uint64_t at_start = 0;
    for (std::size_t i = 0; i < sorted.size();) {
        const Key key = sorted[i].key;
        std::uint64_t weight = 0;
        for (; i < sorted.size() && sorted[i].key == key; ++i) {
            weight += weight_of(sorted[i]);
        }
        if (weight == 0) {
            continue;  // not sampled
        }
        if (inside == 0) {
            starts.push_back(key);
            at_start = weight_left;
        }
        inside += weight;
        weight_left -= weight;
        if (static_cast<Wide>(inside) * (max_bins - starts.size() + 1) >= at_start) {
            inside = 0;
        }
    }
    if (starts.empty()) {
        starts.push_back(sorted[0].key);
    }
    return starts;
}

// Codes one column after the other; memory for sorting is reused.
template <class Float>
class ColumnCoder {
  public:
    ColumnCoder(const ColumnCoding& coding, CodeRoom& room) : coding_(coding), room_(room) {}

    Column code(std::span<const Float> values, bool is_categorical) {
        const std::uint32_t max_bins = is_categorical ? 0 : coding_.max_bins;  // 0: keep every distinct value
        std::optional<Column> column;
        if (max_bins != 1) {
            column = code_two_values(values);
        }
        if (!column && max_bins != 0 && !coding_.sampled.empty() && coding_.line.empty()) {
            column = code_by_sample(values, max_bins);
        }
        if (!column) {
            column = code_sorted(values, max_bins, is_categorical);
        }
        column->is_categorical = is_categorical;
        return std::move(*column);
    }

  private:
    using Key = Bits<Float>;

    // Calls write(codes) with codes of the width that this many need.
    template <class Write>
    Column make_column(std::size_t n_rows, std::size_t n_codes, Write&& write) {
        Column column;
        column.width = static_cast<std::uint8_t>(width_of(n_codes));
        column.codes = room_.take(n_rows * column.width);
        std::byte* codes = column.codes.get();
        switch (column.width) {
            case 1:
                write(reinterpret_cast<std::uint8_t*>(codes));
                break;
            case 2:
                write(reinterpret_cast<std::uint16_t*>(codes));
                break;
            default:
                write(reinterpret_cast<std::uint32_t*>(codes));
                break;
        }
        return column;
    }

    // A column with two values needs no sorting. Returns nothing if it has fewer or more.
    std::optional<Column> code_two_values(std::span<const Float> values) {
        const auto is_present = [](Float value) { return value == value; };
        const auto first = std::find_if(values.begin(), values.end(), is_present);
        const auto other =
            std::find_if(first, values.end(), [&](Float value) { return is_present(value) && value != *first; });
        if (other == values.end() || std::any_of(other, values.end(), [&](Float value) {
                return is_present(value) && value != *first && value != *other;
            })) {
            return {};
        }
        const Float low = std::min(*first, *other);
        const Float high = std::max(*first, *other);
        Column column = make_column(values.size(), 2, [&](auto* codes) {
            for (std::size_t r = 0; r < values.size(); ++r) {
                codes[r] = is_present(values[r]) ? values[r] == high : kMissing<decltype(*codes)>;
            }
        });
        column.lows = Values(std::vector<Float>{low + Float{0}, high + Float{0}});  // -0.0 becomes 0.0
        return column;
    }

    // Quantile codes are computed from a sample: only the sample is sorted, and the code of each value is looked up.
    // Returns nothing if the sample has so few distinct values that the column may have few.
    std::optional<Column> code_by_sample(std::span<const Float> values, std::uint32_t max_bins) {
        keys_.resize(values.size());
        std::size_t n = 0;
        for (std::size_t r = 0; r < values.size(); ++r) {
            keys_[n] = sortable(values[r]);
            n += coding_.sampled[r] & (values[r] == values[r]);
        }
        keys_.resize(n);
        radix_sort(keys_, spare_keys_);
        if (count_distinct(keys_) <= max_bins) {
            return {};
        }
        std::vector<Float> lows;
        for (const Key start : cut_evenly(keys_, max_bins)) {
            lows.push_back(unsortable<Float>(start));
        }
        std::vector<Float> highs = lows;
        Column column = make_column(values.size(), lows.size(),
                                    [&](auto* codes) { look_up(values, BucketIndex<Float>(lows), codes, highs); });
        // A code starts at a value of the sample, but the first includes all values below it.
        for (const Float value : values) {
            lows[0] = value < lows[0] ? value : lows[0];
        }
        lows[0] += Float{0};  // -0.0 becomes 0.0
        column.lows = Values(std::move(lows));
        column.highs = Values(std::move(highs));
        return column;
    }

    template <class Code>
    static void look_up(std::span<const Float> values, const BucketIndex<Float>& index, Code* codes,
                        std::vector<Float>& highs) {
        std::array<Float, BucketIndex<Float>::kAtOnce> some{};
        std::array<std::uint32_t, BucketIndex<Float>::kAtOnce> found{};
        for (std::size_t begin = 0; begin < values.size(); begin += some.size()) {
            const std::size_t n = std::min(some.size(), values.size() - begin);
            std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(begin), n, some.begin());
            index.search(some, found);
            for (std::size_t i = 0; i < n; ++i) {
                const bool is_present = some[i] == some[i];
                codes[begin + i] = is_present ? static_cast<Code>(found[i]) : kMissing<Code>;
                if (is_present && some[i] > highs[found[i]]) {
                    highs[found[i]] = some[i] + Float{0};
                }
            }
        }
    }

    Column code_sorted(std::span<const Float> values, std::uint32_t max_bins, bool is_categorical) {
        items_.resize(values.size());
        std::size_t n = 0;
        for (std::size_t r = 0; r < values.size(); ++r) {
            if (values[r] == values[r]) {
                items_[n++] = {sortable(values[r]), static_cast<std::uint32_t>(r)};
            }
        }
        items_.resize(n);
        radix_sort(items_, spare_items_);
        std::size_t n_codes = count_distinct(items_);
        std::vector<Key> starts;
        if (max_bins != 0 && n_codes > max_bins) {
            const bool are_alike = coding_.sampled.empty() && coding_.line.empty();
            starts = are_alike ? cut_evenly(items_, max_bins) : cut_by_weight(items_, coding_, max_bins);
            n_codes = starts.size();
        }
        lows_.clear();
        highs_.clear();
        lows_.reserve(n_codes);
        highs_.reserve(starts.size());
        Column column = make_column(values.size(), n_codes, [&](auto* codes) {
            using Code = std::remove_cvref_t<decltype(*codes)>;
            if (n < values.size()) {
                std::fill_n(codes, values.size(), kMissing<Code>);  // before it is written
            }
            if (starts.empty()) {
                number_values(codes);
            } else {
                number_ranges(starts, codes);
            }
        });
        if (may_leave_out(values.size(), is_categorical)) {
            column.lows = Values::left_out(lows_.size());
            column.highs = Values::left_out(highs_.size());
        } else {
            column.lows = Values(std::exchange(lows_, {}));
            column.highs = Values(std::exchange(highs_, {}));
        }
        return column;
    }

    // If the values of codes would take about as much memory as the codes, they can be looked up when the trees are
    // grown. If each code has one value, this takes less time than storing them; otherwise the table is read once more,
    // which is fast compared with many trees.
    bool may_leave_out(std::size_t n_rows, bool is_categorical) const {
        constexpr std::size_t kManyTrees = 16;
        return !is_categorical && lows_.size() > n_rows / 4 && coding_.n_trees >= (highs_.empty() ? 1 : kManyTrees);
    }

    // Each distinct value is a code.
    template <class Code>
    void number_values(Code* codes) {
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (i == 0 || items_[i].key != items_[i - 1].key) {
                lows_.push_back(unsortable<Float>(items_[i].key));
            }
            codes[items_[i].row] = static_cast<Code>(lows_.size() - 1);
        }
    }

    // A code contains the values from its start to the next; the first also contains all below it.
    template <class Code>
    void number_ranges(const std::vector<Key>& starts, Code* codes) {
        std::size_t i = 0;
        for (std::size_t code = 0; code < starts.size(); ++code) {
            lows_.push_back(unsortable<Float>(items_[i].key));
            const bool is_last = code + 1 == starts.size();
            for (; i < items_.size() && (is_last || items_[i].key < starts[code + 1]); ++i) {
                codes[items_[i].row] = static_cast<Code>(code);
            }
            highs_.push_back(unsortable<Float>(items_[i - 1].key));
        }
    }

    template <class Code>
    static constexpr auto kMissing = std::numeric_limits<std::remove_cvref_t<Code>>::max();

    const ColumnCoding& coding_;
    CodeRoom& room_;
    std::vector<Keyed<Key>> items_;  // values that are present
    std::vector<Keyed<Key>> spare_items_;
    std::vector<Key> keys_;  // values of the sample
    std::vector<Key> spare_keys_;
    std::vector<Float> lows_;  // indexed by code
    std::vector<Float> highs_;
};

}  // namespace

// Columns are read a few at a time, because adjacent columns share cache lines in a table that is stored row by row: as
// many as share one if they are short, else fewer. With many threads also fewer, so that every thread has work.
std::size_t count_read_at_once(const Matrix& x, std::size_t n_threads) {
    constexpr std::size_t kShortColumns = std::size_t{1} << 20;  // bytes
    constexpr std::size_t kLeast = 4;
    const std::size_t value_bytes = x.is_double ? sizeof(double) : sizeof(float);
    const std::size_t side_by_side = kCacheLine / value_bytes;
    const std::size_t short_ones = kShortColumns / std::max<std::size_t>(1, x.n_rows * value_bytes);
    const std::size_t for_each_thread = (x.n_columns + n_threads - 1) / n_threads;
    return std::min(std::clamp(short_ones, kLeast, side_by_side), std::max<std::size_t>(1, for_each_thread));
}

std::vector<Column> code_columns(const Matrix& x, const ColumnCoding& coding, Work& work) {
    std::vector<Column> columns(x.n_columns);
    const std::size_t at_once = count_read_at_once(x, work.n_threads());
    const std::size_t n_groups = (x.n_columns + at_once - 1) / at_once;
    const bool are_cut = coding.max_bins != 0 && coding.categorical.empty();
    CodeRoom room(x.n_rows * width_of(are_cut ? std::min<std::size_t>(x.n_rows, coding.max_bins) : x.n_rows),
                  x.n_columns);
    x.dispatch([&]<class Float>() {
        std::vector<ColumnCoder<Float>> coders(work.n_threads(), ColumnCoder<Float>(coding, room));
        std::vector<std::vector<Float>> read(work.n_threads());
        work.run(n_groups, [&](std::size_t group, std::size_t thread) {
            const std::size_t first = group * at_once;
            const std::size_t n = std::min(at_once, x.n_columns - first);
            read_columns(x, first, n, read[thread]);
            for (std::size_t j = 0; j < n; ++j) {
                work.check();
                const bool is_categorical = !coding.categorical.empty() && coding.categorical[first + j];
                columns[first + j] =
                    coders[thread].code(std::span(read[thread]).subspan(j * x.n_rows, x.n_rows), is_categorical);
            }
        });
    });
    return columns;
}

}  // namespace weald
