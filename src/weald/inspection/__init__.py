"""Inspection of fitted models.

importance           feature importance by several methods
permutation          permutation importance
conditional          conditional permutation importance
mdi                  mean decrease in impurity
drop_column          drop-column importance
importance_request   the arguments of importance, checked
importance_result    the result
significance         standard errors and p-values
caveats              warnings about misleading importances
neighbors            proximity and neighbor weights
explain_split        explaining a split
selection            feature selection
surface              the error on new data for every stopping rule
tuning               choosing parameters by out-of-bag error
strength             strength and correlation of trees
bias_variance        bias and variance
stability            how much a model changes with its training sample
resample             fits to many samples
"""
