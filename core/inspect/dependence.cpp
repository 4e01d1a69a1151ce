#include "inspect/dependence.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <numeric>

#include "base/require.h"
#include "tree/tree.h"

namespace weald {

namespace {

constexpr std::size_t kLeavesAtOnce = 65536;  // leaves of the trees whose records are kept at a time

using RowNumber = std::uint16_t;

// The points of one feature at which a leaf is reached.
struct Axis {
    std::uint32_t begin = 0;  // points of a number; or where the list of categories begins
    std::uint32_t end = 0;
    bool has_missing = true;
    bool is_excluded = false;  // categories: all but those in the list
};

// The contribution of a leaf to a group.
struct Record {
    std::uint32_t group;
    std::uint32_t node;     // node number in the forest
    std::int64_t at_begin;  // weight of the rows
    std::int64_t at_end;    // the same, unless steps have bins
    std::int64_t own;       // weight of the rows in this leaf
    Axis axes[2];
};

struct OwnLeaf {
    std::uint32_t node;
    std::int64_t weight;
};

struct TreeRecords {
    std::vector<Record> records;
    std::vector<OwnLeaf> leaves;
    std::vector<std::uint32_t> categories;  // the lists of axes
};

// Columns of the features of a forest, as doubles side by side.
class Columns {
  public:
    Columns(const Matrix& x, const ForestView& forest, Work& work) : n_rows_(x.n_rows), start_(x.n_columns, kNone) {
        for (const std::int32_t feature : forest.feature) {
            if (feature >= 0 && start_[static_cast<std::size_t>(feature)] == kNone) {
                start_[static_cast<std::size_t>(feature)] = n_used_++ * n_rows_;
            }
        }
        values_.resize(n_used_ * n_rows_);
        constexpr std::size_t kRows = 1024;
        x.dispatch([&]<class Float>() {
            work.run((n_rows_ + kRows - 1) / kRows, [&](std::size_t block, std::size_t) {
                for (std::size_t row = block * kRows; row < std::min(n_rows_, (block + 1) * kRows); ++row) {
                    read_row<Float>(x, row);
                }
            });
        });
    }

    const double* column(std::int32_t feature) const {
        return values_.data() + start_[static_cast<std::size_t>(feature)];
    }

  private:
    static constexpr std::size_t kNone = ~std::size_t{0};

    template <class Float>
    void read_row(const Matrix& x, std::size_t row) {
        if (!x.by_row.is_empty()) {
            for (auto j = x.by_row.starts[row]; j < x.by_row.starts[row + 1]; ++j) {
                const auto at = static_cast<std::size_t>(j);
                write(static_cast<std::size_t>(x.by_row.places[at]), row, x.by_row.values[at]);
            }
            return;
        }
        for (std::size_t f = 0; f < start_.size(); ++f) {
            write(f, row, static_cast<double>(x.at<Float>(row, f)));
        }
    }

    void write(std::size_t feature, std::size_t row, double value) {
        if (start_[feature] != kNone) {
            values_[start_[feature] + row] = value;
        }
    }

    std::size_t n_rows_;
    std::size_t n_used_ = 0;
    std::vector<std::size_t> start_;  // indexed by feature
    std::vector<double> values_;
};

struct Problem {
    const ForestView& forest;
    const Predictor& predictor;
    const Columns& columns;
    std::size_t n_rows;
    std::span<const std::int64_t> weight;
    const FreeGroups& groups;
    const LocalBins& bins;
    std::vector<std::vector<std::uint32_t>> groups_of;  // indexed by feature
    std::vector<std::size_t> step_start;                // by feature: its first point in bins.of_step
};

// Follows the rows of a table down one tree.
class FreeWalk {
  public:
    FreeWalk(const Problem& problem, std::size_t tree)
        : problem_(problem),
          nodes_(problem.predictor.nodes(tree)),
          first_node_(static_cast<std::size_t>(problem.forest.tree_start[tree])),
          on_path_(problem.groups.size(), 0) {}

