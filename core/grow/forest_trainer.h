// All trees on all threads.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "base/release_memory.h"
#include "base/tasks.h"
#include "draw/bag.h"
#include "draw/row_weights.h"
#include "grow/grower.h"
#include "targets/target_model.h"
#include "tree/join_trees.h"
#include "tree/piece.h"
#include "tree/thresholds.h"

namespace weald {

struct Order {
    const Codes& codes;
    const Growth& growth;
    std::uint64_t seed;
    std::uint32_t first_tree;
    std::uint32_t n_trees;
    Work& work;
    Piece* piece = nullptr;  // the piece to grow, if not a whole tree
};

// A tree that several threads grow together.
template <TargetModel Model>
struct SharedTree {
    typename Grower<Model>::Tree tree;
    Model model;  // with the weights of this tree
    typename Grower<Model>::Part root;
    std::atomic<std::size_t> n_open{1};  // number of parts still to be grown

    explicit SharedTree(const Model& like) : model(like) {}
};

// Grows all trees. Each thread keeps one grower, and its memory, for all its trees; `fill` gives a grower's tree its
// rows, and returns the user's unit of weight. If threads would finish at different times, or other threads may help,
// several threads grow each of the last trees together.
template <TargetModel Model, class Fill>
class ForestTrainer {
  public:
    ForestTrainer(const Order& order, const Model& model, const Fill& fill)
        : order_(order),
          model_(model),
          fill_(fill),
          drawer_(order.codes, order.growth),
          growers_(order.work.n_threads() + order.work.n_helpers()),
          weight_scale_(has_weight_scale(order.codes, order.growth) ? order.n_trees : 0),
          joiner_(order.n_trees) {
        if (order.codes.source && order.growth.random_cuts) {
            throw std::invalid_argument("random thresholds need the values of codes, which were left out");
        }
    }

    GrownTrees grow() {
        const std::size_t n_together = count_together();
        for (std::size_t i = order_.n_trees; i-- > 0;) {  // the first tree is on top
            tasks_.push([this, i, alone = i < order_.n_trees - n_together](std::size_t thread) {
                alone ? grow_alone(i, thread) : grow_together(i, thread);
            });
        }
        tasks_.run(order_.work, [&] { return static_cast<double>(n_done_) / static_cast<double>(order_.n_trees); },
                   {.prepare = [&](std::size_t helper) { grower_of(helper); },
                    .clear_up =
                        [&](std::size_t helper) {
                            growers_[helper].reset();
                            trees_of_[helper] = {};
                        }});
        growers_.clear();  // a large forest may use their memory
        trees_of_.clear();
        GrownTrees grown{.forest = joiner_.finish(order_.work), .weight_scale = std::move(weight_scale_)};
        look_up_thresholds(grown.forest, order_.codes, order_.work);
        constexpr std::size_t kRowBytes = 64;  // approximate bytes per row in a grower
        FreedMemory freed;
        freed.expect(0, order_.n_trees);
        freed.add(order_.work.n_threads() * order_.codes.n_rows * kRowBytes);
        return grown;
    }

  private:
    using TheGrower = Grower<Model>;

    static constexpr std::size_t kManyThreads = 4;

    // The number of last trees that are grown together: the remainder of trees by threads, plus one per thread; or all,
    // if other threads may help. With many threads, the last one finishes long after the first even with the same
    // number of trees each; two or three threads wait for less time than growing trees together costs.
    std::size_t count_together() const {
        const std::size_t n_threads = order_.work.n_threads();
        const bool has_helpers = order_.work.n_helpers() != 0;
        if (order_.growth.max_leaf_nodes != 0 || order_.codes.n_rows < 4 * kLeastGiven ||
            (n_threads == 1 && !has_helpers)) {
            return 0;
        }
        const std::size_t left_over = order_.n_trees % n_threads;
        const std::size_t n_last = left_over != 0 || n_threads >= kManyThreads ? left_over + n_threads : 0;
        return has_helpers ? order_.n_trees : std::min<std::size_t>(order_.n_trees, n_last);
    }

    void grow_alone(std::size_t i, std::size_t thread) {
        TheGrower& grower = grower_of(thread);
        auto& tree = trees_of_[thread];
        init_tree(i, grower, tree);
        finish(i, grower, grower.grow(tree, order_.piece));
    }

    void grow_together(std::size_t i, std::size_t thread) {
        auto shared = std::make_shared<SharedTree<Model>>(model_);
        init_tree(i, grower_of(thread), shared->tree);
        shared->model.weigh_like(grower_of(thread).model());
        grower_of(thread).begin(shared->tree);
        grow_part(i, shared, {shared->tree.root(), grower_of(thread).known_at_root(), &shared->root}, thread);
    }

    void grow_part(std::size_t i, const std::shared_ptr<SharedTree<Model>>& shared,
                   typename TheGrower::SharedSubtree offer, std::size_t thread) {
        TheGrower& grower = grower_of(thread);
        grower.model().weigh_like(shared->model);
        grower.grow_part(shared->tree, std::move(offer), [&](typename TheGrower::SharedSubtree given) {
            ++shared->n_open;
            tasks_.push([this, i, shared, given = std::move(given)](std::size_t of) mutable {
                grow_part(i, shared, std::move(given), of);
            });
        });
        if (--shared->n_open == 0) {
            finish(i, grower, grower.finish(std::move(shared->root)));
        }
    }

    // The next tree of this grower may reuse the memory of a finished tree.
    void finish(std::size_t i, TheGrower& grower, TreeArrays tree) {
        grower.recycle(joiner_.add(i, std::move(tree)));
        ++n_done_;
    }

    // Gives a tree its rows.
    void init_tree(std::size_t i, TheGrower& grower, typename TheGrower::Tree& tree) {
        tree.seed = order_.seed;
        tree.number = order_.first_tree + static_cast<std::uint32_t>(i);
        tree.rows.clear();
        const double scale = fill_(grower.model(), tree.rows, drawer_.sizes(tree.seed, tree.number));
        if (!weight_scale_.empty()) {
            weight_scale_[i] = scale;
        }
        order_.work.check();
    }

    TheGrower& grower_of(std::size_t thread) {
        if (!growers_[thread]) {
            growers_[thread] = std::make_unique<TheGrower>(order_.codes, order_.growth, model_, order_.work);
        }
        return *growers_[thread];
    }

    const Order& order_;
    const Model& model_;
    const Fill& fill_;
    const BagDrawer drawer_;
    std::vector<std::unique_ptr<TheGrower>> growers_;
    std::vector<typename TheGrower::Tree> trees_of_ = std::vector<typename TheGrower::Tree>(growers_.size());
    std::vector<double> weight_scale_;  // by tree; empty: all 1
    Tasks tasks_;
    TreeJoiner joiner_;
    std::atomic<std::size_t> n_done_{0};
};

}  // namespace weald
