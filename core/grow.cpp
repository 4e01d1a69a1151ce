#include "grow.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <queue>
#include <stdexcept>

#include "bag.h"
#include "block.h"
#include "category_order.h"
#include "feature_draw.h"
#include "models.h"
#include "monotonic.h"
#include "partition.h"
#include "random.h"
#include "search_constrained.h"
#include "search_random.h"
#include "tasks.h"
#include "tree_parts.h"
#include "weights.h"

namespace weald {

namespace {

constexpr std::uint64_t kRootId = 1;
constexpr std::uint32_t kLeastGiven = 8192;  // rows of a subtree that another thread may grow

std::uint64_t child_id(std::uint64_t id, std::uint64_t side) {
    return mix64(2 * id + side);
}

// The rows of a node are a range of the tree's rows.
struct Node {
    std::uint32_t begin;
    std::uint32_t end;
    std::int32_t depth;
    std::uint64_t id;
    Promise promise = {};

    std::uint32_t n_rows() const { return end - begin; }
};

struct Split {
    std::uint32_t feature = 0;
    Candidate cut;
    std::uint32_t below = 0;  // the node's codes beside the cut
    std::uint32_t above = 0;
    double decrease = 0;
    bool has_missing = false;  // the node has missing values of the feature
    bool missing_left = false;
    // Of a categorical feature: which order of the categories is cut, and where their set stands among the grower's.
    std::uint32_t order = 0;
    std::size_t set_begin = 0;
    std::size_t set_end = 0;
    double threshold = 0;  // of a cut that was drawn
    double middle = 0;     // between the values of the sides, where their order is bound
};

constexpr std::size_t kMostTogether = 1 << 14;  // rows of a node whose features are looked at several at a time

constexpr std::uint32_t kNothingAbove = 0xFFFFFFFFu;  // present values against missing ones

// Half-way between a < b, so that a goes left and b goes right.
double place_threshold(double a, double b) {
    const double t = a / 2 + b / 2;
    return a <= t && t < b ? t : a;
}

// Whether a model can search several features at once.
template <class Model>
inline constexpr bool kHasLanes = requires(const Model& model) { model.searches_lanes(1u, 1u); };

// The rows of a tree, ascending by rank to begin with.
template <class Payload>
struct TreeRows {
    std::vector<std::uint32_t> ids;
    std::vector<Payload> payloads;

    void clear() {
        ids.clear();
        payloads.clear();
    }
    void add(std::uint32_t rank, const Payload& payload) {
        ids.push_back(rank);
        payloads.push_back(payload);
    }
    // Keys are made in whole vectors.
    void end() { payloads.resize(ids.size() + kMostSorted); }
};

// Appends a row once for every `most` of its count, since a payload has 16 bits for it.
template <class Push>
void push_counted(std::uint32_t count, std::uint32_t most, Push&& push) {
    for (; count > most; count -= most) {
        push(most);
    }
    if (count != 0) {
        push(count);
    }
}

// ------------------------------------------------------------------------------------------------------- one tree

template <class Model>
class Grower {
  public:
    using Payload = typename Model::Payload;
    using Rows = TreeRows<Payload>;
    using Part = TreePart<typename Model::Sums>;
    // What several threads that grow one tree share.
    struct Tree {
        std::uint64_t seed = 0;
        std::uint32_t number = 0;
        Rows rows;
        double root_weight = 0;
        Limits limits;
    };
    // A right subtree that another thread is to grow.
    struct Offer {
        Node node;
        std::vector<std::uint64_t> dead;
        Part* part;
    };
    using GiveAway = std::function<void(Offer)>;
    static constexpr bool kCountsClasses = std::is_same_v<Payload, std::uint32_t>;  // class << 16 | count

    Grower(const Codes& codes, const Growth& growth, Model model, const Work& work)
        : codes_(codes),
          growth_(growth),
          model_(std::move(model)),
          work_(work),
          reader_(codes, growth.max_features),
          draw_(static_cast<std::uint32_t>(codes.columns.size()), feature_scales(growth.feature_weights)),
          interactions_(codes.columns.size(), growth.interaction_groups, growth.max_interacting),
          n_set_words_(FeatureSet::n_words(codes.columns.size())),
          n_words_(interactions_.are_free() ? n_set_words_ : 2 * n_set_words_),
          has_categories_(std::any_of(codes.columns.begin(), codes.columns.end(),
                                      [](const Column& column) { return column.is_categorical; })),
          buffers_(growth.random_cuts ? kPhiloxBlock + 1 : 2) {
        for (const Column& column : codes.columns) {
            if (growth.random_cuts) {
                values_.emplace_back(column);
            }
        }
    }

    Model& model() { return model_; }

    // Begins with a tree whose rows are there.
    void begin(Tree& tree) {
        const auto n = static_cast<std::uint32_t>(tree.rows.ids.size());
        tree.rows.end();
        model_.look_at(tree.rows.payloads.data(), n);
        tree.root_weight = static_cast<double>(model_.weight());
        tree.limits.min_size = growth_.min_samples_leaf;
        tree.limits.min_weight =
            static_cast<std::int64_t>(std::ceil(growth_.min_weight_fraction_leaf * tree.root_weight));
    }

    TreeArrays grow(Tree& tree) {
        begin(tree);
        Part part;
        part.tree.reserve(n_nodes_before_ + n_nodes_before_ / 16);
        grow_part(tree, root_of(tree), known_at_root(), part, {});
        n_nodes_before_ = part.tree.n_nodes();
        return finish(std::move(part));
    }

