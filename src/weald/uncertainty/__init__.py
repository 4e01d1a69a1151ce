"""Uncertainty of predictions.

distribution      quantiles, cumulative probabilities and standard deviations of the target
standard_error    standard errors of predictions
error_interval    the variance of an out-of-bag error
"""
