"""The reference engine: the definition of every result, in plain Python.

definition     coding, bags, growing, predicting
multi_output   forests of several targets
permutation    permutation importance
proximity      rows that share leaves
kernels        kernel values
engine         all of it behind the engine interface
"""