    // Grows the subtree of a node. Where large ones are left over, `give_away` is offered them.
    void grow_part(Tree& tree, const Node& node, const std::vector<std::uint64_t>& dead, Part& part,
                   const GiveAway& give_away) {
        seed_ = tree.seed;
        number_ = tree.number;
        root_weight_ = tree.root_weight;
        limits_ = tree.limits;
        ids_ = tree.rows.ids.data();
        payloads_ = tree.rows.payloads.data();
        tree_ = std::move(part.tree);
        reader_.begin_tree();
        sets_.clear();
        for (std::size_t i = 0; i < buffers_.size(); ++i) {
            const std::size_t n_rows = i < 2 ? node.n_rows() : std::min<std::size_t>(node.n_rows(), kMostTogether);
            buffers_[i].resize(std::max(buffers_[i].size(), n_rows + kMostSorted));  // keys are made in whole vectors
        }
        if (growth_.max_leaf_nodes == 0) {
            grow_depth_first(node, dead, part, give_away);
        } else {
            grow_best_first(node);
        }
        part.tree = std::move(tree_);
        part.beside = std::exchange(beside_, {});
        part.sums = model_.take_sums();
    }

    TreeArrays finish(Part part) {
        if (!part.gaps.empty()) {
            part = std::move(part).join();
        }
        write_thresholds(part);
        model_.finish(part.tree, std::move(part.sums));
        return std::move(part.tree);
    }

    static Node root_of(const Tree& tree) { return {0, static_cast<std::uint32_t>(tree.rows.ids.size()), 0, kRootId}; }

    // What is known of features is handed down: those that are dead and, where it matters, behind them the path. What
    // may not join the path is as good as dead.
    std::vector<std::uint64_t> known_at_root() {
        std::vector<std::uint64_t> known(n_words_);
        if (!interactions_.are_free()) {
            interactions_.close(known.data() + n_set_words_, known.data());
        }
        return known;
    }

  private:
    // ---- Order of growth

    // Left children first: nodes are written down in pre-order as they come.
    void grow_depth_first(const Node& root, const std::vector<std::uint64_t>& dead_at_root, Part& part,
                          const GiveAway& give_away) {
        struct Waiting {
            Node node;
            std::int64_t parent;         // of a right child, to be linked; -1: none
            const Part* part = nullptr;  // it was given away
        };
        std::vector<Waiting> waiting{{root, -1}};
        dead_.assign(static_cast<std::size_t>(root.depth) * n_words_, 0);
        dead_.insert(dead_.end(), dead_at_root.begin(), dead_at_root.end());
        while (!waiting.empty()) {
            const auto [node, parent, given_away] = waiting.back();
            waiting.pop_back();
            if (given_away) {
                part.gaps.push_back({tree_.n_nodes(), static_cast<std::size_t>(parent), given_away});
                continue;
            }
            if (parent >= 0) {
                tree_.right[static_cast<std::size_t>(parent)] = static_cast<std::int32_t>(tree_.n_nodes());
            }
            // What is known to be constant is kept by depth: a node's own level is handed to its children as a copy.
            const std::size_t level = static_cast<std::size_t>(node.depth) * n_words_;
            if (dead_.size() < level + 2 * n_words_) {
                dead_.resize(level + 2 * n_words_);
            }
            std::uint64_t* dead = dead_.data() + level + n_words_;
            std::copy_n(dead_.data() + level, n_words_, dead);
            if (!give_away || node.n_rows() < 2 * kLeastGiven) {  // rows in a block can not be given away
                reader_.enter(node.begin, {ids_ + node.begin, node.n_rows()}, FeatureSet(dead));
            }
            model_.look_at(payloads_ + node.begin, node.n_rows());
            const std::optional<Split> split = find_split(node, FeatureSet(dead));
            write_node(node, split);
            sets_.clear();
            if (split) {
                const auto number = static_cast<std::int64_t>(tree_.n_nodes()) - 1;
                const auto [left, right] = children(node, *split, divide(node, *split, kept_));
                waiting.push_back({right, number});
                if (give_away && std::min(left.n_rows(), right.n_rows()) >= kLeastGiven) {
                    part.given_away.push_back(std::make_unique<Part>());
                    waiting.back().part = part.given_away.back().get();
                    give_away({right, {dead, dead + n_words_}, part.given_away.back().get()});
                }
                waiting.push_back({left, -1});
            }
        }
    }

    struct Made {
        Node node;
        std::optional<Split> split;
        std::vector<std::uint64_t> dead;
        std::uint32_t left = 0;  // 0: not divided
        std::uint32_t right = 0;
    };

    Made make(const Node& node, std::vector<std::uint64_t> dead) {
        Made made{node, {}, std::move(dead)};
        model_.look_at(payloads_ + node.begin, node.n_rows());
        made.split = find_split(node, FeatureSet(made.dead.data()));
        return made;
    }

    // The node of the greatest decrease is divided first; of equal ones, the one made earlier.
    void grow_best_first(const Node& root) {
        std::vector<Made> made;
        const auto later = [&](std::uint32_t a, std::uint32_t b) {
            const double decrease_a = made[a].split->decrease;
            const double decrease_b = made[b].split->decrease;
            return decrease_a != decrease_b ? decrease_a < decrease_b : a > b;
        };
        std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, decltype(later)> waiting(later);
        const auto add = [&](const Node& node, const std::vector<std::uint64_t>& dead) {
            made.push_back(make(node, dead));
            const auto number = static_cast<std::uint32_t>(made.size() - 1);
            if (made.back().split) {
                waiting.push(number);
            }
            return number;
        };
        add(root, known_at_root());
        for (std::uint32_t n_leaves = 1; !waiting.empty() && n_leaves < growth_.max_leaf_nodes; ++n_leaves) {
            const std::uint32_t number = waiting.top();
            waiting.pop();
            const Node node = made[number].node;
            const std::vector<std::uint64_t> dead = made[number].dead;
            const std::uint32_t feature = made[number].split->feature;
            gather(feature, node, 0);
            if (is_categorical(feature)) {
                model_.look_at(payloads_ + node.begin, node.n_rows());
                put_in_order(feature, node, 0, made[number].split->order);
            }
            const auto [left, right] = children(node, *made[number].split, divide(node, *made[number].split, 0));
            const std::uint32_t left_number = add(left, dead);
            const std::uint32_t right_number = add(right, dead);
            made[number].left = left_number;
            made[number].right = right_number;
        }
        write_in_preorder(made);
    }

