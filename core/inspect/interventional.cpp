#include "inspect/interventional.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "inspect/dense_rows.h"

namespace weald {

namespace {

constexpr std::size_t kMostRowsOfTask = 64;

// Walks one row and all background rows down trees.
class BackgroundWalk {
  public:
    BackgroundWalk(const PathForest& forest, std::span<const double> amounts, std::span<const double> columns,
                   std::size_t n_background)
        : forest_(forest), amounts_(amounts), columns_(columns), list_(n_background) {
        std::iota(list_.begin(), list_.end(), 0);
    }

    // Adds the values of a tree to those of a row.
    void add(std::size_t tree, const DenseRows& rows, std::size_t row, double* out) {
        const std::span<const Predictor::Node> nodes = forest_.predictor().nodes(tree);
        const std::span<const PathForest::Split> splits = forest_.splits(tree);
        const std::span<const std::uint32_t> features = forest_.features(tree);
        states_.assign(features.size(), State::kOpen);
        values_.assign(features.size(), 0);
        path_.clear();
        visits_.assign(1, {0, 0, list_.size(), 0, State::kOpen, {0, 0}, 1.0});
        while (!visits_.empty()) {
            const Visit visit = visits_.back();
            visits_.pop_back();
            go_to(visit);
            if (nodes[visit.node].is_leaf()) {
                add_leaf(visit, amounts_[forest_.node_start(tree) + visit.node]);
            } else {
                const std::uint32_t feature = nodes[visit.node].column();
                split(visit, nodes[visit.node], splits[visit.node].slot, rows.at(row, feature),
                      columns_.data() + feature * list_.size());
            }
        }
        close(0);
        for (std::size_t slot = 0; slot < features.size(); ++slot) {
            out[features[slot]] += values_[slot];
        }
    }

  private:
    // The state of a feature on the path: whether only the row follows the path, or only the background rows do.
    enum class State : std::uint8_t { kOpen, kRow, kBackground };

    // A feature on the path that has a state, and the amounts that leaves below add to features of each state.
    struct Decision {
        std::uint32_t slot;
        double of_row;
        double of_background;
    };

    struct Counts {
        std::uint32_t row;         // u: features of the state kRow
        std::uint32_t background;  // v
    };

    // Background rows at a node.
    struct Visit {
        std::uint32_t node;
        std::size_t begin, end;  // position in the list
        std::uint32_t slot;      // the feature that gets a state by this visit
        State state;             // kOpen: no feature gets one
        Counts counts;
        double chance;  // u! v! / (u + v)!
    };

    // Closes the decisions that are not above a visit, and opens its own.
    void go_to(const Visit& visit) {
        const bool is_decision = visit.state != State::kOpen;
        close(visit.counts.row + visit.counts.background - (is_decision ? 1 : 0));
        if (is_decision) {
            path_.push_back({visit.slot, 0, 0});
            states_[visit.slot] = visit.state;
        }
    }

    void close(std::size_t n_left) {
        while (path_.size() > n_left) {
            const Decision done = path_.back();
            path_.pop_back();
            if (states_[done.slot] == State::kRow) {
                values_[done.slot] += done.of_row;
            } else {
                values_[done.slot] -= done.of_background;
            }
            states_[done.slot] = State::kOpen;
            if (!path_.empty()) {
                path_.back().of_row += done.of_row;
                path_.back().of_background += done.of_background;
            }
        }
    }

    void split(const Visit& at, const Predictor::Node& node, std::uint32_t slot, double x, const double* column) {
        const std::uint32_t left = at.node + 1, right = node.right;
        const std::uint32_t there = child(node, at.node, x), away = there == left ? right : left;
        const auto visit = [&](std::uint32_t next, std::size_t begin, std::size_t end) {
            if (begin < end) {
                visits_.push_back({next, begin, end, slot, State::kOpen, at.counts, at.chance});
            }
        };
        if (states_[slot] == State::kRow) {
            visit(there, at.begin, at.end);
            return;
        }
        const auto first = list_.begin() + static_cast<std::ptrdiff_t>(at.begin);
        const auto last = list_.begin() + static_cast<std::ptrdiff_t>(at.end);
        const auto apart =
            std::partition(first, last, [&](std::uint32_t i) { return child(node, at.node, column[i]) == there; });
        const auto middle = static_cast<std::size_t>(apart - list_.begin());
        // The last visit that is pushed is the first one.
        if (states_[slot] == State::kBackground) {
            visit(away, middle, at.end);
        } else if (middle < at.end) {
            const auto [u, v] = at.counts;
            const double n = u + v + 1;
            visits_.push_back({away, middle, at.end, slot, State::kBackground, {u, v + 1}, at.chance * (v + 1) / n});
            visits_.push_back({there, middle, at.end, slot, State::kRow, {u + 1, v}, at.chance * (u + 1) / n});
        }
        visit(there, at.begin, middle);
    }

    void add_leaf(const Visit& at, double amount) {
        if (path_.empty()) {
            return;
        }
        const double share = amount * static_cast<double>(at.end - at.begin) * at.chance;
        path_.back().of_row += at.counts.row > 0 ? share / at.counts.row : 0;
        path_.back().of_background += at.counts.background > 0 ? share / at.counts.background : 0;
    }

    std::uint32_t child(const Predictor::Node& node, std::uint32_t number, double x) const {
        return forest_.predictor().child<true>(node, number, x);
    }

    const PathForest& forest_;
    std::span<const double> amounts_;
    std::span<const double> columns_;  // features x background rows
    std::vector<std::uint32_t> list_;  // background rows in the order of visits
    std::vector<Visit> visits_;        // a stack
    std::vector<State> states_;        // indexed by slot
    std::vector<Decision> path_;
    std::vector<double> values_;  // indexed by slot
};

std::vector<double> by_column(const Matrix& x) {
    const DenseRows rows(x, 0, x.n_rows);
    std::vector<double> columns(x.n_rows * x.n_columns);
    for (std::size_t row = 0; row < x.n_rows; ++row) {
        for (std::size_t column = 0; column < x.n_columns; ++column) {
            columns[column * x.n_rows + row] = rows.at(row, column);
        }
    }
    return columns;
}

}  // namespace

std::vector<double> interventional_values(const PathForest& forest, const Matrix& x, const InterventionalTask& task,
                                          Work& work) {
    std::vector<double> out(x.n_rows * x.n_columns);
    const std::vector<double> columns = by_column(task.background);
    const std::size_t n_of_task = std::clamp<std::size_t>(x.n_rows / (4 * work.n_threads()), 1, kMostRowsOfTask);
    std::vector<std::unique_ptr<BackgroundWalk>> walks(work.n_threads());
    work.run((x.n_rows + n_of_task - 1) / n_of_task, [&](std::size_t number, std::size_t thread) {
        const std::size_t begin = number * n_of_task, end = std::min(x.n_rows, begin + n_of_task);
        const DenseRows rows(x, begin, end);
        if (!walks[thread]) {
            walks[thread] = std::make_unique<BackgroundWalk>(forest, task.amounts, columns, task.background.n_rows);
        }
        for (std::size_t tree = 0; tree < forest.predictor().n_trees(); ++tree) {
            for (std::size_t row = begin; row < end; ++row) {
                work.check();
                if (task.is_new.empty() || task.is_new[tree * x.n_rows + row] != 0) {
                    walks[thread]->add(tree, rows, row, out.data() + row * x.n_columns);
                }
            }
        }
    });
    return out;
}

}  // namespace weald
