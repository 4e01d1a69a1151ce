#include "inspect/error_surface.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <tuple>
#include <utility>

#include "tree/link_strengths.h"

namespace weald {

namespace {

constexpr std::size_t kFetched = 4;      // rows whose line of the table is prefetched
constexpr std::size_t kLineOfCache = 8;  // doubles

// ---- Which splits a setting keeps

// The rules that are applied while a tree grows, except best-first growth.
struct GrowthRule {
    std::int64_t max_depth;
    std::int64_t min_samples_split;
    double min_impurity_decrease;

    auto operator<=>(const GrowthRule&) const = default;
};

// What the rules of all settings need about one tree: the order of best-first growth, and pruning strengths, for
// each combination of the rules before them.
class KeptSplits {
  public:
    KeptSplits(const SurfaceTrees& trees, const SurfaceSettings& settings, std::size_t tree)
        : settings_(settings),
          begin_(static_cast<std::size_t>(trees.tree_start[tree])),
          n_nodes_(static_cast<std::size_t>(trees.tree_start[tree + 1]) - begin_),
          trees_(trees),
          depth_(n_nodes_),
          lowest_(n_nodes_),
          order_of_(settings.size()) {
        find_paths();
        find_orders();
    }

    bool is_split(std::size_t node) const { return trees_.feature[begin_ + node] >= 0; }
    std::size_t right(std::size_t node) const { return static_cast<std::size_t>(trees_.right[begin_ + node]); }
    std::size_t size() const { return n_nodes_; }
    std::size_t begin() const { return begin_; }

    // Clears alive[s] where a setting removes a split; returns whether any is left.
    bool keep(std::size_t node, std::span<std::int64_t> alive) const {
        const std::int64_t depth = depth_[node];
        const auto n_rows = static_cast<std::int64_t>(trees_.size[begin_ + node]);
        const double lowest = lowest_[node];
        std::int64_t any = 0;
        for (std::size_t s = 0; s < alive.size(); ++s) {
            const bool kept = (depth < settings_.max_depth[s]) & (n_rows >= settings_.min_samples_split[s]) &
                              !(lowest < settings_.min_impurity_decrease[s]);
            alive[s] &= -static_cast<std::int64_t>(kept);
            any |= alive[s];
        }
        if (orders_.empty() || any == 0) {
            return any != 0;
        }
        any = 0;
        for (std::size_t s = 0; s < alive.size(); ++s) {
            if (order_of_[s].values != nullptr) {
                alive[s] &= -static_cast<std::int64_t>((*order_of_[s].values)[node] > order_of_[s].limit);
            }
            any |= alive[s];
        }
        return any != 0;
    }

  private:
    // One number per split; splits with numbers above the limit are kept.
    struct Order {
        const std::vector<double>* values = nullptr;
        double limit = 0;
    };

    // Depths, and the lowest decreases of the splits from the root to each node.
    void find_paths() {
        std::vector<double> scaled(n_nodes_);
        for (std::size_t i = 0; i < n_nodes_; ++i) {
            scaled[i] = std::ldexp(trees_.decrease[begin_ + i], trees_.exponent);
        }
        lowest_[0] = scaled[0];
        for (std::size_t i = 0; i < n_nodes_; ++i) {  // a node comes before its children
            if (is_split(i)) {
                for (const std::size_t child : {i + 1, right(i)}) {
                    depth_[child] = depth_[i] + 1;
                    lowest_[child] = std::min(scaled[child], lowest_[i]);
                }
            }
        }
    }

