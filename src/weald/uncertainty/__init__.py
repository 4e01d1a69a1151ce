"""How sure a prediction is.

distribution    quantiles, cumulative probabilities and standard deviations of the target
"""
