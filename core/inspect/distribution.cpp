#include "inspect/distribution.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/require.h"

namespace weald {

namespace {

constexpr std::size_t kRowsPerTask = 64;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The members with weight at one row, ascending, and their cumulated weights.
class RowWeights {
  public:
    explicit RowWeights(const Sharing& sharing)
        : sharing_(sharing),
          weight_(sharing.n_members),
          met_((sharing.n_members + 63) / 64),
          met_words_((met_.size() + 63) / 64),
          leaves_(sharing.n_trees()) {}

    void add_up(std::size_t row) {
        const std::size_t n_leaves = find_leaves(row);
        for (std::size_t leaf = 0; leaf < n_leaves; ++leaf) {
            for (auto at = leaves_[leaf].begin; at < leaves_[leaf].end; ++at) {
                const std::size_t m = sharing_.member[at];
                require(m < sharing_.n_members, "a member is out of range");
                weight_[m] += sharing_.share[at];
                met_[m / 64] |= std::uint64_t{1} << m % 64;
                met_words_[m / 4096] |= std::uint64_t{1} << m / 64 % 64;
            }
        }
        member_.clear();
        weights_.clear();
        cumulated_.clear();
        double sum = 0;
        for (std::size_t i = 0; i < met_words_.size(); ++i) {
            for (std::uint64_t words = std::exchange(met_words_[i], 0); words != 0; words &= words - 1) {
                const std::size_t word = 64 * i + static_cast<std::size_t>(std::countr_zero(words));
                for (std::uint64_t bits = std::exchange(met_[word], 0); bits != 0; bits &= bits - 1) {
                    const std::size_t m = 64 * word + static_cast<std::size_t>(std::countr_zero(bits));
                    const double weight = std::exchange(weight_[m], 0);
                    sum += weight;
                    member_.push_back(static_cast<std::uint32_t>(m));
                    weights_.push_back(weight);
                    cumulated_.push_back(sum);
                }
            }
        }
    }

    std::span<const std::uint32_t> members() const { return member_; }
    std::span<const double> weights() const { return weights_; }
    std::span<const double> cumulated() const { return cumulated_; }
    double total() const { return cumulated_.empty() ? 0 : cumulated_.back(); }

  private:
    struct Leaf {
        std::size_t begin;  // members of the leaf
        std::size_t end;
    };

    // Finds the leaves first and their members later, so that reads from memory overlap.
    std::size_t find_leaves(std::size_t row) {
        const std::size_t n_trees = sharing_.n_trees();
        const auto numbers = sharing_.leaves.subspan(row * n_trees, n_trees);
        std::size_t n_leaves = 0;
        for (std::size_t tree = 0; tree < n_trees; ++tree) {
            if (numbers[tree] < 0) {
                continue;
            }
            const auto node = static_cast<std::size_t>(sharing_.tree_start[tree] + numbers[tree]);
            require(node + 1 < sharing_.start.size(), "a leaf is out of range");
            const Leaf leaf{static_cast<std::size_t>(sharing_.start[node]),
                            static_cast<std::size_t>(sharing_.start[node + 1])};
            require(leaf.begin <= leaf.end && leaf.end <= sharing_.member.size(),
                    "the members of a leaf are out of range");
            __builtin_prefetch(sharing_.member.data() + leaf.begin);
            __builtin_prefetch(sharing_.share.data() + leaf.begin);
            leaves_[n_leaves++] = leaf;
        }
        return n_leaves;
    }

    const Sharing& sharing_;
    std::vector<double> weight_;            // by member; 0 between rows
    std::vector<std::uint64_t> met_;        // a bit per member, set if its weight is not 0
    std::vector<std::uint64_t> met_words_;  // a bit per word of met_, set if the word is not 0
    std::vector<Leaf> leaves_;
    std::vector<std::uint32_t> member_;
    std::vector<double> weights_;
    std::vector<double> cumulated_;
};

// Calls write(weights, results of the row) for each queried row; returns all results, rows x width.
template <class Write>
std::vector<double> for_rows(const Sharing& sharing, std::size_t width, Work& work, Write&& write) {
    std::vector<double> answers(sharing.n_rows * width, kNone);
    std::vector<RowWeights> of_threads(std::min(work.n_threads(), sharing.n_rows / kRowsPerTask + 1),
                                       RowWeights(sharing));
    work.run((sharing.n_rows + kRowsPerTask - 1) / kRowsPerTask, [&](std::size_t task, std::size_t thread) {
        const std::size_t end = std::min(sharing.n_rows, (task + 1) * kRowsPerTask);
        for (std::size_t row = task * kRowsPerTask; row < end; ++row) {
            work.check();
            RowWeights& weights = of_threads[thread];
            weights.add_up(row);
            if (weights.total() > 0) {
                write(weights, std::span(answers).subspan(row * width, width));
            }
        }
    });
    return answers;
}

}  // namespace

std::vector<double> quantiles(const Sharing& sharing, std::span<const double> target, std::span<const double> levels,
                              Work& work) {
    return for_rows(sharing, levels.size(), work, [&](const RowWeights& row, std::span<double> answers) {
        for (std::size_t i = 0; i < levels.size(); ++i) {
            const std::span<const double> cumulated = row.cumulated();
            const auto found = std::lower_bound(cumulated.begin(), cumulated.end() - 1, levels[i] * row.total());
            answers[i] = target[row.members()[static_cast<std::size_t>(found - cumulated.begin())]];
        }
    });
}

std::vector<double> cumulated_shares(const Sharing& sharing, std::span<const std::int64_t> limits, Work& work) {
    return for_rows(sharing, limits.size(), work, [&](const RowWeights& row, std::span<double> answers) {
        for (std::size_t i = 0; i < limits.size(); ++i) {
            const auto end = std::lower_bound(row.members().begin(), row.members().end(), limits[i]);
            const auto n_below = static_cast<std::size_t>(end - row.members().begin());
            answers[i] = n_below == 0 ? 0 : row.cumulated()[n_below - 1] / row.total();
        }
    });
}

std::vector<double> standard_deviations(const Sharing& sharing, std::span<const double> target, Work& work) {
    return for_rows(sharing, 1, work, [&](const RowWeights& row, std::span<double> answers) {
        const std::size_t n = row.members().size();
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) {
            sum += row.weights()[i] * target[row.members()[i]];
        }
        const double mean = sum / row.total();
        double squares = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const double away = target[row.members()[i]] - mean;
            squares += row.weights()[i] * (away * away);
        }
        answers[0] = std::sqrt(squares / row.total());
    });
}

}  // namespace weald
