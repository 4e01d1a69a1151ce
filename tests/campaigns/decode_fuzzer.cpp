// The reader of model files as a target of libFuzzer, without Python: the arrays of a file to those of a forest.
//
// An input has the numbers of the head and then arrays: a name, a kind, the width of a number, how many, and the bytes.
// What the decoder accepts is walked with odd rows. tests/campaigns/fuzz.py writes the first inputs from golden files.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

#include "base/threads.h"
#include "files/decode.h"
#include "tree/forest_view.h"

using namespace weald;

namespace {

constexpr std::uint32_t kMostClasses = 32;  // with a rule for decreases
constexpr std::size_t kMostNodes = 1024;    // larger forests take longer, and no other code

class Input {
  public:
    Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

    bool is_over() const { return left_ == 0; }

    template <class T>
    T take() {
        T value{};
        std::memcpy(&value, take_bytes(sizeof value), sizeof value);
        return value;
    }
    const std::uint8_t* take_bytes(std::size_t n) {
        if (n > left_) {
            throw std::out_of_range("the input ends");
        }
        const std::uint8_t* first = data_;
        data_ += n;
        left_ -= n;
        return first;
    }

  private:
    const std::uint8_t* data_;
    std::size_t left_;
};

// The kinds and widths that bindings/bind_files.cpp lets through.
EncodedColumn take_column(Input& input) {
    constexpr std::size_t kWidths[] = {1, 2, 4, 8};
    EncodedColumn column;
    const auto kind = input.take<std::uint8_t>() % 4;
    const auto width = input.take<std::uint8_t>();
    column.kind = static_cast<EncodedColumn::Kind>(kind + 1);
    column.width = column.kind == EncodedColumn::Kind::cut        ? 1 + width % 7
                   : column.kind == EncodedColumn::Kind::floating ? (width % 2 == 0 ? 4 : 8)
                                                                  : kWidths[width % 4];
    column.size = input.take<std::uint16_t>();
    column.data = reinterpret_cast<const std::byte*>(input.take_bytes(column.size * column.width));
    return column;
}

void walk(const ForestArrays& forest, std::uint32_t n_features) {
    for (std::size_t tree = 0; tree + 1 < forest.tree_start.size(); ++tree) {
        const auto root = static_cast<std::size_t>(forest.tree_start[tree]);
        const auto n_nodes = static_cast<std::size_t>(forest.tree_start[tree + 1]) - root;
        for (const double x : {0.0, std::numeric_limits<double>::quiet_NaN(), 1e300, -1e300, 3.0}) {
            std::size_t node = 0;
            for (std::size_t step = 0; forest.feature[root + node] >= 0; ++step) {
                const auto feature = static_cast<std::uint32_t>(forest.feature[root + node]);
                const bool goes_left =
                    std::isnan(x) ? forest.flags[root + node] & 1 : x <= forest.threshold[root + node];
                node = goes_left ? node + 1 : static_cast<std::size_t>(forest.right[root + node]);
                if (feature >= n_features || step > n_nodes || node >= n_nodes) {
                    std::abort();
                }
            }
        }
    }
}

ForestView view_of(const ForestArrays& forest, const EncodedHead& head) {
    ForestView view;
    view.n_features = head.n_features;
    view.n_classes = head.n_classes;
    view.tree_start = forest.tree_start;
    view.feature = forest.feature;
    view.threshold = forest.threshold;
    view.right = forest.right;
    view.flags = forest.flags;
    view.leaf_start = forest.leaf_start;
    view.leaf_class = forest.leaf_class;
    view.leaf_weight = forest.leaf_weight;
    view.value = forest.value;
    view.category_start = forest.category_start;
    view.category_sets = forest.category_sets;
    return view;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        Input input(data, size);
        EncodedHead head;
        head.n_features = 1u + input.take<std::uint16_t>();
        head.n_classes = input.take<std::uint16_t>();
        head.n_trees = input.take<std::uint16_t>();
        head.n_nodes = input.take<std::uint16_t>();
        head.center = input.take<double>();
        head.exponent = input.take<std::int16_t>();
        head.rule = static_cast<Rule>(input.take<std::uint8_t>() % 5);
        head.is_bound = input.take<std::uint8_t>() % 2 != 0;
        head.most_depth = std::size_t{1} << 20;
        // src/weald/io/packing.py has checked these.
        const bool too_many_classes = head.n_classes > kMostClasses && head.rule != Rule::none;
        if (head.n_trees < 1 || head.n_trees > head.n_nodes || !std::isfinite(head.center) || too_many_classes ||
            head.n_nodes > kMostNodes) {
            return -1;
        }
        EncodedColumns columns;
        while (!input.is_over()) {
            const auto length = input.take<std::uint8_t>();
            const std::string name(reinterpret_cast<const char*>(input.take_bytes(length)), length);
            columns.add(name, take_column(input));
        }
        Work work(1, [](double) {});
        const Decoded found = decode(head, std::move(columns), work);
        check_forest(view_of(found, head));
        walk(found, head.n_features);
    } catch (const std::invalid_argument&) {
    } catch (const std::out_of_range&) {
        return -1;
    }
    return 0;
}
