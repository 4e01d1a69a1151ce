// All kernels of one kind of model, in the order in which they run.

#include "bags.cuh"
#include "huge.cuh"
#include "large.cuh"
#include "middle.cuh"
#include "nodes.cuh"
#include "order.cuh"
#include "plan.cuh"
#include "twigs.cuh"
