"""Uncertainty of predictions.

distribution      quantiles, cumulative probabilities and standard deviations of the target
standard_error    standard errors of predictions
"""
