// The target models of a single target. targets/target_model.h defines their interface; targets/multi_output.h has the
// multi-output model.
//
//   TwoClassModel     two classes, counted
//   ManyClassModel    any number of classes, counted or weighted
//   NumberModel       regression, counted, weighted or wide
//   MedianModel       regression by absolute deviations from the median

#pragma once

#include "targets/many_classes.h"
#include "targets/medians.h"
#include "targets/regression.h"
#include "targets/target_model.h"
#include "targets/two_classes.h"

namespace weald {

static_assert(TargetModel<TwoClassModel<Gini>>);
static_assert(TargetModel<ManyClassModel<CountedClasses, Gini>>);
static_assert(TargetModel<ManyClassModel<WeightedClasses, Gini>>);
static_assert(TargetModel<NumberModel<CountedNumbers, SquaredError>>);
static_assert(TargetModel<NumberModel<WeightedNumbers, SquaredError>>);
static_assert(TargetModel<NumberModel<WideNumbers, SquaredError>>);
static_assert(TargetModel<NumberModel<CountedNumbers, Poisson>>);
static_assert(TargetModel<MedianModel<CountedNumbers>>);
static_assert(TargetModel<MedianModel<WeightedNumbers>>);
static_assert(TargetModel<MedianModel<WideNumbers>>);

}  // namespace weald