    TreeRecords run(const Work& work) {
        rows_.resize(problem_.n_rows);
        scratch_.resize(problem_.n_rows);
        for (std::size_t row = 0; row < problem_.n_rows; ++row) {
            rows_[row] = static_cast<RowNumber>(row);
        }
        frames_.push_back({0, {0, problem_.n_rows}, 0, problem_.n_rows});
        while (!frames_.empty()) {
            work.check();
            const Frame frame = frames_.back();
            frames_.pop_back();
            here_.assign(entries_.begin() + static_cast<std::ptrdiff_t>(frame.entries), entries_.end());
            entries_.resize(frame.entries);
            rows_.resize(frame.rows_end);
            nodes_[frame.node].is_leaf() ? record(frame) : split(frame);
        }
        return std::move(found_);
    }

  private:
    struct Rows {
        std::size_t begin;
        std::size_t end;
        bool is_empty() const { return begin == end; }
    };
    // A group on the path, and the rows that meet all conditions except those on its features.
    struct Entry {
        std::uint32_t group;
        Rows rows;
        Axis axes[2];
    };
    struct Frame {
        std::uint32_t node;
        Rows own;
        std::size_t entries;   // first entry of the list; its last entry is at the top of the stack
        std::size_t rows_end;  // later lists are no longer used
    };

    std::int32_t feature_of(std::uint32_t node) const { return problem_.forest.feature[first_node_ + node]; }

    std::int64_t weigh(Rows rows) const {
        if (problem_.weight.empty()) {
            return static_cast<std::int64_t>(rows.end - rows.begin);
        }
        std::int64_t sum = 0;
        for (std::size_t i = rows.begin; i < rows.end; ++i) {
            sum += problem_.weight[rows_[i]];
        }
        return sum;
    }

    // ---- Leaves

    void record(const Frame& frame) {
        const std::int64_t own = weigh(frame.own);
        const auto node = static_cast<std::uint32_t>(first_node_ + frame.node);
        if (own != 0) {
            found_.leaves.push_back({node, own});
        }
        for (const Entry& entry : here_) {
            Record record{entry.group, node, 0, 0, own, {entry.axes[0], entry.axes[1]}};
            if (problem_.bins.is_empty()) {
                record.at_begin = record.at_end = weigh(entry.rows);
            } else {
                weigh_steps(entry, record);
            }
            if (record.at_begin != 0 || record.at_end != 0) {
                found_.records.push_back(record);
            }
        }
    }

    void weigh_steps(const Entry& entry, Record& record) const {
        const Axis& axis = entry.axes[0];
        const auto feature = static_cast<std::size_t>(problem_.groups.first[entry.group]);
        const std::uint16_t* of_step = problem_.bins.of_step.data() + problem_.step_start[feature];
        const std::uint16_t* of_row = problem_.bins.of_row.data() + feature * problem_.n_rows;
        constexpr std::uint16_t kNever = LocalBins::kNoBin - 1;
        const auto bin_at = [&](std::uint32_t point) {
            const bool is_step = point > 0 && point < problem_.groups.n_points[feature];
            return is_step && of_step[point] != LocalBins::kNoBin ? of_step[point] : kNever;
        };
        const std::uint16_t first = bin_at(axis.begin);
        const std::uint16_t last = bin_at(axis.end);
        for (std::size_t i = entry.rows.begin; i < entry.rows.end; ++i) {
            const std::uint16_t bin = of_row[rows_[i]];
            const std::int64_t weight = problem_.weight.empty() ? 1 : problem_.weight[rows_[i]];
            record.at_begin += bin == first ? weight : 0;
            record.at_end += bin == last ? weight : 0;
        }
    }

    // ---- Splits