    void write_in_preorder(const std::vector<Made>& made) {
        std::vector<std::pair<std::uint32_t, std::int64_t>> waiting{{0, -1}};
        while (!waiting.empty()) {
            const auto [number, parent] = waiting.back();
            waiting.pop_back();
            const auto here = static_cast<std::int64_t>(tree_.n_nodes());
            if (parent >= 0) {
                tree_.right[static_cast<std::size_t>(parent)] = static_cast<std::int32_t>(here);
            }
            const Made& node = made[number];
            const bool is_divided = node.left != 0;
            model_.look_at(payloads_ + node.node.begin, node.node.n_rows());
            write_node(node.node, is_divided ? node.split : std::nullopt);
            if (is_divided) {
                waiting.emplace_back(node.right, here);
                waiting.emplace_back(node.left, -1);
            }
        }
    }

    // ---- One node; the model has looked at it

    std::optional<Split> find_split(const Node& node, FeatureSet dead) {
        if (model_.is_pure() || model_.size() < growth_.min_samples_split || node.depth == growth_.max_depth) {
            return {};
        }
        model_.begin_search(payloads_ + node.begin, node.n_rows(), limits_);
        std::optional<Split> split = best_split(node, dead);
        if (!split) {
            return {};
        }
        split->decrease = std::max(0.0, split->cut.score - model_.undivided()) / root_weight_;
        if (growth_.min_impurity_decrease > 0 &&
            decrease_in_user_units(split->decrease) < growth_.min_impurity_decrease) {
            return {};
        }
        if (!codes_.filled.is_empty()) {
            gather(split->feature, node, kept_);  // all rows, where the search saw some
        }
        place(node, *split);
        join_path(split->feature, dead);
        return split;
    }

    void join_path(std::uint32_t feature, FeatureSet dead) {
        if (!interactions_.are_free()) {
            std::uint64_t* path = dead.words() + n_set_words_;
            FeatureSet(path).add(feature);
            interactions_.close(path, dead.words());
        }
    }

    std::pair<Node, Node> children(const Node& node, const Split& split, std::uint32_t middle) const {
        const int sign = split.cut.cuts_off_missing() ? 0 : sign_of(split.feature);
        const auto [left, right] =
            sign == 0 ? std::pair(node.promise, node.promise) : node.promise.divided(sign, split.middle);
        return {{node.begin, middle, node.depth + 1, child_id(node.id, 0), left},
                {middle, node.end, node.depth + 1, child_id(node.id, 1), right}};
    }

    int sign_of(std::uint32_t feature) const { return growth_.monotonic.empty() ? 0 : growth_.monotonic[feature]; }

    // In a sparse table, features that are zero in all rows of a node cannot cut it.
    void skip_unfilled(const Node& node, FeatureSet dead) {
        if (codes_.filled.is_empty()) {
            return;
        }
        const std::span<const std::uint32_t> ids(ids_ + node.begin, node.n_rows());
        reader_.find_places(node.begin, ids);
        if constexpr (kCountsClasses) {
            counts_.assign(codes_.n_classes, 0);
            for (std::uint32_t i = node.begin; i < node.end; ++i) {
                counts_[payloads_[i] >> 16] += payloads_[i] & Model::Labels::kMaxCount;
            }
        }
        const std::size_t mean = codes_.filled.features.size() / codes_.n_rows + 1;
        if (ids.size() * mean > codes_.columns.size()) {
            return;  // most features are not zero somewhere
        }
        filled_.assign(n_set_words_, 0);
        FeatureSet seen(filled_.data());
        for (const std::uint32_t rank : ids) {
            for (const std::uint32_t feature : codes_.filled.features_of(rank)) {
                seen.add(feature);
            }
        }
        dead.add_all_but(seen, n_set_words_);
    }

    std::optional<Split> best_split(const Node& node, FeatureSet dead) {
        skip_unfilled(node, dead);
        if (growth_.random_cuts) {
            return best_random_split(node, dead);
        }
        if constexpr (kHasLanes<Model>) {
            if (!has_categories_ && growth_.monotonic.empty() &&
                model_.searches_lanes(node.n_rows(), growth_.max_features)) {
                return best_split_of_lanes(node, dead);
            }
        }
        return best_split_one_by_one(node, dead);
    }

    // Looks at max_features features that can cut the node, in the order of the draw.
    std::optional<Split> best_split_one_by_one(const Node& node, FeatureSet dead) {
        const double perfect = model_.perfect(payloads_ + node.begin, node.n_rows());
        std::optional<Split> best;
        std::uint32_t n_looked_at = 0;
        draw_.begin({seed_, node.id, number_, kPurposeFeatures}, growth_.max_features);
        while (n_looked_at < growth_.max_features && !draw_.is_empty()) {
            const std::uint32_t feature = draw_.next();
            if (dead.has(feature)) {
                continue;
            }
            work_.check();
            const double to_beat = best ? best->cut.score : kNoScore;
            const int spare = 1 - kept_;
            const RuledCuts found = search(feature, node, spare, to_beat);
            const FeatureCuts& cuts = found.cuts;
            if (!cuts.is_admissible) {
                // Three categories may come in another order in a child, and some cut be admissible there.
                const bool stays = !is_categorical(feature) || limits_.admit_all() || category_order_.n_slots() < 3;
                if (found.is_dead && stays) {
                    dead.add(feature);
                }
                continue;
            }
            ++n_looked_at;
            if (cuts.best.score != kNoScore && (!best || cuts.best.beats_earlier_feature(best->cut))) {
                best = split_of(feature, found);
                best->order = order_searched_;
                kept_ = spare;  // the winner's codes will divide the rows
            }
            // What comes later can only tie, and would lose: two rows can be divided in one way.
            if (node.n_rows() == 2 || (best && best->cut.score >= perfect)) {
                break;
            }
        }
        draw_.end();
        return best;
    }

