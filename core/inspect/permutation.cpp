#include "inspect/permutation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "base/random.h"
#include "base/random_block.h"
#include "draw/bag.h"

namespace weald {

namespace {

constexpr std::size_t kBlock = 16;       // rows that are walked together
constexpr std::size_t kMostGroups = 64;  // groups that are permuted together: the bits of a word
constexpr std::uint8_t kNoSlot = 64;

struct Loss {
    std::uint32_t row;  // row of the table
    std::uint32_t group;
    double increase;
};

// The table in rank order, by row and by column: a walk reads a row, permuting reads a column.
template <class Float>
class RankedTable {
  public:
    RankedTable(const Matrix& x, std::span<const std::uint32_t> order, Work& work)
        : n_rows_(x.n_rows), n_columns_(x.n_columns), rows_(n_rows_ * n_columns_), columns_(rows_.size()) {
        constexpr std::size_t kRows = 4096;
        work.run((n_rows_ + kRows - 1) / kRows, [&](std::size_t block, std::size_t) {
            for (std::size_t rank = block * kRows; rank < std::min(n_rows_, (block + 1) * kRows); ++rank) {
                for (std::size_t f = 0; f < n_columns_; ++f) {
                    const Float value = x.at<Float>(order[rank], f);
                    rows_[rank * n_columns_ + f] = value;
                    columns_[f * n_rows_ + rank] = value;
                }
            }
        });
    }
    const Float* row(std::size_t rank) const { return rows_.data() + rank * n_columns_; }
    const Float* column(std::size_t f) const { return columns_.data() + f * n_rows_; }

  private:
    std::size_t n_rows_;
    std::size_t n_columns_;
    std::vector<Float> rows_;
    std::vector<Float> columns_;
};

// One tree, its out-of-bag rows, and some groups.
template <class Float, bool HasCategories>
class TreePermuter {
  public:
    TreePermuter(const Predictor& predictor, const NamedTree& tree, const RankedTable<Float>& table,
                 const PermutationTask& request, std::size_t number, double* sums, std::vector<Loss>* losses)
        : predictor_(predictor),
          nodes_(predictor.nodes(tree.place)),
          tree_(tree),
          table_(table),
          request_(request),
          number_(number),
          sums_(sums),
          losses_(losses) {
        const std::uint8_t* is_new = request.is_new.data() + number * request.order.size();
        for (std::uint32_t rank = 0; rank < request.order.size(); ++rank) {
            if (is_new[request.order[rank]] != 0) {
                ranks_.push_back(rank);
            }
        }
    }

    void permute(const Work& work) {
        const std::vector<std::uint32_t> groups = groups_of_tree();
        for (std::size_t begin = 0; begin < groups.size(); begin += kMostGroups) {
            const std::size_t n = std::min(kMostGroups, groups.size() - begin);
            slots_.assign(groups.begin() + static_cast<std::ptrdiff_t>(begin),
                          groups.begin() + static_cast<std::ptrdiff_t>(begin + n));
            permute_columns(work);
            for (std::size_t place = 0; place < ranks_.size(); place += kBlock) {
                work.check();
                permute_block(place, std::min(ranks_.size(), place + kBlock));
            }
        }
    }

  private:
    struct Walk {
        const Float* row;
        std::uint32_t at;
        std::uint32_t place;  // position of the row among the tree's out-of-bag rows
        std::uint32_t slot;
        double answer;
    };

    std::vector<std::uint32_t> groups_of_tree() const {
        std::vector<bool> met(request_.n_groups());
        for (const Predictor::Node& node : nodes_) {
            if (!node.is_leaf() && request_.group_of[node.column()] >= 0) {
                met[static_cast<std::size_t>(request_.group_of[node.column()])] = true;
            }
        }
        std::vector<std::uint32_t> groups;
        for (std::uint32_t group = 0; group < met.size(); ++group) {
            if (met[group]) {
                groups.push_back(group);
            }
        }
        return groups;
    }

