// The arrays of a forest by name: conversion to and from Python.

#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "arrays.h"
#include "tree/forest_arrays.h"
#include "tree/forest_view.h"

namespace weald {

inline nb::dict dict_of(ForestArrays arrays) {
    nb::dict found;
    for_arrays(arrays, [&](const char* name, auto& array) { found[name] = to_numpy(std::move(array)); });
    return found;
}

// Keeps the arrays of a forest alive while they are used.
class KeptForest {
  public:
    KeptForest(std::uint32_t n_features, std::uint32_t n_classes, const nb::dict& arrays) {
        view_.n_features = n_features;
        view_.n_classes = n_classes;
        for_walked_arrays(view_,
                          [&]<class T>(const char* name, std::span<const T>& array) { array = keep<T>(arrays[name]); });
    }

    const ForestView& view() const { return view_; }

    template <class T>
    std::span<const T> keep(nb::handle array) {
        const auto cast = nb::cast<Vector<T>>(array);
        kept_.emplace_back(cast);
        return span_of(cast);
    }

  private:
    ForestView view_;
    std::vector<nb::ndarray<>> kept_;
};

}  // namespace weald