    void find_orders() {
        const auto most = *std::max_element(settings_.max_leaf_nodes.begin(), settings_.max_leaf_nodes.end());
        std::map<GrowthRule, const std::vector<double>*> firsts;
        std::map<std::tuple<GrowthRule, std::int64_t>, const std::vector<double>*> strengths;
        for (std::size_t s = 0; s < settings_.size(); ++s) {
            const GrowthRule growth{settings_.max_depth[s], settings_.min_samples_split[s],
                                    settings_.min_impurity_decrease[s]};
            const std::int64_t most_leaves = settings_.max_leaf_nodes[s];
            if (most_leaves > 0) {
                const std::vector<double>*& ranks = firsts[growth];
                ranks = ranks == nullptr ? &orders_.emplace_back(rank(growth, most)) : ranks;
                order_of_[s] = {ranks, static_cast<double>(-(most_leaves - 1))};
            }
            if (settings_.ccp_alpha[s] > 0) {
                const std::vector<double>*& found = strengths[{growth, most_leaves}];
                found = found == nullptr ? &orders_.emplace_back(strengths_of(growth, order_of_[s])) : found;
                order_of_[s] = {found, settings_.ccp_alpha[s]};
            }
        }
    }

    bool grows(std::size_t node, const GrowthRule& rule) const {
        return is_split(node) && depth_[node] < rule.max_depth &&
               trees_.size[begin_ + node] >= rule.min_samples_split && !(lowest_[node] < rule.min_impurity_decrease);
    }

    // Minus the number of each split in the order of best-first growth: the largest decrease first, of equal ones the
    // node made first.
    std::vector<double> rank(const GrowthRule& rule, std::int64_t most_leaves) const {
        struct Waiting {
            double decrease;
            std::size_t made;
            std::size_t node;
            bool operator<(const Waiting& other) const {
                return decrease < other.decrease || (decrease == other.decrease && made > other.made);
            }
        };
        std::vector<double> ranks(n_nodes_, -std::numeric_limits<double>::infinity());
        std::priority_queue<Waiting> waiting;
        std::size_t made = 0;
        const auto wait = [&](std::size_t node) {
            if (grows(node, rule)) {
                waiting.push({trees_.decrease[begin_ + node], made, node});
            }
        };
        wait(0);
        for (std::int64_t n = 0; n + 1 < most_leaves && !waiting.empty(); ++n) {
            const std::size_t node = waiting.top().node;
            waiting.pop();
            ranks[node] = static_cast<double>(-n);
            for (const std::size_t child : {node + 1, right(node)}) {
                ++made;
                wait(child);
            }
        }
        return ranks;
    }

    std::vector<double> strengths_of(const GrowthRule& rule, const Order& first) const {
        std::vector<std::uint8_t> kept(n_nodes_);
        for (std::size_t i = 0; i < n_nodes_; ++i) {
            kept[i] = first.values == nullptr ? grows(i, rule) : (*first.values)[i] > first.limit;
        }
        std::vector<double> strengths =
            link_strengths({kept, trees_.right.subspan(begin_, n_nodes_), trees_.decrease.subspan(begin_, n_nodes_)});
        for (double& strength : strengths) {
            strength = std::ldexp(strength, trees_.exponent);
        }
        return strengths;
    }

    const SurfaceSettings& settings_;
    std::size_t begin_;
    std::size_t n_nodes_;
    const SurfaceTrees& trees_;
    std::vector<std::int64_t> depth_;
    std::vector<double> lowest_;
    std::deque<std::vector<double>> orders_;
    std::vector<Order> order_of_;  // indexed by setting
};

// ---- The votes of a tree

// For each leaf of a tree, its votes under each setting (width x settings).
class VoteTable {
  public:
    VoteTable(const SurfaceTrees& trees, const SurfaceSettings& settings, std::size_t width, std::size_t tree)
        : n_votes_(width * settings.size()) {
        const KeptSplits splits(trees, settings, tree);
        line_of_.resize(splits.size());
        n_splits_.resize(settings.size());
        lines_.reserve((splits.size() + 1) / 2 * n_votes_);
        fill(splits, trees, settings, width);
    }

    const double* line(std::size_t leaf) const { return lines_.data() + line_of_[leaf] * n_votes_; }
    std::int64_t n_leaves(std::size_t setting) const { return n_splits_[setting] + 1; }

  private:
    // Nodes whose votes are known: those of settings that have ended above, or of the node itself.
    struct Branch {
        std::size_t node;
        std::size_t end;
        std::vector<double> votes;
        std::vector<std::int64_t> alive;  // by setting: -1, or 0 if it has ended above
    };

