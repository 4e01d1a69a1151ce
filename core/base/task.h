// The kind of target.

#pragma once

#include <cstdint>

namespace weald {

// A new kind of target is a new member here; no other code distinguishes them.
enum class Task { classification, regression };

// The task of a target with this number of classes; 0 means regression.
constexpr Task task_of(std::uint32_t n_classes) {
    return n_classes == 0 ? Task::regression : Task::classification;
}

}  // namespace weald
