"""Uncertainty of predictions.

distribution       quantiles, cumulative probabilities and standard deviations of the target
attached_errors    the errors of out-of-bag or held-out predictions that a model keeps
intervals          prediction intervals of regressors
jackknife          jackknife+-after-bootstrap intervals
prediction_sets    prediction sets of classifiers
standard_error     standard errors of predictions
error_interval     the variance of an out-of-bag error
"""
