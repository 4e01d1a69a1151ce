"""Kernel forests: features are kernel values between samples and prototypes.

forests            the estimators
prototypes         the prototypes that the trees use: kernel values, importance, pruning
features           the table of kernel values, from reading X to the fitted forest
kernels            kernels and distances
kernel_selection   choosing a kernel by out-of-bag error
tree_mix           choosing trees that use kernels, columns or both
table              the table of kernel values
samples            samples that kernels compare
params             the parameters
"""