    // The smaller branch of a split comes first, so few wait.
    void fill(const KeptSplits& splits, const SurfaceTrees& trees, const SurfaceSettings& settings, std::size_t width) {
        std::vector<Branch> waiting(1);
        std::size_t n_waiting = 1;
        waiting[0] = {0, splits.size(), std::vector<double>(n_votes_), std::vector<std::int64_t>(settings.size(), -1)};
        put_votes(splits.begin(), trees, settings, width, waiting[0]);
        while (n_waiting > 0) {
            if (waiting.size() == n_waiting) {
                waiting.push_back({0, 0, std::vector<double>(n_votes_), std::vector<std::int64_t>(settings.size())});
            }
            Branch& branch = waiting[n_waiting - 1];
            if (!splits.is_split(branch.node) || !splits.keep(branch.node, branch.alive)) {
                end(branch);
                --n_waiting;
                continue;
            }
            for (std::size_t s = 0; s < settings.size(); ++s) {
                n_splits_[s] -= branch.alive[s];
            }
            Branch& other = waiting[n_waiting++];
            const std::size_t right = splits.right(branch.node);
            other.votes = branch.votes;
            other.alive = branch.alive;
            const bool left_is_smaller = right - branch.node < branch.end - right;
            Branch& left = left_is_smaller ? other : branch;
            Branch& second = left_is_smaller ? branch : other;
            const std::size_t end = branch.end;
            left.node = branch.node + 1;
            left.end = right;
            second.node = right;
            second.end = end;
            put_votes(splits.begin() + left.node, trees, settings, width, left);
            put_votes(splits.begin() + second.node, trees, settings, width, second);
        }
    }

    // The votes of a node, for the settings that have not ended above it.
    void put_votes(std::size_t node, const SurfaceTrees& trees, const SurfaceSettings& settings, std::size_t width,
                   Branch& branch) const {
        const std::size_t n = settings.size();
        const bool is_one = trees.votes.size() == 1;
        for (std::size_t k = 0; k < width; ++k) {
            double* votes = branch.votes.data() + k * n;
            const std::int64_t* alive = branch.alive.data();
            if (is_one) {
                const double vote = trees.votes[0][node * width + k];
                for (std::size_t s = 0; s < n; ++s) {
                    votes[s] = alive[s] != 0 ? vote : votes[s];
                }
            } else {
                for (std::size_t s = 0; s < n; ++s) {
                    const double vote = trees.votes[static_cast<std::size_t>(settings.votes[s])][node * width + k];
                    votes[s] = alive[s] != 0 ? vote : votes[s];
                }
            }
        }
    }

    // All rows below end here, or above.
    void end(const Branch& branch) {
        const auto line = static_cast<std::uint32_t>(lines_.size() / n_votes_);
        lines_.insert(lines_.end(), branch.votes.begin(), branch.votes.end());
        std::fill(line_of_.begin() + static_cast<std::ptrdiff_t>(branch.node),
                  line_of_.begin() + static_cast<std::ptrdiff_t>(branch.end), line);
    }

    std::size_t n_votes_;
    std::vector<double> lines_;
    std::vector<std::uint32_t> line_of_;  // indexed by leaf
    std::vector<std::int64_t> n_splits_;  // indexed by setting
};

// ---- Errors

// The errors of a block of rows after a tree: as in SurfaceErrors, and the mean of the squared errors.
struct BlockErrors {
    std::vector<double> losses;
    std::vector<double> means;
    std::vector<double> squares;
    double weight = 0;
    double weight_squares = 0;
    std::int64_t n_rows = 0;

    BlockErrors(std::size_t n_settings, bool is_regression)
        : losses(n_settings), means(is_regression ? n_settings : 0), squares(means.size()) {}

