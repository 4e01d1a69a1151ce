// A check of an argument.

#pragma once

#include <stdexcept>

namespace weald {

inline void require(bool condition, const char* what) {
    if (!condition) [[unlikely]] {
        throw std::invalid_argument(what);
    }
}

}  // namespace weald
