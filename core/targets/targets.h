// What a tree predicts, and all that depends on it: what travels with a row, what is known of a node, how a feature is
// searched, what a leaf says.
//
//   TwoClassModel     two classes, counted
//   ManyClassModel    any number of classes, counted or weighted
//   NumberModel       numbers, counted or weighted
//
// A model has
//   Payload                what travels with a row
//   look_at                takes in the rows of a node; size, weight, is_pure and undivided speak of that node
//   begin_search, search   the best cut of it by one feature after the other
//   perfect                the score that no cut of it can exceed
//   mixed                  what it would gain if its sides were pure
//   nothing, move, judge   a cut of it, made row by row: what goes left, and whether that is admissible; `values` are
//                          those of its sides, for monotonic constraints
//   write_node, finish     its entries in the tree; Sums are what it keeps of each node until the tree is grown;
//                          write_value writes the value of a node, kept within its bounds
//   reserve                room for the entries of so many nodes
//   weigh_like             takes over what may differ from tree to tree

#pragma once

#include "targets/many_classes.h"
#include "targets/regression.h"
#include "targets/two_classes.h"
