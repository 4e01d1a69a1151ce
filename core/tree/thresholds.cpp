#include "tree/thresholds.h"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "coding/code_columns.h"

namespace weald {

namespace {

// Calls use(rank, code) for all rows that have a code.
template <class Use>
void for_codes(const Column& column, std::size_t n_rows, const Use& use) {
    const auto walk = [&]<class Code>() {
        const Code* codes = column.as<Code>();
        for (std::size_t r = 0; r < n_rows; ++r) {
            if (codes[r] != std::numeric_limits<Code>::max()) {
                use(r, codes[r]);
            }
        }
    };
    column.width == 1   ? walk.template operator()<std::uint8_t>()
    : column.width == 2 ? walk.template operator()<std::uint16_t>()
                        : walk.template operator()<std::uint32_t>();
}

// The values of one column after the other; its memory is reused.
template <class Float>
class ValueFinder {
  public:
    explicit ValueFinder(const Codes& codes) : codes_(codes) {}

    // `values` are those of the column by row of the table; they are needed if a code has more than one.
    void begin(std::size_t feature, std::span<const Float> values) {
        const Column& column = codes_.columns[feature];
        feature_ = feature;
        has_ranges_ = column.highs.size() != 0;
        if (!has_ranges_) {
            rows_.resize(column.lows.size());
            for_codes(column, codes_.n_rows,
                      [&](std::size_t rank, std::size_t code) { rows_[code] = codes_.positions[rank]; });
            return;
        }
        constexpr Float kInfinity = std::numeric_limits<Float>::infinity();
        ranges_.assign(column.lows.size(), {kInfinity, -kInfinity});
        for_codes(column, codes_.n_rows, [&](std::size_t rank, std::size_t code) {
            const Float value = values[codes_.positions[rank]] + Float{0};  // -0.0 becomes 0.0
            Range& range = ranges_[code];
            range = {std::min(range.low, value), std::max(range.high, value)};
        });
    }
    Float low(std::size_t code) const { return has_ranges_ ? ranges_[code].low : one(code); }
    Float high(std::size_t code) const { return has_ranges_ ? ranges_[code].high : one(code); }

  private:
    struct Range {
        Float low;
        Float high;
    };

    Float one(std::size_t code) const { return codes_.source->at<Float>(rows_[code], feature_) + Float{0}; }

    const Codes& codes_;
    std::size_t feature_ = 0;
    bool has_ranges_ = false;
    std::vector<std::uint32_t> rows_;  // by code: row of the table with its value
    std::vector<Range> ranges_;        // indexed by code
};

// The nodes of a part of the forest whose thresholds were postponed, by feature.
class WaitingNodes {
  public:
    WaitingNodes(const ForestArrays& forest, const Codes& codes, std::size_t begin, std::size_t end, Work& work) {
        const std::size_t n_features = codes.columns.size();
        const std::size_t block_nodes = (end - begin + work.n_threads() - 1) / work.n_threads();
        const auto for_waiting = [&](std::size_t first, std::size_t last, const auto& use) {
            for (std::size_t i = begin + first; i < begin + last; ++i) {
                const std::int32_t feature = forest.feature[i];
                if (feature >= 0 && codes.columns[static_cast<std::size_t>(feature)].lows.are_left_out()) {
                    use(static_cast<std::size_t>(feature), static_cast<std::uint32_t>(i - begin));
                }
            }
        };
        std::vector<std::vector<std::uint32_t>> places(work.n_threads(), std::vector<std::uint32_t>(n_features));
        for_blocks(end - begin, block_nodes, work, [&](std::size_t block, std::size_t first, std::size_t last) {
            for_waiting(first, last, [&](std::size_t feature, std::uint32_t) { ++places[block][feature]; });
        });
        std::uint32_t place = 0;
        for (std::size_t f = 0; f < n_features; ++f) {
            starts_.push_back(place);
            for (std::vector<std::uint32_t>& of_block : places) {
                place += std::exchange(of_block[f], place);
            }
        }
        starts_.push_back(place);
        nodes_.resize(place);
        for_blocks(end - begin, block_nodes, work, [&](std::size_t block, std::size_t first, std::size_t last) {
            for_waiting(first, last,
                        [&](std::size_t feature, std::uint32_t node) { nodes_[places[block][feature]++] = node; });
        });
    }