    // The same, several features at once.
    std::optional<Split> best_split_of_lanes(const Node& node, FeatureSet dead) {
        const std::span<const std::uint32_t> ids{ids_ + node.begin, node.n_rows()};
        std::optional<Split> best;
        std::uint32_t n_looked_at = 0;
        draw_.begin({seed_, node.id, number_, kPurposeFeatures}, growth_.max_features);
        while (n_looked_at < growth_.max_features && !draw_.is_empty()) {
            std::array<std::uint32_t, LaneCodes::kLanes> features;
            std::uint32_t n_lanes = 0;
            lane_codes_.clear(node.n_rows());
            while (n_lanes < std::min<std::size_t>(features.size(), growth_.max_features - n_looked_at) &&
                   !draw_.is_empty()) {
                const std::uint32_t feature = draw_.next();
                if (!dead.has(feature)) {
                    reader_.read_lane(feature, node.begin, ids, lane_codes_.lane(n_lanes));
                    features[n_lanes++] = feature;
                }
            }
            const LaneCuts cuts = model_.search_lanes(lane_codes_, payloads_ + node.begin, node.n_rows(), n_lanes,
                                                      best ? best->cut.score : kNoScore);
            for (std::uint32_t lane = 0; lane < n_lanes; ++lane) {
                if (cuts.admissible >> lane & 1) {
                    ++n_looked_at;
                } else {
                    dead.add(features[lane]);
                }
            }
            const Candidate& cut = cuts.best.best;
            if (cut.score != kNoScore && (!best || cut.beats_earlier_feature(best->cut))) {
                best = Split{.feature = features[cuts.lane], .cut = cut, .has_missing = cuts.best.has_missing};
            }
        }
        draw_.end();
        if (best) {
            gather(best->feature, node, kept_);
        }
        return best;
    }

    // The same where cuts are drawn. Several features are looked at together: while the processor waits for the memory
    // of one, it gets on with the others.
    std::optional<Split> best_random_split(const Node& node, FeatureSet dead) {
        const double perfect = model_.perfect(payloads_ + node.begin, node.n_rows());
        std::optional<Split> best;
        std::uint32_t n_looked_at = 0;
        draw_.begin({seed_, node.id, number_, kPurposeFeatures}, growth_.max_features);
        bool is_done = false;
        while (!is_done && n_looked_at < growth_.max_features && !draw_.is_empty()) {
            const std::span<const Look> looks = take_looks(node, dead, growth_.max_features - n_looked_at);
            std::array<std::uint32_t, kPhiloxBlock> pairs{};
            std::transform(looks.begin(), looks.end(), pairs.begin(), [](const Look& look) { return look.feature; });
            const DrawBlock draws = draw_block_of_pairs({seed_, node.id, number_, kPurposeCuts}, pairs);
            for (std::size_t i = 0; i < looks.size() && !is_done; ++i) {
                work_.check();
                const RuledCuts found = search_random_of(looks[i], node, draws[2 * i], draws[2 * i + 1]);
                if (!found.cuts.is_admissible) {
                    continue;
                }
                ++n_looked_at;
                if (!best || found.cuts.best.beats_earlier_feature(best->cut)) {
                    best = split_of(looks[i].feature, found);
                    kept_ = looks[i].buffer;
                }
                is_done = node.n_rows() == 2 || best->cut.score >= perfect;
            }
        }
        draw_.end();
        return best;
    }

    // Draws up to `most` features that are not constant, and gathers their codes.
    std::span<const Look> take_looks(const Node& node, FeatureSet dead, std::uint32_t most) {
        const std::size_t wanted = node.n_rows() <= kMostTogether ? std::min<std::size_t>(most, looks_.size()) : 1;
        std::size_t n = 0;
        int buffer = 0;
        while (n < wanted && !draw_.is_empty()) {
            const std::uint32_t feature = draw_.next();
            if (dead.has(feature)) {
                continue;
            }
            buffer += buffer == kept_;  // which holds the best so far
            gather(feature, node, buffer);
            const CodeRange range =
                with_codes(feature, buffer, [&](const auto* codes) { return range_of(codes, node.n_rows()); });
            if (!Look::is_of_use(range)) {
                dead.add(feature);
                continue;
            }
            values_[feature].prefetch(range);
            looks_[n++] = {feature, buffer++, range};
        }
        return {looks_.data(), n};
    }

    RuledCuts search_random_of(const Look& look, const Node& node, std::uint64_t place, std::uint64_t side) {
        const Direction direction{sign_of(look.feature), node.promise};
        const Payload* payloads = payloads_ + node.begin;
        return with_codes(look.feature, look.buffer, [&](const auto* codes) {
            return search_random(model_, direction, values_[look.feature], look.range, codes, payloads, node.n_rows(),
                                 place, side);
        });
    }

    static Split split_of(std::uint32_t feature, const RuledCuts& found) {
        return {.feature = feature,
                .cut = found.cuts.best,
                .has_missing = found.cuts.has_missing,
                .threshold = found.threshold,
                .middle = found.middle};
    }

