// Out-of-bag rows: which they are, and their predictions.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <tuple>
#include <variant>
#include <vector>

#include "arrays.h"
#include "coding/codes.h"
#include "draw/bag.h"
#include "draw/tree_params.h"
#include "packed_memory.h"
#include "predict/out_of_bag.h"

namespace weald {

using namespace nb::literals;

namespace {

// An origin is (index of the run, seed, tree).
using TreeOrigin = std::tuple<std::size_t, std::uint64_t, std::uint32_t>;

// Integers of 128 bits as Python integers, from high and low halves.
nb::tuple halves_of(const std::vector<Int128>& wide) {
    std::vector<std::int64_t> high(wide.size());
    std::vector<std::uint64_t> low(wide.size());
    for (std::size_t i = 0; i < wide.size(); ++i) {
        high[i] = static_cast<std::int64_t>(wide[i] >> 64);
        low[i] = static_cast<std::uint64_t>(wide[i]);
    }
    return nb::make_tuple(to_numpy(std::move(high)), to_numpy(std::move(low)));
}

std::vector<Drawn> drawn_trees(const std::vector<Growth>& growths, const std::vector<TreeOrigin>& origins) {
    std::vector<Drawn> trees;
    for (const auto& [which, seed, tree] : origins) {
        trees.push_back({&growths.at(which), seed, tree});
    }
    return trees;
}

constexpr std::size_t kBagsAtOnce = 32;  // trees whose bags are held in memory

NumpyVector<std::uint64_t> bind_draw_out_of_bag(const Codes& codes, const std::vector<Growth>& growths,
                                                const std::vector<TreeOrigin>& origins, std::size_t n_threads) {
    if (origins.size() > kBagsAtOnce) {
        throw std::invalid_argument("too many trees in one call");
    }
    const std::vector<Drawn> trees = drawn_trees(growths, origins);
    Work work = make_work(n_threads, nb::none());
    std::vector<std::uint64_t> out;
    {
        const nb::gil_scoped_release release;
        out = draw_out_of_bag(codes, trees, work);
    }
    return to_numpy(std::move(out));
}

// The trees of a forest in batches: trees whose bags are drawn together, and trees that are packed together.
class TreeBatches {
  public:
    using Given = std::variant<const Packed*, const PackedBatch*>;

    explicit TreeBatches(const Given& given)
        : whole_(std::holds_alternative<const Packed*>(given) ? &std::get<const Packed*>(given)->forest() : nullptr),
          batches_(whole_ == nullptr ? &std::get<const PackedBatch*>(given)->packed() : nullptr) {}

    bool is_whole() const { return whole_ != nullptr; }
    std::size_t n_trees() const { return is_whole() ? whole_->n_trees() : batches_->forest().n_trees(); }
    std::size_t width() const { return is_whole() ? whole_->width() : batches_->forest().width(); }
    void require(const Matrix& x) const { (is_whole() ? RowsWanted(*whole_) : RowsWanted(*batches_)).require(x); }
    std::size_t end_from(std::size_t begin, const Work& work) const {
        return std::min(begin + kBagsAtOnce, is_whole() ? n_trees() : batches_->end_from(begin, work.n_threads()));
    }

    // Calls walk(packed forest, trees) for the trees begin to end - 1.
    template <class Walk>
    void take(std::size_t begin, std::size_t end, Work& work, Walk&& walk) {
        if (is_whole()) {
            walk(*whole_, TreeRange{begin, end});
        } else {
            walk(batches_->pack_some(begin, end, room_, work), TreeRange{begin, end, begin});
        }
    }