    // Counted from the first of the part.
    std::span<const std::uint32_t> of(std::size_t feature) const {
        return std::span(nodes_).subspan(starts_[feature], starts_[feature + 1] - starts_[feature]);
    }

  private:
    std::vector<std::uint32_t> starts_;  // by feature; and the end
    std::vector<std::uint32_t> nodes_;
};

// Nodes of one feature are far apart in memory, so the next ones are prefetched.
template <class Float>
void write_nodes(const ValueFinder<Float>& values, std::span<const std::uint32_t> nodes, double* thresholds) {
    constexpr std::size_t kAhead = 16;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        __builtin_prefetch(thresholds + nodes[std::min(i + kAhead, nodes.size() - 1)]);
        double& threshold = thresholds[nodes[i]];
        const auto [below, above] = beside_of(threshold);
        threshold = above == kNothingAbove ? std::numeric_limits<double>::infinity()
                                           : place_threshold(values.high(below), values.low(above));
    }
}

}  // namespace

std::pair<Values, Values> look_up_values(const Codes& codes, std::size_t feature) {
    const Column& column = codes.columns[feature];
    if (!column.lows.are_left_out()) {
        return {column.lows, column.upper()};
    }
    return codes.source->dispatch([&]<class Float>() -> std::pair<Values, Values> {
        std::vector<Float> values;
        read_columns(*codes.source, feature, 1, values);
        ValueFinder<Float> finder(codes);
        finder.begin(feature, values);
        std::vector<Float> lows;
        std::vector<Float> highs;
        for (std::size_t code = 0; code < column.lows.size(); ++code) {
            lows.push_back(finder.low(code));
            highs.push_back(finder.high(code));
        }
        return {Values(std::move(lows)), Values(std::move(highs))};
    });
}

void look_up_thresholds(ForestArrays& forest, const Codes& codes, Work& work) {
    constexpr std::size_t kPart = std::size_t{1} << 26;  // nodes whose indices are stored at once
    if (!codes.source) {
        return;
    }
    const Matrix& x = *codes.source;
    const std::size_t at_once = count_read_at_once(x, work.n_threads());
    x.dispatch([&]<class Float>() {
        std::vector<ValueFinder<Float>> finders(work.n_threads(), ValueFinder<Float>(codes));
        std::vector<std::vector<Float>> read(work.n_threads());
        for (std::size_t begin = 0; begin < forest.feature.size(); begin += kPart) {
            const WaitingNodes waiting(forest, codes, begin, std::min(forest.feature.size(), begin + kPart), work);
            const auto write_columns = [&](std::size_t group, std::size_t thread) {
                const std::size_t first = group * at_once;
                const std::size_t n = std::min(at_once, x.n_columns - first);
                bool are_read = false;
                for (std::size_t f = first; f < first + n; ++f) {
                    const std::span<const std::uint32_t> nodes = waiting.of(f);
                    if (nodes.empty()) {
                        continue;
                    }
                    work.check();
                    const bool is_read = codes.columns[f].highs.size() != 0;
                    if (is_read && !are_read) {
                        read_columns(x, first, n, read[thread]);
                        are_read = true;
                    }
                    finders[thread].begin(
                        f, is_read ? std::span<const Float>(read[thread]).subspan((f - first) * x.n_rows, x.n_rows)
                                   : std::span<const Float>());
                    write_nodes(finders[thread], nodes, forest.threshold.data() + begin);
                }
            };
            work.run((x.n_columns + at_once - 1) / at_once, write_columns, [] { return 1.0; });
        }
    });
}

}  // namespace weald
