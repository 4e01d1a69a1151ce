// The kind of target.

#pragma once

#include <cstdint>

namespace weald {

// A new kind gets a member here; nothing else tells kinds apart.
enum class Task { classification, regression };

// Of a target with this number of classes; numeric targets have 0.
constexpr Task task_of(std::uint32_t n_classes) {
    return n_classes == 0 ? Task::regression : Task::classification;
}

}  // namespace weald
