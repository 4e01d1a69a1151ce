#include "predict/out_of_bag.h"

#include <algorithm>
#include <array>

#include "predict/leaves.h"
#include "predict/row_keys.h"
#include "predict/walk.h"

namespace weald {

namespace {

constexpr std::size_t kTaskBytes = std::size_t{4} << 20;  // maximum bytes of keys and sums of a task's rows
constexpr std::size_t kLeastTaskRows = 64;                // rows of a task
constexpr std::size_t kShortRow = 512;  // maximum bytes of keys: a walk reads most of their cache lines

template <class Node>
class OutOfBagWalk {
  public:
    using Key = typename Node::Key;

    OutOfBagWalk(const PackedForest& forest, const Matrix& x, bool hard, TreeRange trees, OutOfBag out,
                 OutOfBagVotes& votes, const Work& work)
        : forest_(forest),
          ways_(forest),
          reader_(x, forest),
          leaf_reader_(forest, hard),
          trees_(trees),
          out_(out),
          votes_(votes),
          work_(work) {}

    std::size_t rows_per_block(std::size_t n_rows, std::size_t n_threads) const {
        const std::size_t row_bytes = reader_.n_keys() * sizeof(Key) + forest_.width() * sizeof(double);
        return std::clamp(n_rows / (4 * n_threads), kLeastTaskRows, std::max(kLeastTaskRows, kTaskBytes / row_bytes));
    }

    // `room` is memory for the keys of blocks, reused: the system would have to provide new pages.
    void add(std::size_t begin, std::size_t end, std::vector<Key>& room) const {
        const std::size_t n_keys = reader_.n_keys();
        room.resize(std::max(room.size(), (end - begin) * n_keys));
        const std::span<Key> keys = std::span(room).first((end - begin) * n_keys);
        reader_.clear(keys);
        bool has_missing = false;
        for (std::size_t row = begin; row < end; ++row) {
            has_missing |= reader_.read(row, keys.data() + (row - begin) * n_keys, 1);
        }
        with_needs(forest_, has_missing, [&]<With kWith>() { add_with<kWith>(begin, end, keys); });
    }

  private:
    template <With kWith>
    void add_with(std::size_t begin, std::size_t end, std::span<const Key> keys) const {
        const std::size_t n_rows = end - begin, width = forest_.width(), n_keys = reader_.n_keys();
        const std::size_t n_fetched = n_keys * sizeof(Key) <= kShortRow ? n_keys : 0;
        const std::span<double> sums = std::span(votes_.sums).subspan(begin * width, n_rows * width);
        const std::span<std::uint32_t> n_trees = std::span(votes_.n_trees).subspan(begin, n_rows);
        ErrorCurve::Part part = votes_.curve.begin(begin, sums, n_trees);
        std::vector<std::uint32_t> places(n_rows + kLanes);
        for (std::size_t t = trees_.begin; t < trees_.end; ++t) {
            work_.check();
            const std::span<const Node> nodes = forest_.tree<Node>(t - trees_.first_packed);
            const bool has_vote = (nodes[0].link & kIsLeaf) == 0 || leaf_reader_.has_vote(nodes[0].cut);
            const std::size_t n = has_vote ? find_places(begin, n_rows, t - trees_.begin, places) : 0;
            fetch(nodes);
            for (std::size_t first = 0; first < n; first += kLanes) {
                std::array<const Key*, kLanes> rows;
                for (std::size_t lane = 0; lane < kLanes; ++lane) {
                    rows[lane] = keys.data() + places[first + lane] * n_keys;
                    fetch(
                        keys.subspan(places[std::min(first + kLanes, n) + lane] * n_keys, n_fetched));  // the next row
                }
                const Slots at = walk_rows<kWith>(nodes.data(), rows, ways_);
                for (const std::uint64_t slot : at) {
                    leaf_reader_.fetch(nodes[slot].cut);
                }
                for (std::size_t lane = 0; lane < std::min(kLanes, n - first); ++lane) {
                    const std::size_t place = places[first + lane];
                    double* of_row = sums.data() + place * width;
                    leaf_reader_.add(nodes[at[lane]].cut, 1.0, of_row);
                    part.tell(place, of_row, ++n_trees[place]);
                }
            }
            part.end_tree();
        }
        votes_.curve.add(part, trees_.begin);
    }

    // The out-of-bag rows of a tree in a block; the last one fills up its group.
    std::size_t find_places(std::size_t begin, std::size_t n_rows, std::size_t bit,
                            std::vector<std::uint32_t>& places) const {
        std::size_t n = 0;
        for (std::size_t i = 0; i < n_rows; ++i) {
            places[n] = static_cast<std::uint32_t>(i);
            n += out_[begin + i] >> bit & 1;
        }
        std::fill_n(places.begin() + static_cast<std::ptrdiff_t>(n), kLanes, n == 0 ? 0 : places[n - 1]);
        return n;
    }

    template <class T>
    static void fetch(std::span<const T> wanted) {
        const auto bytes = std::as_bytes(wanted);
        for (std::size_t at = 0; at < bytes.size(); at += kLine) {
            __builtin_prefetch(bytes.data() + at, 0, 2);
        }
    }

    const PackedForest& forest_;
    NextNode ways_;
    KeyReader<Node> reader_;
    LeafReader leaf_reader_;
    TreeRange trees_;
    OutOfBag out_;
    OutOfBagVotes& votes_;
    const Work& work_;
};

template <class Node>
void add_with_nodes(const PackedForest& forest, const Matrix& x, bool hard, TreeRange trees, OutOfBag out,
                    OutOfBagVotes& votes, Work& work) {
    const OutOfBagWalk<Node> walk(forest, x, hard, trees, out, votes, work);
    const std::size_t rows = walk.rows_per_block(x.n_rows, work.n_threads());
    std::vector<std::vector<typename Node::Key>> rooms(work.n_threads());
    const auto add = [&](std::size_t b, std::size_t thread) {
        walk.add(b * rows, std::min(x.n_rows, (b + 1) * rows), rooms[thread]);
    };
    const std::size_t n_blocks = (x.n_rows + rows - 1) / rows;
    if (x.n_rows * (trees.end - trees.begin) > kFewSteps) {
        work.run(n_blocks, add);
        return;
    }
    for (std::size_t b = 0; b < n_blocks; ++b) {
        add(b, 0);
    }
}

}  // namespace

void add_votes_out_of_bag(const PackedForest& forest, const Matrix& x, bool hard, TreeRange trees, OutOfBag out,
                          OutOfBagVotes& votes, Work& work) {
    forest.is_large() ? add_with_nodes<LargeNode>(forest, x, hard, trees, out, votes, work)
                      : add_with_nodes<SmallNode>(forest, x, hard, trees, out, votes, work);
}

}  // namespace weald
