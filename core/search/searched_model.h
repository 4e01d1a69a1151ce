// The part of a target model (targets/target_model.h) that searches use.

#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "score/candidate.h"
#include "score/monotonic.h"

namespace weald {

// The sum of the rows that go left.
template <class Model>
using LeftOf = std::remove_cvref_t<decltype(std::declval<Model&>().nothing())>;

// Payload                   stored next to a row's id
// Share                     sum over the rows of a category, by which categories are put in order
//
// search                    the best cut of the node by one feature, if it beats a score; codes have 2 or 4 bytes
// nothing, move             the left side of a cut: empty, and after adding or removing a row
// judge                     scores the cut with this left side, if it is admissible
// values                    predictions of both sides of a cut, for monotonic constraints
// n_orders                  orders in which the categories of the node are cut like numbers
// add_to_share, share       adds a row to its category; the place of a category in an order
template <class Model>
concept SearchedModel = requires(Model& model, const Model& node, const typename Model::Payload& payload,
                                 typename Model::Share& category, LeftOf<Model>& left, const std::uint16_t* narrow,
                                 const std::uint32_t* wide, std::uint32_t n, double to_beat, std::uint64_t place) {
    { model.search(narrow, &payload, n, to_beat) } -> std::same_as<FeatureCuts>;
    { model.search(wide, &payload, n, to_beat) } -> std::same_as<FeatureCuts>;
    { model.nothing() } -> std::convertible_to<LeftOf<Model>>;
    { node.move(left, payload, true) } -> std::same_as<void>;
    { model.judge(left, place) } -> std::same_as<std::optional<Candidate>>;
    { node.values(left) } -> std::same_as<SideValues>;
    { node.n_orders() } -> std::same_as<std::uint32_t>;
    { node.add_to_share(category, payload, n) } -> std::same_as<void>;
    { node.share(category) } -> std::same_as<double>;
};

}  // namespace weald
