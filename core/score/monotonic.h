// Monotonic constraints: the direction of a feature, and the bounds of the predictions below a node.
//
//   ValueBounds    the range of predictions below a node
//   Direction      the direction of one feature in one node
//   RuledCuts      the result of a search with constraints or random cuts
//
// The value of a side is the fraction of the second of two classes, or the mean in units of the target's integers.

#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include "score/candidate.h"

namespace weald {

struct ValueBounds {
    double lower = -std::numeric_limits<double>::infinity();
    double upper = std::numeric_limits<double>::infinity();

    double keep(double value) const { return std::min(std::max(value, lower), upper); }
    // The bounds of the left and the right child: they meet at the midpoint of their values.
    std::pair<ValueBounds, ValueBounds> divided(int sign, double middle) const {
        const ValueBounds below{lower, middle};
        const ValueBounds above{middle, upper};
        return sign > 0 ? std::pair(below, above) : std::pair(above, below);
    }
};

// Values of the two sides of a cut.
struct SideValues {
    double left;
    double right;

    double middle() const { return left / 2 + right / 2; }
};

struct Direction {
    int sign = 0;  // 1 increasing, -1 decreasing, 0 unconstrained
    ValueBounds bounds;

    bool admits(const SideValues& values) const {
        const double low = sign > 0 ? values.left : values.right;
        const double high = sign > 0 ? values.right : values.left;
        return bounds.lower <= low && low <= high && high <= bounds.upper;
    }
};

struct RuledCuts {
    FeatureCuts cuts;
    double middle = 0;        // between the values of the best cut's sides
    double threshold = 0;     // threshold of a random cut
    bool is_constant = true;  // the feature also cannot cut the nodes below
};

}  // namespace weald