    RuledCuts search(std::uint32_t feature, const Node& node, int buffer, double to_beat) {
        if constexpr (kCountsClasses) {
            if (const std::uint32_t n = sign_of(feature) == 0 ? gather_filled(feature, node, buffer) : 0) {
                return with_codes(feature, buffer, [&](const auto* codes) -> RuledCuts {
                    return {.cuts = model_.search(codes, few_payloads_.data(), n, to_beat)};
                });
            }
        }
        gather(feature, node, buffer);
        if (is_categorical(feature)) {
            return {.cuts = search_categories(feature, node, buffer, to_beat)};
        }
        const Payload* payloads = payloads_ + node.begin;
        const Direction direction{sign_of(feature), node.promise};
        return with_codes(feature, buffer, [&](const auto* codes) -> RuledCuts {
            using Code = std::remove_cvref_t<decltype(*codes)>;
            if (direction.sign != 0) {
                return ConstrainedSearch<Code, Model>(model_, direction, codes, payloads, node.n_rows(), sorted_).run();
            }
            return {.cuts = model_.search(codes, payloads, node.n_rows(), to_beat)};
        });
    }

    // ---- Categories: their codes become places in an order, which is cut like numbers

    bool is_categorical(std::uint32_t feature) const { return codes_.columns[feature].is_categorical; }

    // Searches every order of the categories. The buffer, and order_searched_, are left as the best cut needs them.
    FeatureCuts search_categories(std::uint32_t feature, const Node& node, int buffer, double to_beat) {
        const Payload* payloads = payloads_ + node.begin;
        return with_codes(feature, buffer, [&](auto* codes) {
            using Code = std::remove_cvref_t<decltype(*codes)>;
            const std::uint32_t n = node.n_rows();
            const std::uint32_t n_orders = model_.n_orders();
            category_order_.number_slots(codes, n);
            Code* slots = codes;
            if (n_orders > 1) {
                slots_.resize(std::max<std::size_t>(slots_.size(), n));
                slots = reinterpret_cast<Code*>(slots_.data());
                std::copy_n(codes, n, slots);
            }
            std::vector<std::uint32_t>& code_at = code_at_[static_cast<std::size_t>(buffer)];
            const auto put = [&](std::uint32_t order) {
                category_order_.put_in_order(model_, order, slots, payloads, n, codes, code_at);
            };
            put(0);
            FeatureCuts found = model_.search(codes, payloads, n, to_beat);
            order_searched_ = 0;
            for (std::uint32_t order = 1; order < n_orders; ++order) {
                put(order);
                const FeatureCuts cuts = model_.search(codes, payloads, n, std::max(to_beat, found.best.score));
                found.is_admissible |= cuts.is_admissible;
                if (cuts.best.beats_earlier_order(found.best)) {
                    found.best = cuts.best;
                    order_searched_ = order;
                }
            }
            if (order_searched_ + 1 != n_orders) {
                put(order_searched_);
            }
            return found;
        });
    }

    // Replaces codes by their places in one order; the model has looked at the node.
    void put_in_order(std::uint32_t feature, const Node& node, int buffer, std::uint32_t order) {
        with_codes(feature, buffer, [&](auto* codes) {
            category_order_.number_slots(codes, node.n_rows());
            category_order_.put_in_order(model_, order, codes, payloads_ + node.begin, node.n_rows(), codes,
                                         code_at_[static_cast<std::size_t>(buffer)]);
        });
    }

    // Writes down the categories that the lighter child saw: all others go to the heavier one.
    void keep_set(Split& split) {
        const std::vector<std::uint32_t>& code_at = code_at_[static_cast<std::size_t>(kept_)];
        const std::vector<double>& category = codes_.columns[split.feature].lows;
        const std::size_t n_left =
            split.cut.cuts_off_missing() ? code_at.size() : split.cut.last_left() + std::size_t{1};
        split.set_begin = sets_.size();
        const auto middle = code_at.begin() + static_cast<std::ptrdiff_t>(std::min(n_left, code_at.size()));
        const auto write = [&](std::uint32_t code) { sets_.push_back(static_cast<std::uint32_t>(category[code])); };
        if (split.cut.left_is_heavier) {
            std::for_each(middle, code_at.end(), write);
        } else {
            std::for_each(code_at.begin(), middle, write);
        }
        split.set_end = sets_.size();
        std::sort(sets_.begin() + static_cast<std::ptrdiff_t>(split.set_begin), sets_.end());
    }

    void write_set(const Split& split) {
        tree_.flags.back() |= kCategorical | (split.cut.left_is_heavier ? kOthersLeft : 0);
        tree_.set_length.push_back(static_cast<std::uint32_t>(split.set_end - split.set_begin));
        tree_.category_sets.insert(tree_.category_sets.end(),
                                   sets_.begin() + static_cast<std::ptrdiff_t>(split.set_begin),
                                   sets_.begin() + static_cast<std::ptrdiff_t>(split.set_end));
    }

    // In a sparse table the rows of a large node that are zero differ in nothing but their classes. So only the others
    // are gathered, and rows that stand for all the zero ones of a class. Returns their number; 0: that does not pay.
    std::uint32_t gather_filled(std::uint32_t feature, const Node& node, int buffer) {
        const Filled& filled = codes_.filled;
        constexpr std::uint32_t kMostCount = Model::Labels::kMaxCount;
        if (filled.is_empty() || node.n_rows() <= kMostSorted ||  // few rows have searches of their own
            filled.cells_of(feature).size() + codes_.n_classes + 64 > node.n_rows() / 2) {
            return 0;
        }
        few_payloads_.clear();
        zero_counts_ = counts_;
        with_codes(feature, buffer, [&](auto* to) {
            using Code = std::remove_cvref_t<decltype(*to)>;
            reader_.for_filled(feature, node.begin, {ids_ + node.begin, node.n_rows()},
                               [&](std::uint32_t place, std::uint32_t code) {
                                   const Payload payload = payloads_[node.begin + place];
                                   zero_counts_[payload >> 16] -= payload & kMostCount;
                                   *to++ = static_cast<Code>(code);
                                   few_payloads_.push_back(payload);
                               });
            for (std::uint32_t k = 0; k < codes_.n_classes; ++k) {
                push_counted(zero_counts_[k], kMostCount, [&](std::uint32_t count) {
                    *to++ = static_cast<Code>(filled.zero_codes[feature]);
                    few_payloads_.push_back(Model::Labels::pack(k, count));
                });
            }
        });
        const auto n = static_cast<std::uint32_t>(few_payloads_.size());
        few_payloads_.resize(n + kMostSorted);  // keys are made in whole vectors
        return n;
    }

