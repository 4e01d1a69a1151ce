"""The grown forest as immutable arrays, and code that only reads these arrays.

forest              the arrays; the origin of the trees
votes               averages over trees
impurity_decrease   mean decrease in impurity
pruning             cost-complexity pruning
shrinkage           hierarchical shrinkage
truncation          tighter stopping rules
partial_dependence  mean predictions by recursion
path_limits         the final nodes of rows under many stopping rules
compaction          smaller forests
describe/           trees as tables, text, regions and rules
"""