    void split(const Frame& frame) {
        const std::int32_t feature = feature_of(frame.node);
        set_free(static_cast<std::size_t>(feature), frame.own);
        const std::size_t own_middle = partition(frame.node, frame.own);
        const Rows own_of[2] = {{frame.own.begin, own_middle}, {own_middle, frame.own.end}};
        std::vector<Entry>& left = here_;  // changed in place
        right_ = here_;
        for (std::size_t i = 0; i < here_.size(); ++i) {
            const FreeGroups& groups = problem_.groups;
            const std::uint32_t group = here_[i].group;
            if (groups.first[group] == feature || groups.second[group] == feature) {
                const std::size_t which = groups.first[group] == feature ? 0 : 1;
                narrow(frame.node, static_cast<std::size_t>(feature), left[i].axes[which], right_[i].axes[which]);
            } else {
                const std::size_t middle = partition(frame.node, here_[i].rows);
                right_[i].rows.begin = middle;
                left[i].rows.end = middle;
            }
        }
        push(nodes_[frame.node].right, own_of[1], right_);
        push(frame.node + 1, own_of[0], left);
    }

    // Begins a list for each group of a feature that is not on the path yet. If there are no own rows, no list is
    // needed: a group on the path without a list has no rows.
    void set_free(std::size_t feature, Rows own) {
        if (own.is_empty()) {
            return;
        }
        for (const Entry& entry : here_) {
            on_path_[entry.group] = 1;
        }
        for (const std::uint32_t group : problem_.groups_of[feature]) {
            if (on_path_[group] == 0) {
                here_.push_back({group, copy(own), {first_axis(group, 0), first_axis(group, 1)}});
            }
        }
        for (const Entry& entry : here_) {
            on_path_[entry.group] = 0;
        }
    }

    Rows copy(Rows rows) {
        const std::size_t begin = rows_.size();
        rows_.resize(begin + (rows.end - rows.begin));
        std::memcpy(rows_.data() + begin, rows_.data() + rows.begin, (rows.end - rows.begin) * sizeof(RowNumber));
        return {begin, rows_.size()};
    }

    Axis first_axis(std::uint32_t group, std::size_t which) const {
        const std::int32_t feature = which == 0 ? problem_.groups.first[group] : problem_.groups.second[group];
        if (feature < 0) {
            return {};
        }
        const auto f = static_cast<std::size_t>(feature);
        return problem_.groups.has_categories[f] != 0 ? Axis{0, 0, true, true}
                                                      : Axis{0, problem_.groups.n_points[f], true, false};
    }

    void push(std::uint32_t node, Rows own, const std::vector<Entry>& entries) {
        const std::size_t first = entries_.size();
        for (const Entry& entry : entries) {
            if (!entry.rows.is_empty()) {
                entries_.push_back(entry);
            }
        }
        if (entries_.size() > first || !own.is_empty()) {
            frames_.push_back({node, own, first, rows_.size()});
        }
    }

    // Moves the rows that go left to the front, in their order; returns the first one that goes right.
    std::size_t partition(std::uint32_t node, Rows rows) {
        const Predictor::Node& at = nodes_[node];
        const double* column = problem_.columns.column(feature_of(node));
        if ((problem_.forest.flags[first_node_ + node] & kCategorical) != 0) {
            const std::uint32_t left = node + 1;
            return partition_by(
                rows, [&](RowNumber row) { return problem_.predictor.child<true>(at, node, column[row]) == left; });
        }
        const double threshold = at.threshold;
        const bool missing_left = at.missing_left != 0;
        return partition_by(rows, [=](RowNumber row) {
            const double x = column[row];
            return (x <= threshold) | ((x != x) & missing_left);
        });
    }