  private:
    const PackedForest* whole_;
    const PackedBatches* batches_;
    PackedBuffer room_;
};

// The bits of some rows of the table.
std::vector<std::uint64_t> at_ranks(std::span<const std::uint64_t> of_rows, const Codes& codes,
                                    std::span<const std::uint32_t> ranks) {
    std::vector<std::uint64_t> found(ranks.size());
    std::transform(ranks.begin(), ranks.end(), found.begin(),
                   [&](std::uint32_t rank) { return of_rows[codes.positions[rank]]; });
    return found;
}

// Continues from existing sums and tree counts of earlier trees. With `ranks`, x contains only the rows at these ranks,
// and the curve only their part.
nb::tuple bind_sum_votes_out_of_bag(const TreeBatches::Given& given, const Codes& codes,
                                    const std::vector<Growth>& growths, const std::vector<TreeOrigin>& origins,
                                    const AnyTable& x, bool hard, const std::optional<Vector<double>>& sums,
                                    const std::optional<Vector<std::uint32_t>>& n_trees, int room,
                                    std::size_t n_threads, const nb::object& watch,
                                    const std::optional<Vector<std::uint32_t>>& rows,
                                    const std::vector<Vector<std::uint64_t>>& outside) {
    const Matrix matrix = matrix_of(x);
    TreeBatches batches(given);
    batches.require(matrix);
    const std::size_t n_sums = matrix.n_rows * batches.width();
    const std::span<const std::uint32_t> ranks = rows ? span_of(*rows) : std::span<const std::uint32_t>{};
    const bool all_there = matrix.n_rows == (rows ? ranks.size() : codes.n_rows) &&
                           std::all_of(ranks.begin(), ranks.end(), [&](auto rank) { return rank < codes.n_rows; });
    if (!all_there || origins.size() != batches.n_trees() || (sums && sums->size() != n_sums) ||
        (n_trees && n_trees->size() != matrix.n_rows)) {
        throw std::invalid_argument("rows or trees differ from those that were grown together");
    }
    if (codes.classes.empty() && codes.numbers.empty()) {
        throw std::invalid_argument("the codes have no targets");
    }
    const std::vector<Drawn> trees = drawn_trees(growths, origins);
    const auto suits = [&](const Vector<std::uint64_t>& out) { return out.size() == matrix.n_rows; };
    // Bags that were drawn before are those of this many trees at a time, independent of how trees are packed.
    if (!outside.empty() && (!batches.is_whole() || outside.size() != (trees.size() + kBagsAtOnce - 1) / kBagsAtOnce ||
                             !std::all_of(outside.begin(), outside.end(), suits))) {
        throw std::invalid_argument("the bags are not those of the trees");
    }
    const KnownTargets truth = [&] {
        const nb::gil_scoped_release release;
        return KnownTargets(codes, room, ranks);
    }();
    OutOfBagVotes votes{std::vector<double>(n_sums), std::vector<std::uint32_t>(matrix.n_rows), {truth, trees.size()}};
    if (sums && n_trees) {
        std::copy_n(sums->data(), n_sums, votes.sums.begin());
        std::copy_n(n_trees->data(), matrix.n_rows, votes.n_trees.begin());
    }
    Work work = make_work(n_threads, watch);
    {
        const nb::gil_scoped_release release;
        for (std::size_t begin = 0, end = 0; begin < trees.size(); begin = end) {
            end = batches.end_from(begin, work);
            std::vector<std::uint64_t> drawn;
            if (outside.empty()) {
                drawn = draw_out_of_bag(codes, std::span(trees).subspan(begin, end - begin), work);
                drawn = rows ? at_ranks(drawn, codes, ranks) : std::move(drawn);
            }
            const std::span<const std::uint64_t> out =
                outside.empty() ? std::span<const std::uint64_t>(drawn) : span_of(outside[begin / kBagsAtOnce]);
            batches.take(begin, end, work, [&](const PackedForest& forest, const TreeRange& range) {
                add_votes_out_of_bag(forest, matrix, hard, range, out, votes, work);
            });
        }
    }
    return nb::make_tuple(to_numpy(std::move(votes.sums), matrix.n_rows, batches.width()),
                          to_numpy(std::move(votes.n_trees)), to_numpy(votes.curve.errors()),
                          to_numpy(votes.curve.shares(codes.line_length)), halves_of(votes.curve.totals()),
                          to_numpy(std::vector<std::uint64_t>(votes.curve.seen())), truth.shift);
}

}  // namespace

void bind_out_of_bag(nb::module_& module) {
    module.def(
        "sum_votes_out_of_bag", &bind_sum_votes_out_of_bag, "forest"_a, "codes"_a, "growths"_a, "origins"_a, "x"_a,
        "hard"_a, "sums"_a.none(), "n_trees"_a.none(), "room"_a, "n_threads"_a, "watch"_a.none(),
        "ranks"_a.none() = nb::none(), "outside"_a = std::vector<Vector<std::uint64_t>>{},
        "Sums of the out-of-bag predictions in tree order; the number of trees that predicted each row; and after "
        "each tree the error and the fraction of rows that have a prediction. Origins are (index of the growth, "
        "seed, tree). Also the terms of the last two: sums of errors in halves, sums of weights, and the shift of "
        "errors. With `ranks`, x has only these rows. `outside` has the bits of draw_out_of_bag for these rows if "
        "they are known.");
    module.attr("bags_at_once") = kBagsAtOnce;
    module.def("draw_out_of_bag", &bind_draw_out_of_bag, "codes"_a, "growths"_a, "origins"_a, "n_threads"_a,
               "For each row of the table a bit for each tree, at most bags_at_once: whether the row is out of bag.");
}

}  // namespace weald
