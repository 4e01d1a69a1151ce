"""The reference engine: the definition of every result, in plain Python.

definition     codes, bags, growth, predictions
multi_output   multi-output forests
permutation    permutation importance
proximity      rows that share leaves
shrinkage      hierarchical shrinkage
kernels        kernel values
engine         the definition behind the engine interface
"""
