// The interface of a target model: the code that depends on the kind of target.
//
// A model reads one node after the other, searches its cuts, and writes it. Fast searches of several features at once,
// or of inherited bins, are used for models with the required members (grow/lane_split.h,
// search/inherited_bins.h, search/binary.h).

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "score/monotonic.h"
#include "score/scores.h"
#include "search/searched_model.h"
#include "tree/tree.h"

namespace weald {

// Sums                     values of each node that are kept until the tree is grown
//
// weigh_like               copies the weights of a tree from another model
// look_at                  reads the rows of a node, which the members up to in_user_units refer to
// begin_search             before its features are searched
// is_pure, size, weight    all targets are equal; number of draws; weight
// weights_are_sizes        whether weights need not be written, since they are the sizes
// undivided                the score without a cut
// perfect                  a score that no cut exceeds
// mixed                    the gain of a cut into two pure sides
// decrease                 a decrease in score by the weight of the root, in units of impurity
// in_user_units            a decrease in units of the user's targets
//
// reserve                  memory for the entries of some nodes
// write_node               the node's entries in the tree
// write_value              its value, kept within bounds
// take_sums, finish        the sums of the nodes that were written; the entries that follow from them
template <class Model>
concept TargetModel =
    SearchedModel<Model> && std::copy_constructible<Model> && std::movable<typename Model::Sums> &&
    requires(Model& model, const Model& node, const typename Model::Payload* payloads, std::uint32_t n,
             const Limits& limits, double decrease, TreeArrays& tree, std::size_t n_nodes, const ValueBounds& bounds) {
        { model.weigh_like(node) } -> std::same_as<void>;
        { model.look_at(payloads, n) } -> std::same_as<void>;
        { model.begin_search(payloads, n, limits) } -> std::same_as<void>;
        { node.is_pure() } -> std::same_as<bool>;
        { node.size() } -> std::same_as<std::int64_t>;
        { node.weight() } -> std::same_as<std::uint64_t>;
        { node.weights_are_sizes() } -> std::same_as<bool>;
        { node.undivided() } -> std::same_as<double>;
        { node.perfect(payloads, n) } -> std::same_as<double>;
        { node.mixed(payloads, n) } -> std::same_as<double>;
        { node.decrease(decrease) } -> std::same_as<double>;
        { node.in_user_units(decrease) } -> std::same_as<double>;
        { model.reserve(tree, n_nodes) } -> std::same_as<void>;
        { model.write_node(tree, payloads, n, true) } -> std::same_as<void>;
        { node.write_value(tree, bounds) } -> std::same_as<void>;
        { model.take_sums() } -> std::same_as<typename Model::Sums>;
        { model.finish(tree, model.take_sums()) } -> std::same_as<void>;
    };

}  // namespace weald
