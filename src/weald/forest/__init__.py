"""The grown forest as immutable arrays, and everything that only reads them.

forest              the arrays; where trees came from
votes               averages over trees
impurity_decrease   mean decrease in impurity
pruning             cost-complexity pruning
shrinkage           hierarchical shrinkage
truncation          tighter stopping rules
partial_dependence  mean predictions by recursion
path_limits         where rows end under many stopping rules
compaction          smaller forests
describe/           trees as tables, text, regions and rules
"""