    template <class GoesLeft>
    std::size_t partition_by(Rows rows, const GoesLeft& goes_left) {
        RowNumber* left = rows_.data() + rows.begin;
        RowNumber* right = scratch_.data();
        for (const RowNumber *row = left, *end = rows_.data() + rows.end; row != end; ++row) {
            const RowNumber number = *row;
            const bool is_left = goes_left(number);
            *left = number;
            *right = number;
            left += is_left;
            right += !is_left;
        }
        std::memcpy(left, scratch_.data(), static_cast<std::size_t>(right - scratch_.data()) * sizeof(RowNumber));
        return static_cast<std::size_t>(left - rows_.data());
    }

    // ---- Limits the points of a feature to the sides of a split; both axes start as copies of the parent

    void narrow(std::uint32_t node, std::size_t feature, Axis& left, Axis& right) {
        const std::uint8_t flags = problem_.forest.flags[first_node_ + node];
        const bool missing_left = (flags & kMissingLeft) != 0;
        left.has_missing &= missing_left;
        right.has_missing &= !missing_left;
        const auto place = static_cast<std::uint32_t>(problem_.groups.place[first_node_ + node]);
        const std::uint32_t n_points = problem_.groups.n_points[feature];
        require(place <= n_points, "a place is behind the points of its feature");
        if ((flags & kCategorical) != 0) {
            require(problem_.groups.has_categories[feature] != 0, "a feature without categories is split by a set");
            narrow_categories(set_of(node), left, right, (flags & kOthersLeft) != 0);
        } else if (problem_.groups.has_categories[feature] != 0) {
            // A cut in the order of the categories, as the set of the smaller side.
            const bool others_left = 2 * std::uint64_t{place} > n_points;
            cut_.resize(others_left ? n_points - place : place);
            std::iota(cut_.begin(), cut_.end(), others_left ? place : 0);
            narrow_categories(cut_, left, right, others_left);
        } else {
            const std::uint32_t middle = std::clamp(place, left.begin, left.end);
            left.end = middle;
            right.begin = middle;
        }
    }

    std::span<const std::uint32_t> set_of(std::uint32_t node) const {
        const ForestView& forest = problem_.forest;
        const auto number = static_cast<std::size_t>(forest.threshold[first_node_ + node]);
        const auto first = static_cast<std::size_t>(forest.category_start[number]);
        const auto last = static_cast<std::size_t>(forest.category_start[number + 1]);
        return forest.category_sets.subspan(first, last - first);
    }

    // The categories of the set are on one side, all others on the other.
    void narrow_categories(std::span<const std::uint32_t> set, Axis& left, Axis& right, bool others_left) {
        std::vector<std::uint32_t>& lists = found_.categories;
        listed_.assign(lists.begin() + left.begin, lists.begin() + left.end);
        const bool is_excluded = left.is_excluded;
        Axis& inside = others_left ? right : left;
        Axis& outside = others_left ? left : right;
        const auto write = [&](Axis& axis, bool excludes, const auto& combine) {
            axis.begin = static_cast<std::uint32_t>(lists.size());
            combine(std::back_inserter(lists));
            axis.end = static_cast<std::uint32_t>(lists.size());
            axis.is_excluded = excludes;
        };
        if (is_excluded) {
            write(inside, false, [&](auto to) { std::ranges::set_difference(set, listed_, to); });
            write(outside, true, [&](auto to) { std::ranges::set_union(set, listed_, to); });
        } else {
            write(inside, false, [&](auto to) { std::ranges::set_intersection(set, listed_, to); });
            write(outside, false, [&](auto to) { std::ranges::set_difference(listed_, set, to); });
        }
    }

