#include "grow/grow_numbers.h"

#include <optional>
#include <utility>

namespace weald {

GrownTrees grow_other_numbers(const Order& order) {
    std::optional<GrownTrees> grown;
    for_each_criterion<NumberCriteria>([&]<class Criterion>() {
        if constexpr (!kIsSquaredError<Criterion>) {
            if (order.growth.criterion == Criterion::name) {
                grown = grow_numbers<Criterion>(order);
            }
        }
    });
    return std::move(*grown);
}

}  // namespace weald