    // Codes of one or two bytes are handled as two, others as four.
    template <class Use>
    auto with_codes(std::uint32_t feature, int buffer, Use&& use) {
        std::uint32_t* codes = buffers_[static_cast<std::size_t>(buffer)].data();
        return codes_.columns[feature].width == 4 ? use(codes) : use(reinterpret_cast<std::uint16_t*>(codes));
    }

    void gather(std::uint32_t feature, const Node& node, int buffer) {
        with_codes(feature, buffer,
                   [&](auto* to) { reader_.read(feature, node.begin, {ids_ + node.begin, node.n_rows()}, to); });
    }

    // Finds the codes beside the cut, and where missing values go, from the winner's codes.
    void place(const Node& node, Split& split) {
        split.missing_left = split.has_missing ? split.cut.missing_left() : split.cut.left_is_heavier;
        if (is_categorical(split.feature)) {
            keep_set(split);
            return;
        }
        if (growth_.random_cuts || split.cut.cuts_off_missing()) {
            return;
        }
        with_codes(split.feature, kept_, [&](const auto* codes) {
            using Code = std::remove_cvref_t<decltype(*codes)>;
            const auto cut = static_cast<Code>(split.cut.last_left());
            Code below = 0;
            Code above = kMissing<Code>;  // which is never the least
            for (std::uint32_t i = 0; i < node.n_rows(); ++i) {
                const auto goes_left = static_cast<Code>(-(codes[i] <= cut));  // all bits, or none
                const auto low = static_cast<Code>(codes[i] & goes_left);
                const auto high = static_cast<Code>(codes[i] | goes_left);
                below = low > below ? low : below;
                above = high < above ? high : above;
            }
            split.below = below;
            split.above = above;
        });
    }

    // Thresholds are looked up when the tree is grown: all at once, the processor can wait for many of them together.
    void write_thresholds(Part& part) const {
        for (std::size_t i = 0; i < part.tree.n_nodes(); ++i) {
            if (part.tree.feature[i] < 0) {
                continue;
            }
            const auto feature = static_cast<std::size_t>(part.tree.feature[i]);
            if (codes_.columns[feature].is_categorical) {
                continue;
            }
            const auto [below, above] = part.beside[i];
            if (above == kNothingAbove) {
                part.tree.threshold[i] = std::numeric_limits<double>::infinity();
            } else if (growth_.random_cuts) {
                part.tree.threshold[i] = values_[feature].threshold(part.tree.threshold[i]);
            } else {
                const Column& column = codes_.columns[feature];
                part.tree.threshold[i] = place_threshold(column.highs[below], column.lows[above]);
            }
        }
    }

    std::uint32_t divide(const Node& node, const Split& split, int buffer) {
        return with_codes(split.feature, buffer, [&](const auto* codes) {
            return node.begin + partition_rows(codes, split.cut, ids_ + node.begin, payloads_ + node.begin,
                                               node.n_rows(), partition_scratch_);
        });
    }

    void write_node(const Node& node, const std::optional<Split>& split) {
        tree_.feature.push_back(split ? static_cast<std::int32_t>(split->feature) : -1);
        tree_.threshold.push_back(split ? split->threshold : 0.0);
        beside_.push_back(split ? Beside{split->below, split->cut.cuts_off_missing() ? kNothingAbove : split->above}
                                : Beside{});
        tree_.right.push_back(0);
        tree_.flags.push_back(split && split->missing_left ? kMissingLeft : 0);
        if (split && is_categorical(split->feature)) {
            write_set(*split);
        }
        tree_.size.push_back(static_cast<std::uint32_t>(model_.size()));
        tree_.weight.push_back(static_cast<double>(model_.weight()));
        tree_.decrease.push_back(split ? split->decrease : 0.0);
        model_.write_node(tree_, payloads_ + node.begin, node.n_rows(), !split);
        if (!growth_.monotonic.empty()) {
            model_.write_value(tree_, node.promise);
        }
    }

    double decrease_in_user_units(double decrease) const { return model_.in_user_units(decrease); }