    const Problem& problem_;
    std::span<const Predictor::Node> nodes_;
    std::size_t first_node_;
    std::vector<RowNumber> rows_;  // a stack of lists
    std::vector<RowNumber> scratch_;
    std::vector<Entry> entries_;  // a stack
    std::vector<Entry> here_;     // those of the current node
    std::vector<Entry> right_;
    std::vector<Frame> frames_;
    std::vector<std::uint32_t> listed_;  // categories of a parent
    std::vector<std::uint32_t> cut_;     // those on the smaller side of a threshold
    std::vector<std::uint8_t> on_path_;  // by group; 0 between nodes
    TreeRecords found_;
};

// Adds the records of trees to the sums of some groups, those whose number has the remainder `part`.
class Adder {
  public:
    Adder(const Problem& problem, std::span<const double> values, std::size_t width, DependenceSums& sums)
        : problem_(problem), values_(values), width_(width), sums_(sums) {
        std::size_t n_places = 0;
        for (std::size_t group = 0; group < problem.groups.size(); ++group) {
            start_.push_back(n_places * width);
            n_places += problem.groups.n_places(group);
        }
        sums.steps.resize(n_places * width);
        sums.on_path.resize(problem.groups.size() * width);
        sums.total.resize(width);
    }

    void add(const TreeRecords& tree, std::size_t part, std::size_t n_parts) {
        if (part == 0) {
            for (const OwnLeaf& leaf : tree.leaves) {
                add_value(leaf.node, static_cast<double>(leaf.weight), sums_.total.data());
            }
        }
        std::vector<Step> steps[2];
        for (const Record& record : tree.records) {
            if (record.group % n_parts != part) {
                continue;
            }
            if (record.own != 0) {
                add_value(record.node, static_cast<double>(record.own), sums_.on_path.data() + record.group * width_);
            }
            list_steps(tree, record, problem_.groups.first[record.group], record.axes[0], steps[0]);
            list_steps(tree, record, problem_.groups.second[record.group], record.axes[1], steps[1]);
            const std::size_t n_second = problem_.groups.n_places(problem_.groups.second[record.group]);
            double* of_group = sums_.steps.data() + start_[record.group];
            for (const Step& first : steps[0]) {
                const double weight = static_cast<double>(first.at_end ? record.at_end : record.at_begin);
                for (const Step& second : steps[1]) {
                    const double signed_weight = first.is_minus != second.is_minus ? -weight : weight;
                    add_value(record.node, signed_weight, of_group + (first.place * n_second + second.place) * width_);
                }
            }
        }
    }

  private:
    struct Step {
        std::size_t place;
        bool is_minus;
        bool at_end;
    };

    void add_value(std::uint32_t node, double weight, double* to) const {
        const double* value = values_.data() + node * width_;
        for (std::size_t k = 0; k < width_; ++k) {
            to[k] += weight * value[k];
        }
    }

    void list_steps(const TreeRecords& tree, const Record& record, std::int32_t feature, const Axis& axis,
                    std::vector<Step>& steps) const {
        steps.clear();
        if (feature < 0) {
            steps.push_back({0, false, false});
            return;
        }
        const std::size_t n = problem_.groups.n_points[static_cast<std::size_t>(feature)];
        const bool is_local = !problem_.bins.is_empty();
        if (problem_.groups.has_categories[static_cast<std::size_t>(feature)] != 0) {
            if (axis.is_excluded) {
                steps.push_back({n, false, false});
            }
            for (std::uint32_t i = axis.begin; i < axis.end; ++i) {
                require(tree.categories[i] < n, "a category is out of range");
                steps.push_back({tree.categories[i], axis.is_excluded, false});
            }
        } else if (axis.begin < axis.end) {
            if (!is_local || record.at_begin != 0) {
                steps.push_back({axis.begin, false, false});
            }
            if (!is_local || record.at_end != 0) {
                steps.push_back({axis.end, true, true});
            }
        }
        if (axis.has_missing && !is_local) {
            steps.push_back({n + 1, false, false});
        }
    }

