// Parts of the core, bound separately so that tests can compare them with published values and with the reference.

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "arrays.h"
#include "base/random.h"
#include "base/random_block.h"
#include "base/sort_network.h"
#include "base/weights.h"
#include "coding/data_hash.h"
#include "coding/sparse_codes.h"
#include "draw/feature_draw.h"
#include "score/criteria.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace weald {

namespace {

// The features that a node draws, in order; or, if it considers all of them, the order in which they win ties. Drawn
// twice, to test that a draw does not affect the next one.
std::vector<std::uint32_t> draw_features(std::uint64_t seed, std::uint64_t id, std::uint32_t tree,
                                         std::uint32_t n_features, const std::vector<double>& weights,
                                         bool looks_at_all) {
    FeatureDraw features(n_features, feature_scales(weights));
    std::vector<std::uint32_t> drawn(
        weights.empty()
            ? n_features
            : static_cast<std::size_t>(std::count_if(weights.begin(), weights.end(), [](double w) { return w > 0; })));
    for (int turn = 0; turn < 2; ++turn) {
        features.begin({seed, id, tree, kPurposeFeatures}, looks_at_all ? n_features : 0, looks_at_all);
        std::generate(drawn.begin(), drawn.end(), [&] { return features.next(); });
        features.end();
    }
    return drawn;
}

// The product of two numbers below the prime of data hashes, as bytes.
nb::bytes multiply_rows(const nb::bytes& a, const nb::bytes& b) {
    RowProduct product;
    RowProduct other;
    if (a.size() != sizeof product || b.size() != sizeof other) {
        throw std::invalid_argument("a number has 384 bytes");
    }
    std::memcpy(product.data(), a.data(), sizeof product);
    std::memcpy(other.data(), b.data(), sizeof other);
    multiply(product, other);
    return nb::bytes(product.data(), sizeof product);
}

// Codes and their positions, sorted.
std::vector<std::pair<std::uint16_t, std::uint16_t>> sort_codes(std::vector<std::uint16_t> codes) {
    const std::size_t n = codes.size();
    if (n > kMostSorted) {
        throw std::invalid_argument("too many codes for the network");
    }
    codes.resize(kMostSorted);
    alignas(64) std::array<std::uint32_t, kMostSorted> keys;
    sort_few(codes.data(), n, keys.data());
    std::vector<std::pair<std::uint16_t, std::uint16_t>> sorted;
    for (std::size_t i = 0; i < n; ++i) {
        sorted.emplace_back(static_cast<std::uint16_t>(keys[i] >> 16), static_cast<std::uint16_t>(keys[i] & 0xFFFF));
    }
    return sorted;
}

// One column of a sparse table as codes (all columns are coded), and the hash of each row.
std::pair<nb::object, nb::object> code_sparse(const SparseTable& x, std::size_t feature) {
    const Sparse by_column = x.view();
    const std::size_t n_rows = x.shape().n_rows;
    if (by_column.starts.size() != x.shape().n_columns + 1 || feature >= x.shape().n_columns) {
        throw std::invalid_argument("give a table column by column, and one of its columns");
    }
    Work work = make_work(1, nb::none());
    const std::vector<std::uint8_t> all_sampled;
    const std::vector<std::uint64_t> all_one;
    const SparseCoding coding{n_rows, all_sampled, all_one, 255};
    const std::vector<Column> columns = code_sparse_columns(by_column, coding, work);
    const std::uint8_t* codes = columns[feature].as<std::uint8_t>();
    std::vector<std::uint8_t> found(codes, codes + n_rows);
    const auto of_rows = hash_sparse_rows(by_column, std::vector<std::uint64_t>(n_rows));
    std::vector<std::uint64_t> hashes(of_rows.begin(), of_rows.end());
    return {nb::cast(to_numpy(std::move(found))), nb::cast(to_numpy(std::move(hashes)))};
}

}  // namespace

void bind_parts(nb::module_& module) {
    module.def("mix64", &mix64, "word"_a, "The splitmix64 finalizer.");
    module.def("philox", &philox, "counter"_a, "key"_a, "Philox4x32-10: four words of random bits.");
    module.def(
        "draw",
        [](std::uint64_t seed, std::uint64_t id, std::uint32_t tree, std::uint32_t purpose, std::uint32_t i) {
            return draw({seed, id, tree, purpose}, i);
        },
        "seed"_a, "id"_a, "tree"_a, "purpose"_a, "i"_a, "The 64 random bits at an address.");
    module.def(
        "draw_block",
        [](std::uint64_t seed, std::uint64_t id, std::uint32_t tree, std::uint32_t purpose, std::uint32_t first_pair) {
            return draw_block({seed, id, tree, purpose}, first_pair);
        },
        "seed"_a, "id"_a, "tree"_a, "purpose"_a, "first_pair"_a,
        "Draws 2 * first_pair, 2 * first_pair + 1 ... at an address.");
    module.def("draw_block_of_ids", &draw_block_of_ids, "seed"_a, "first_id"_a, "tree"_a, "purpose"_a,
               "Draws 0 and 1 of the ids first_id, first_id + 1 ...");
    module.def("draw_features", &draw_features, "seed"_a, "id"_a, "tree"_a, "n_features"_a, "weights"_a,
               "looks_at_all"_a,
               "All features of positive weight in the order in which a node draws them, or in which they win ties.");
    module.def("multiply_rows", &multiply_rows, "a"_a, "b"_a, "The product of two numbers of a data hash.");
    module.def("log2", static_cast<double (*)(double)>(&log2_of), "x"_a,
               "Base-2 logarithm of a number that is at least 1.");
    module.def("sort_codes", &sort_codes, "codes"_a, "Codes and their places, sorted by the sorting network.");
    module.attr("most_sorted") = kMostSorted;
    module.def("code_sparse", &code_sparse, "x"_a, "feature"_a,
               "A sparse column as codes of one byte, and the hash of each row; all targets are 0.");
    module.def("below", &below, "bits"_a, "n"_a, "floor(bits * n / 2**64): a number from 0 to n - 1.");
}

}  // namespace weald