    void count(double w) {
        weight += w;
        weight_squares += w * w;
        ++n_rows;
    }
    // Adds the rows of a later block.
    void add(const BlockErrors& other) {
        for (std::size_t s = 0; s < losses.size(); ++s) {
            losses[s] += other.losses[s];
        }
        const double both = weight + other.weight;
        for (std::size_t s = 0; both > 0 && s < squares.size(); ++s) {
            const double apart = other.means[s] - means[s];
            means[s] += apart * (other.weight / both);
            squares[s] += other.squares[s] + apart * apart * (weight * (other.weight / both));
        }
        weight = both;
        weight_squares += other.weight_squares;
        n_rows += other.n_rows;
    }
};

// Computes the errors of rows from their sums of votes.
class Scorer {
  public:
    Scorer(const KnownRows& known, std::size_t width, std::size_t n_settings)
        : known_(known), width_(width), n_settings_(n_settings), best_(n_settings), winner_(n_settings) {}

    bool is_regression() const { return known_.classes.empty(); }

    void add(std::size_t row, const double* sums, double divisor, BlockErrors& errors) {
        const double w = known_.weight[row];
        errors.count(w);
        if (is_regression()) {
            add_squares(known_.numbers[row], sums, divisor, w, errors);
        } else if (width_ == 2) {
            add_of_two(known_.classes[row] == 1, sums, divisor, w, errors);
        } else {
            add_of_many(known_.classes[row], sums, divisor, w, errors);
        }
    }

  private:
    // The class of the largest mean, ties to the first. Means, not sums, are compared: different sums may have equal
    // means.
    void add_of_two(bool is_second, const double* sums, double divisor, double w, BlockErrors& errors) const {
        double* losses = errors.losses.data();
        for (std::size_t s = 0; s < n_settings_; ++s) {
            const bool said = sums[n_settings_ + s] / divisor > sums[s] / divisor;
            losses[s] += said != is_second ? w : 0.0;
        }
    }
    void add_of_many(std::int64_t truth, const double* sums, double divisor, double w, BlockErrors& errors) {
        for (std::size_t s = 0; s < n_settings_; ++s) {
            best_[s] = sums[s] / divisor;
            winner_[s] = 0;
        }
        for (std::size_t k = 1; k < width_; ++k) {
            const double* of_class = sums + k * n_settings_;
            for (std::size_t s = 0; s < n_settings_; ++s) {
                const double mean = of_class[s] / divisor;
                const bool is_more = mean > best_[s];
                best_[s] = is_more ? mean : best_[s];
                winner_[s] = is_more ? static_cast<std::int64_t>(k) : winner_[s];
            }
        }
        for (std::size_t s = 0; s < n_settings_; ++s) {
            errors.losses[s] += winner_[s] != truth ? w : 0.0;
        }
    }
    // The spread by Welford's update, which is exact where all errors are equal.
    void add_squares(double truth, const double* sums, double divisor, double w, BlockErrors& errors) const {
        const double part = w / errors.weight;
        double* losses = errors.losses.data();
        double* means = errors.means.data();
        double* squares = errors.squares.data();
        for (std::size_t s = 0; s < n_settings_; ++s) {
            const double apart = truth - sums[s] / divisor;
            const double square = apart * apart;
            losses[s] += w * square;
            const double away = square - means[s];
            means[s] += part * away;
            squares[s] += w * (away * (square - means[s]));
        }
    }

    const KnownRows& known_;
    std::size_t width_;
    std::size_t n_settings_;
    std::vector<double> best_;
    std::vector<std::int64_t> winner_;
};

// Adds the votes of trees to a block of rows, and computes their errors after the scored ones.
class RowBlock {
  public:
    RowBlock(const SurfaceTrees& trees, std::span<const VoteTable> tables, const SurfaceSums& sums, std::size_t begin)
        : trees_(trees),
          tables_(tables),
          sums_(sums),
          begin_(begin),
          end_(std::min(begin + kRowsOfSum, sums.n_rows)),
          n_votes_(sums.width * sums.n_settings) {}