    const Problem& problem_;
    std::span<const double> values_;
    std::size_t width_;
    DependenceSums& sums_;
    std::vector<std::size_t> start_;  // by group: its first value in the steps
};

void check(const ForestView& forest, std::span<const double> values, const Matrix& x,
           std::span<const std::int64_t> weight, const FreeGroups& groups, const LocalBins& bins) {
    const std::size_t n_features = forest.n_features;
    const auto is_feature = [&](std::int32_t f) { return f >= 0 && static_cast<std::size_t>(f) < n_features; };
    require(x.n_columns == n_features, "the table has another number of features than the forest");
    require(x.n_rows > 0 && x.n_rows <= kMostDependenceRows, "there are no rows, or too many for one call");
    require(weight.empty() || weight.size() == x.n_rows, "table and weights differ in length");
    require(!forest.feature.empty() && !values.empty() && values.size() % forest.feature.size() == 0,
            "values are not nodes x width");
    require(groups.n_points.size() == n_features && groups.has_categories.size() == n_features,
            "points are not those of the features");
    require(groups.place.size() == forest.feature.size(), "places are not those of the nodes");
    require(groups.second.size() == groups.size(), "groups differ in number");
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const std::int32_t second = groups.second[g];
        require(is_feature(groups.first[g]) && (second == -1 || (is_feature(second) && second != groups.first[g])),
                "a group does not have one or two features");
        require(
            bins.is_empty() || (second == -1 && groups.has_categories[static_cast<std::size_t>(groups.first[g])] == 0),
            "only single numbers have local effects");
    }
    if (!bins.is_empty()) {
        std::size_t n_points = 0;
        for (const std::uint32_t n : groups.n_points) {
            n_points += n;
        }
        require(bins.of_step.size() == n_points && bins.of_row.size() == n_features * x.n_rows,
                "bins are not those of the rows and points");
    }
}

// The trees from `begin` whose records are kept at a time: those of few leaves.
std::size_t last_tree(const ForestView& forest, std::size_t begin) {
    std::size_t end = begin + 1;
    const auto n_nodes = [&] { return static_cast<std::size_t>(forest.tree_start[end] - forest.tree_start[begin]); };
    while (end < forest.n_trees() && n_nodes() < 2 * kLeavesAtOnce) {
        ++end;
    }
    return end;
}

}  // namespace

DependenceSums sum_dependence(const ForestView& forest, const Predictor& predictor, std::span<const double> values,
                              const Matrix& x, std::span<const std::int64_t> weight, const FreeGroups& groups,
                              const LocalBins& bins, Work& work) {
    check(forest, values, x, weight, groups, bins);
    const Columns columns(x, forest, work);
    Problem problem{forest, predictor, columns, x.n_rows, weight, groups, bins, {}, {}};
    problem.groups_of.resize(forest.n_features);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        for (const std::int32_t feature : {groups.first[g], groups.second[g]}) {
            if (feature >= 0) {
                problem.groups_of[static_cast<std::size_t>(feature)].push_back(static_cast<std::uint32_t>(g));
            }
        }
    }
    std::size_t n_points = 0;
    for (const std::uint32_t n : groups.n_points) {
        problem.step_start.push_back(n_points);
        n_points += n;
    }
    DependenceSums sums;
    Adder adder(problem, values, values.size() / forest.feature.size(), sums);
    std::atomic<std::size_t> n_done{0};
    const auto share = [&] { return static_cast<double>(n_done) / static_cast<double>(forest.n_trees()); };
    for (std::size_t begin = 0; begin < forest.n_trees();) {
        const std::size_t end = last_tree(forest, begin);
        std::vector<TreeRecords> trees(end - begin);
        work.run(
            trees.size(),
            [&](std::size_t i, std::size_t) {
                trees[i] = FreeWalk(problem, begin + i).run(work);
                ++n_done;
            },
            share);
        const std::size_t n_parts = std::clamp<std::size_t>(groups.size(), 1, work.n_threads());
        work.run(
            n_parts,
            [&](std::size_t part, std::size_t) {
                for (const TreeRecords& tree : trees) {
                    work.check();
                    adder.add(tree, part, n_parts);
                }
            },
            share);
        begin = end;
    }
    return sums;
}

}  // namespace weald
