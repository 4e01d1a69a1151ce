// Common parts of all methods to find the split of a node.

#pragma once

#include <cstdint>
#include <utility>

#include "base/threads.h"
#include "base/weights.h"
#include "coding/codes.h"
#include "draw/bag.h"
#include "draw/cut_by_sets.h"
#include "draw/feature_draw.h"
#include "draw/tree_params.h"
#include "rows/node_codes.h"
#include "rows/tree_rows.h"
#include "score/monotonic.h"
#include "search/categories.h"
#include "targets/target_model.h"
#include "tree/node.h"

namespace weald {

template <TargetModel Model>
struct SplitParts {
    using Payload = typename Model::Payload;

    SplitParts(const Codes& the_codes, const Growth& the_growth, Model the_model, const Work& the_work)
        : codes(the_codes),
          growth(the_growth),
          work(the_work),
          model(std::move(the_model)),
          node_codes(the_codes, the_growth),
          draw(static_cast<std::uint32_t>(the_codes.columns.size()), feature_scales(the_growth.feature_weights),
               the_growth.ties_by_column) {}

    const Codes& codes;
    const Growth& growth;
    const Work& work;
    Model model;
    NodeCodes node_codes;
    CategorySearch<Model> categories;
    FeatureDraw draw;
    TreeInTraining<Payload>* tree = nullptr;
    int kept = 0;  // the buffer of the best feature so far: its codes are used to partition the rows

    bool is_categorical(std::uint32_t feature) const { return is_cut_by_sets(codes.columns[feature], growth); }
    int sign_of(std::uint32_t feature) const { return growth.monotonic.empty() ? 0 : growth.monotonic[feature]; }

    void begin_draw(const Node& node) {
        // Two rows can be divided in one way: the first feature that distinguishes them is the best.
        draw.begin({tree->seed, node.id, tree->number, kPurposeFeatures}, growth.max_features, node.n_rows() == 2);
    }
    void gather(std::uint32_t feature, const Node& node, int buffer) {
        node_codes.gather(feature, node, tree->ids(node), buffer);
    }

    static Split split_of(std::uint32_t feature, const RuledCuts& found) {
        return {.feature = feature,
                .cut = found.cuts.best,
                .has_missing = found.cuts.has_missing,
                .threshold = found.threshold,
                .middle = found.middle};
    }
};

}  // namespace weald