    // Permutes the columns of the groups of all slots.
    void permute_columns(const Work& work) {
        slot_of_.assign(request_.group_of.size(), kNoSlot);
        permuted_of_.assign(request_.group_of.size(), 0);
        permuted_.clear();
        permuted_.reserve(ranks_.size() * slots_.size());
        for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
            work.check();
            const std::vector<std::uint32_t> sources = shuffle(slots_[slot]);
            for (std::size_t f = 0; f < slot_of_.size(); ++f) {
                if (request_.group_of[f] != static_cast<std::int32_t>(slots_[slot])) {
                    continue;
                }
                slot_of_[f] = static_cast<std::uint8_t>(slot);
                permuted_of_[f] = permuted_.size();
                const Float* column = table_.column(f);
                for (const std::uint32_t source : sources) {
                    permuted_.push_back(column[ranks_[source]]);
                }
            }
        }
    }

    std::vector<std::uint32_t> shuffle(std::uint32_t group) const {
        std::vector<std::int32_t> cells;
        if (!request_.cells.empty()) {
            const auto of_group =
                request_.cells.subspan((number_ * request_.n_groups() + group) * request_.order.size());
            for (const std::uint32_t rank : ranks_) {
                cells.push_back(of_group[request_.order[rank]]);
            }
        }
        return shuffle_rows(cells, ranks_.size(), tree_.seed, tree_.number, request_.group_id[group], request_.repeat);
    }

    void permute_block(std::size_t begin, std::size_t end) {
        walks_.clear();
        std::array<double, kBlock> before;
        walk_rows(begin, end, before.data());
        walk_on();
        for (const Walk& walk : walks_) {
            const std::uint32_t row = request_.order[ranks_[walk.place]];
            const double increase = loss(walk.answer, row) - loss(before[walk.place - begin], row);
            const std::uint32_t group = slots_[walk.slot];
            sums_[group] += request_.weight[row] * increase;
            if (losses_ != nullptr && increase != 0) {
                losses_->push_back({row, group, increase});
            }
        }
    }

    double loss(double answer, std::uint32_t row) const {
        if (predictor_.task() == Task::classification) {
            return answer == request_.target[row] ? 0 : 1;
        }
        const double error = request_.target[row] - answer;
        return error * error;
    }

    // Walks rows to their leaves, several at a time. When the permuted value of a group first leads to another node, a
    // separate walk begins.
    void walk_rows(std::size_t begin, std::size_t end, double* before) {
        std::array<std::uint32_t, kBlock> at{};
        std::array<std::uint64_t, kBlock> left{};  // bits of the slots whose walks have left the row's path
        std::array<std::array<std::uint32_t, kMostGroups>, kBlock> towards;
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t j = 0; j < end - begin; ++j) {
                const Predictor::Node& node = nodes_[at[j]];
                if (node.is_leaf()) {
                    continue;
                }
                moved = true;
                const std::uint32_t f = node.column();
                const std::uint32_t own = predictor_.template child<HasCategories>(
                    node, at[j], static_cast<double>(table_.row(ranks_[begin + j])[f]));
                const std::uint8_t slot = slot_of_[f];
                if (slot != kNoSlot) {
                    const Float permuted = permuted_[permuted_of_[f] + begin + j];
                    const std::uint32_t other =
                        predictor_.template child<HasCategories>(node, at[j], static_cast<double>(permuted));
                    if (other != own && (left[j] >> slot & 1) == 0) {
                        left[j] |= std::uint64_t{1} << slot;
                        towards[j][slot] = other;
                    }
                }
                at[j] = own;
            }
        }
        for (std::size_t j = 0; j < end - begin; ++j) {
            before[j] = predictor_.answer(nodes_[at[j]]);
            const auto place = static_cast<std::uint32_t>(begin + j);
            for (std::uint64_t rest = left[j]; rest != 0; rest &= rest - 1) {
                const auto slot = static_cast<std::uint32_t>(std::countr_zero(rest));
                walks_.push_back({table_.row(ranks_[place]), towards[j][slot], place, slot, 0});
            }
        }
    }

    void walk_on() {
        predictor_.template walk<HasCategories>(
            nodes_, walks_.size(), [&](std::size_t i) { return walks_[i].at; },
            [&](std::size_t i, std::uint32_t f) {
                const Walk& walk = walks_[i];
                return slot_of_[f] == walk.slot ? permuted_[permuted_of_[f] + walk.place] : walk.row[f];
            },
            [&](std::size_t i, std::uint32_t leaf) { walks_[i].answer = predictor_.answer(nodes_[leaf]); });
    }

    const Predictor& predictor_;
    std::span<const Predictor::Node> nodes_;
    const NamedTree& tree_;
    const RankedTable<Float>& table_;
    const PermutationTask& request_;
    std::size_t number_;  // index of the tree among the selected ones
    double* sums_;        // indexed by group
    std::vector<Loss>* losses_;

    std::vector<std::uint32_t> ranks_;      // the tree's out-of-bag rows
    std::vector<std::uint32_t> slots_;      // the groups that are permuted now
    std::vector<std::uint8_t> slot_of_;     // indexed by feature
    std::vector<std::size_t> permuted_of_;  // by feature: start of its permuted column
    std::vector<Float> permuted_;
    std::vector<Walk> walks_;
};