    const Codes& codes_;
    const Growth& growth_;
    Model model_;
    const Work& work_;
    CodeReader reader_;
    FeatureDraw draw_;
    Interactions interactions_;
    std::size_t n_set_words_;  // of a set of features
    std::size_t n_words_;      // of what is handed down
    bool has_categories_;
    std::vector<ValueIndex> values_;     // by feature, where cuts are drawn
    std::vector<std::uint64_t> sorted_;  // rows of a node by a feature that must rise or fall
    Limits limits_;
    double root_weight_ = 0;
    std::uint64_t seed_ = 0;
    std::uint32_t number_ = 0;
    TreeArrays tree_;
    std::vector<Beside> beside_;  // by node
    std::uint32_t* ids_ = nullptr;
    Payload* payloads_ = nullptr;
    PartitionScratch<Payload> partition_scratch_;
    LaneCodes lane_codes_;
    std::vector<std::uint64_t> dead_;                  // features that cannot cut, level by level
    std::vector<std::vector<std::uint32_t>> buffers_;  // codes of the features at hand, and of the best so far
    int kept_ = 0;                                     // which of them is the best's
    std::array<Look, kPhiloxBlock> looks_{};
    std::vector<std::uint64_t> filled_;       // features that are not zero in all rows of a node
    std::vector<std::uint32_t> counts_;       // by class, of a node of a sparse table
    std::vector<std::uint32_t> zero_counts_;  // of those rows that a feature does not fill
    std::vector<Payload> few_payloads_;       // of the rows that stand for the node
    CategoryOrder<Model> category_order_;
    std::array<std::vector<std::uint32_t>, 2> code_at_;  // the code at each place of the order, for each buffer
    std::uint32_t order_searched_ = 0;                   // the order of the best cut of the feature at hand
    std::vector<std::uint32_t> slots_;                   // where several orders are searched
    std::vector<std::uint32_t> sets_;                    // categories of the splits found
    std::size_t n_nodes_before_ = 0;                     // of the tree grown before: a guess at this one's
};

// ------------------------------------------------------------------------------------------- what a tree is given

bool in_fixed_point(const Codes& codes, const Growth& growth) {
    return !growth.bootstrap && !codes.weights_are_copies();
}

std::uint64_t line_weight(const Codes& codes, std::size_t rank) {
    return codes.line.empty() ? 1 : codes.line[rank];
}

std::vector<std::uint32_t> sizes_of(const Codes& codes, const Growth& growth, const BagDrawer& drawer,
                                    std::uint64_t seed, std::uint32_t tree) {
    if (growth.bootstrap) {
        return drawer.draw(seed, tree);
    }
    std::vector<std::uint32_t> sizes(codes.n_rows, 1);
    if (codes.weights_are_copies() && !codes.line.empty()) {
        std::transform(codes.line.begin(), codes.line.end(), sizes.begin(),
                       [](std::uint64_t n) { return static_cast<std::uint32_t>(n); });
    }
    return sizes;
}

// Weights of the classes as floats, or nothing where classes weigh the same.
std::vector<double> class_weights(const Codes& codes, const Growth& growth, const std::vector<std::uint32_t>& sizes) {
    switch (growth.class_weight) {
        case ClassWeight::none:
            return {};
        case ClassWeight::given:
            return growth.class_weights;
        default:
            break;
    }
    const bool of_bag = growth.class_weight == ClassWeight::bag && growth.bootstrap;
    std::vector<std::uint64_t> of_class(codes.n_classes);
    for (std::size_t r = 0; r < codes.n_rows; ++r) {
        of_class[static_cast<std::size_t>(codes.classes[r])] += of_bag ? sizes[r] : line_weight(codes, r);
    }
    return balanced_weights(of_class);
}

// Weights in fixed point, those of the classes included.
std::vector<std::uint64_t> fixed_weights(const Codes& codes, const std::vector<double>& of_class) {
    std::vector<double> weights = codes.weights;
    if (!of_class.empty()) {
        for (std::size_t r = 0; r < weights.size(); ++r) {
            weights[r] *= of_class[static_cast<std::size_t>(codes.classes[r])];
        }
    }
    return fixed_point(weights);
}

// ------------------------------------------------------------------------------------------------------ all trees

struct Order {
    const Codes& codes;
    const Growth& growth;
    std::uint64_t seed;
    std::uint32_t first_tree;
    std::uint32_t n_trees;
    Work& work;
};

// A tree that several threads grow together.
template <class Model>
struct SharedTree {
    typename Grower<Model>::Tree tree;
    Model model;  // with the weights of this tree
    typename Grower<Model>::Part root;
    std::atomic<std::size_t> n_open{1};  // parts that are not grown

    explicit SharedTree(const Model& like) : model(like) {}
};

// Grows all trees. Each thread keeps one grower, and its memory, for all its trees; `fill` gives a grower's tree its
// rows. Where trees do not go evenly into threads, the last ones
// are grown together.
template <class Model, class Fill>
class Nursery {
  public:
    Nursery(const Order& order, const Model& model, const Fill& fill)
        : order_(order),
          model_(model),
          fill_(fill),
          drawer_(order.codes, order.growth),
          growers_(order.work.n_threads()) {}

    GrownTrees grow() {
        grown_.trees.resize(order_.n_trees);
        const std::size_t n_threads = order_.work.n_threads();
        const bool together =
            n_threads > 1 && order_.growth.max_leaf_nodes == 0 && order_.codes.n_rows >= 4 * kLeastGiven;
        const std::size_t left_over = order_.n_trees % n_threads;
        const std::size_t n_together =
            together && left_over != 0 ? std::min<std::size_t>(order_.n_trees, left_over + n_threads) : 0;
        for (std::size_t i = order_.n_trees; i-- > 0;) {  // the first on top
            tasks_.push([this, i, alone = i < order_.n_trees - n_together](std::size_t thread) {
                alone ? grow_alone(i, thread) : grow_together(i, thread);
            });
        }
        tasks_.run(order_.work, [&] { return static_cast<double>(n_done_) / static_cast<double>(order_.n_trees); });
        return std::move(grown_);
    }

  private:
    using TheGrower = Grower<Model>;

    void grow_alone(std::size_t i, std::size_t thread) {
        TheGrower& grower = grower_of(thread);
        auto& tree = trees_of_[thread];
        plant(i, grower, tree);
        grown_.trees[i] = grower.grow(tree);
        ++n_done_;
    }

    void grow_together(std::size_t i, std::size_t thread) {
        auto shared = std::make_shared<SharedTree<Model>>(model_);
        plant(i, grower_of(thread), shared->tree);
        shared->model.weigh_like(grower_of(thread).model());
        grower_of(thread).begin(shared->tree);
        grow_part(i, shared, {TheGrower::root_of(shared->tree), grower_of(thread).known_at_root(), &shared->root},
                  thread);
    }

    void grow_part(std::size_t i, const std::shared_ptr<SharedTree<Model>>& shared,
                   const typename TheGrower::Offer& offer, std::size_t thread) {
        TheGrower& grower = grower_of(thread);
        grower.model().weigh_like(shared->model);
        grower.grow_part(shared->tree, offer.node, offer.dead, *offer.part, [&](typename TheGrower::Offer given) {
            ++shared->n_open;
            tasks_.push(
                [this, i, shared, given = std::move(given)](std::size_t of) { grow_part(i, shared, given, of); });
        });
        if (--shared->n_open == 0) {
            grown_.trees[i] = grower.finish(std::move(shared->root));
            ++n_done_;
        }
    }

