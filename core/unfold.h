// A forest from the small arrays of a file: what was left out there, since it follows from the rest, is computed again.
//
//   unfold      checks every number before it is used, and makes the arrays that Python keeps
//
// docs/files.md lists the arrays and what is guessed from them. src/weald/filing/guesses.py makes the same guesses when
// a file is written: + - * / of doubles, whole numbers modulo 2^64, ldexp and rint, so they are the same everywhere.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "folded.h"
#include "threads.h"

namespace weald {

enum class Rule { none, gini, entropy, misclassification, squared_error };

// What is known before the arrays are looked at.
struct FoldedHead {
    std::uint32_t n_features = 0;
    std::uint32_t n_classes = 0;  // 0: regression
    std::size_t n_trees = 0;
    std::size_t n_nodes = 0;
    double center = 0;
    int exponent = 0;
    Rule rule = Rule::none;  // by which decreases are foretold
    bool is_bound = false;
    std::size_t most_depth = 0;
};

struct Unfolded {
    std::vector<std::int64_t> tree_start;
    std::vector<std::int32_t> feature;
    std::vector<double> threshold;
    std::vector<std::int32_t> right;
    std::vector<std::uint8_t> flags;
    std::vector<std::uint32_t> size;
    std::vector<double> weight;
    std::vector<double> decrease;
    std::vector<std::int64_t> leaf_start;
    std::vector<std::int32_t> leaf_class;
    std::vector<double> leaf_weight;
    std::vector<double> value;
    std::vector<double> impurity;
    std::vector<std::int64_t> category_start;
    std::vector<std::uint32_t> category_sets;
    std::vector<double> tree_weight;
};

// Throws std::invalid_argument where the arrays do not make a forest.
Unfolded unfold(const FoldedHead& head, Columns columns, Work& work);

}  // namespace weald