void add_losses(const std::vector<Loss>& losses, std::size_t n_groups, ByRow by_row) {
    for (const Loss& loss : losses) {
        const std::size_t at = loss.row * n_groups + loss.group;
        by_row.sums[at] += loss.increase;
        if (!by_row.squares.empty()) {
            by_row.squares[at] += loss.increase * loss.increase;
        }
    }
}

}  // namespace

std::vector<std::uint32_t> shuffle_rows(std::span<const std::int32_t> cells, std::size_t n, std::uint64_t seed,
                                        std::uint32_t tree, std::uint32_t group_id, std::uint32_t repeat) {
    std::vector<std::uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0u);
    if (!cells.empty()) {
        std::stable_sort(order.begin(), order.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return cells[a] < cells[b]; });
    }
    std::vector<std::uint32_t> permuted = order;
    std::size_t end = cells.empty() ? n : 0;  // end of the cell
    for (std::size_t begin = 0; begin < n; begin += 2 * kPhiloxBlock) {
        const DrawBlock draws =
            draw_block_of_ids(seed, (std::uint64_t{group_id} << 32) + begin / 2, tree, kPurposeMix + 256u * repeat);
        for (std::size_t v = begin; v < std::min(n, begin + draws.size()); ++v) {
            while (end <= v || (end < n && cells.size() != 0 && cells[order[end]] == cells[order[v]])) {
                ++end;
            }
            std::swap(permuted[v], permuted[v + below(draws[v - begin], end - v)]);
        }
    }
    if (cells.empty()) {
        return permuted;
    }
    std::vector<std::uint32_t> sources(n);
    for (std::size_t v = 0; v < n; ++v) {
        sources[order[v]] = permuted[v];
    }
    return sources;
}

std::vector<double> mix_features(const Predictor& predictor, const Matrix& x, std::span<const NamedTree> trees,
                                 const PermutationTask& request, ByRow by_row, Work& work) {
    std::vector<double> sums(trees.size() * request.n_groups());
    // The increase of each row's loss is added up in tree order, so it is stored until the trees before are done.
    const std::size_t at_once = by_row.sums.empty() ? trees.size() : 2 * work.n_threads();
    x.dispatch([&]<class Float>() {
        const RankedTable<Float> table(x, request.order, work);
        for (std::size_t begin = 0; begin < trees.size(); begin += at_once) {
            const std::size_t n = std::min(at_once, trees.size() - begin);
            std::vector<std::vector<Loss>> losses(n);
            work.run(n, [&](std::size_t i, std::size_t) {
                const std::size_t t = begin + i;
                double* of_tree = sums.data() + t * request.n_groups();
                std::vector<Loss>* of_rows = by_row.sums.empty() ? nullptr : &losses[i];
                if (predictor.has_categories()) {
                    TreePermuter<Float, true>(predictor, trees[t], table, request, t, of_tree, of_rows).permute(work);
                } else {
                    TreePermuter<Float, false>(predictor, trees[t], table, request, t, of_tree, of_rows).permute(work);
                }
            });
            for (const std::vector<Loss>& of_tree : losses) {
                add_losses(of_tree, request.n_groups(), by_row);
            }
        }
    });
    return sums;
}

}  // namespace weald