    // Gives a tree its rows.
    void plant(std::size_t i, TheGrower& grower, typename TheGrower::Tree& tree) {
        tree.seed = order_.seed;
        tree.number = order_.first_tree + static_cast<std::uint32_t>(i);
        tree.rows.clear();
        fill_(grower.model(), tree.rows, sizes_of(order_.codes, order_.growth, drawer_, tree.seed, tree.number));
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
    Tasks tasks_;
    GrownTrees grown_;
    std::atomic<std::size_t> n_done_{0};
};

template <class Model, class Fill>
GrownTrees grow_all(const Order& order, const Model& model, const Fill& fill) {
    return Nursery<Model, Fill>(order, model, fill).grow();
}

template <class Model>
GrownTrees grow_counted_classes(const Order& order, const Model& model) {
    using Labels = typename Model::Labels;
    const Codes& codes = order.codes;
    return grow_all(order, model, [&](auto& model_of_tree, auto& rows, const std::vector<std::uint32_t>& sizes) {
        const std::vector<double> of_class = class_weights(codes, order.growth, sizes);
        model_of_tree.set_scales(of_class.empty() ? std::vector<std::uint64_t>(codes.n_classes, 1)
                                                  : class_scales(of_class));
        for (std::uint32_t r = 0; r < codes.n_rows; ++r) {
            push_counted(sizes[r], Labels::kMaxCount, [&](std::uint32_t count) {
                rows.add(r, Labels::pack(static_cast<std::uint32_t>(codes.classes[r]), count));
            });
        }
    });
}

template <class Criterion>
GrownTrees grow_classes(const Order& order) {
    const Codes& codes = order.codes;
    if (!in_fixed_point(codes, order.growth)) {
        return codes.n_classes == 2
                   ? grow_counted_classes(order, TwoClassModel<Criterion>())
                   : grow_counted_classes(order, ManyClassModel<CountedClasses, Criterion>(codes.n_classes));
    }
    const ManyClassModel<WeightedClasses, Criterion> model(codes.n_classes);
    return grow_all(order, model, [&](auto&, auto& rows, const std::vector<std::uint32_t>& sizes) {
        const std::vector<std::uint64_t> weights = fixed_weights(codes, class_weights(codes, order.growth, sizes));
        for (std::uint32_t r = 0; r < codes.n_rows; ++r) {
            rows.add(r, {weights[r], static_cast<std::uint32_t>(codes.classes[r])});
        }
    });
}

template <class Criterion>
GrownTrees grow_numbers(const Order& order) {
    const Codes& codes = order.codes;
    const bool fixed = in_fixed_point(codes, order.growth);
    const Numbers numbers = fix_target(codes.numbers, !fixed, order.growth.n_draws);
    GrownTrees grown;
    if (fixed) {
        const NumberModel<WeightedNumbers, Criterion> model({}, numbers.center, numbers.exponent);
        grown = grow_all(order, model, [&](auto&, auto& rows, const std::vector<std::uint32_t>&) {
            const std::vector<std::uint64_t> weights = fixed_weights(codes, {});
            for (std::uint32_t r = 0; r < codes.n_rows; ++r) {
                rows.add(r, {numbers.q[r], static_cast<std::int64_t>(weights[r])});
            }
        });
    } else {
        const CountedNumbers labels{static_cast<unsigned>(std::bit_width(order.growth.n_draws))};
        const NumberModel<CountedNumbers, Criterion> model(labels, numbers.center, numbers.exponent);
        grown = grow_all(order, model, [&](auto&, auto& rows, const std::vector<std::uint32_t>& sizes) {
            for (std::uint32_t r = 0; r < codes.n_rows; ++r) {
                if (sizes[r] != 0) {
                    rows.add(r, labels.pack(numbers.q[r], sizes[r]));
                }
            }
        });
    }
    grown.target_center = numbers.center;
    grown.target_exponent = numbers.exponent;
    return grown;
}

// Calls visit.operator()<Criterion>() for each criterion of a list.
template <class Criteria, class Visit>
void for_each_criterion(Visit&& visit) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        (visit.template operator()<std::tuple_element_t<I, Criteria>>(), ...);
    }(std::make_index_sequence<std::tuple_size_v<Criteria>>());
}

}  // namespace

std::vector<std::pair<std::string, bool>> criteria() {
    std::vector<std::pair<std::string, bool>> names;
    for_each_criterion<ClassCriteria>([&]<class Criterion>() { names.emplace_back(Criterion::name, true); });
    for_each_criterion<NumberCriteria>([&]<class Criterion>() { names.emplace_back(Criterion::name, false); });
    return names;
}

GrownTrees grow_trees(const Codes& codes, const Growth& growth, std::uint64_t seed, std::uint32_t first_tree,
                      std::uint32_t n_trees, Work& work) {
    const Order order{codes, growth, seed, first_tree, n_trees, work};
    std::optional<GrownTrees> grown;
    if (codes.n_classes != 0) {
        for_each_criterion<ClassCriteria>([&]<class Criterion>() {
            if (growth.criterion == Criterion::name)
                grown = grow_classes<Criterion>(order);
        });
    } else {
        for_each_criterion<NumberCriteria>([&]<class Criterion>() {
            if (growth.criterion == Criterion::name)
                grown = grow_numbers<Criterion>(order);
        });
    }
    if (!grown) {
        throw std::invalid_argument("no criterion '" + growth.criterion + "' for this target");
    }
    return std::move(*grown);
}

std::vector<std::uint32_t> bag_sizes(const Codes& codes, const Growth& growth, std::uint64_t seed, std::uint32_t tree) {
    return sizes_of(codes, growth, BagDrawer(codes, growth), seed, tree);
}

}  // namespace weald
