"""Trees and forests: the estimators, and the flows of fit and predict.

fit                  the flow of every fit
prediction           the flow of every prediction
trees                the decision trees
forests              the forests
kernel/              kernel forests
embedding            rows as the leaves that they reach
base                 what all estimators share
tasks                what classifiers and regressors add
tree_base            what single trees share
forest_base          what forests share
parameters           parameters and attributes: types, defaults, documentation
features             where the columns that trees look at come from
growing              how many trees are grown, and in which way
out_of_bag           out-of-bag predictions and errors
metrics              confusion matrix, calibration, thresholds
early_stopping       `n_estimators="auto"`
resampling           boosting and arcing
checkpoints          fits that can be resumed
merging              merging and slicing forests
multi_output         several targets
training_data        the training data, read again
same_data            whether data is that of a fit
chunked_prediction   tables larger than memory
choose_alpha         how much to prune
tree_list            `estimators_`
tree_view            `tree_`
"""