    void add(std::size_t tree) const {
        const std::int32_t* leaves = trees_.leaves.data() + tree * sums_.n_rows;
        const VoteTable& table = tables_[tree];
        for (std::size_t row = begin_; row < end_; ++row) {
            const std::size_t ahead = std::min(row + kFetched, end_ - 1);
            if (leaves[ahead] >= 0) {
                const double* line = table.line(static_cast<std::size_t>(leaves[ahead]));
                for (std::size_t i = 0; i < std::min<std::size_t>(n_votes_, 4 * kLineOfCache); i += kLineOfCache) {
                    __builtin_prefetch(line + i);
                }
            }
            if (leaves[row] < 0) {
                continue;
            }
            const double* line = table.line(static_cast<std::size_t>(leaves[row]));
            double* sums = sums_.sums.data() + row * n_votes_;
            for (std::size_t i = 0; i < n_votes_; ++i) {
                sums[i] += line[i];
            }
            sums_.weight[row] += trees_.weight[tree];
        }
    }

    BlockErrors score(Scorer& scorer) const {
        BlockErrors errors(sums_.n_settings, scorer.is_regression());
        for (std::size_t row = begin_; row < end_; ++row) {
            if (sums_.weight[row] > 0) {
                scorer.add(row, sums_.sums.data() + row * n_votes_, sums_.weight[row], errors);
            }
        }
        return errors;
    }

  private:
    const SurfaceTrees& trees_;
    std::span<const VoteTable> tables_;
    const SurfaceSums& sums_;
    std::size_t begin_;
    std::size_t end_;
    std::size_t n_votes_;
};

std::vector<VoteTable> make_tables(const SurfaceTrees& trees, const SurfaceSettings& settings, const SurfaceSums& sums,
                                   Work& work) {
    std::vector<std::unique_ptr<VoteTable>> made(trees.n_trees());
    work.run(trees.n_trees(), [&](std::size_t tree, std::size_t) {
        made[tree] = std::make_unique<VoteTable>(trees, settings, sums.width, tree);
    });
    std::vector<VoteTable> tables;
    for (auto& table : made) {
        tables.push_back(std::move(*table));
    }
    return tables;
}

}  // namespace

SurfaceErrors add_to_surface(const SurfaceTrees& trees, const SurfaceSettings& settings, const KnownRows& known,
                             std::span<const std::uint8_t> scored, const SurfaceSums& sums, Work& work) {
    const std::vector<VoteTable> tables = make_tables(trees, settings, sums, work);
    SurfaceErrors found;
    for (std::size_t tree = 0; tree < trees.n_trees(); ++tree) {
        for (std::size_t s = 0; s < settings.size(); ++s) {
            sums.leaves[s] += trees.weight[tree] > 0 ? tables[tree].n_leaves(s) : 1;
        }
        if (scored[tree] != 0) {
            found.leaves.insert(found.leaves.end(), sums.leaves.begin(), sums.leaves.end());
        }
    }
    const std::size_t n_blocks = (sums.n_rows + kRowsOfSum - 1) / kRowsOfSum;
    std::vector<std::vector<BlockErrors>> of_blocks(n_blocks);
    work.run(n_blocks, [&](std::size_t b, std::size_t) {
        const RowBlock block(trees, tables, sums, b * kRowsOfSum);
        Scorer scorer(known, sums.width, sums.n_settings);
        for (std::size_t tree = 0; tree < trees.n_trees(); ++tree) {
            work.check();
            if (trees.weight[tree] > 0) {
                block.add(tree);
            }
            if (scored[tree] != 0) {
                of_blocks[b].push_back(block.score(scorer));
            }
        }
    });
    const auto n_scored =
        static_cast<std::size_t>(std::count_if(scored.begin(), scored.end(), [](auto j) { return j != 0; }));
    for (std::size_t j = 0; j < n_scored; ++j) {
        BlockErrors all(sums.n_settings, known.classes.empty());
        for (const std::vector<BlockErrors>& of_block : of_blocks) {
            all.add(of_block[j]);
        }
        found.losses.insert(found.losses.end(), all.losses.begin(), all.losses.end());
        found.squares.insert(found.squares.end(), all.squares.begin(), all.squares.end());
        found.weight.push_back(all.weight);
        found.weight_squares.push_back(all.weight_squares);
        found.n_rows.push_back(all.n_rows);
    }
    return found;
}

}  // namespace weald
