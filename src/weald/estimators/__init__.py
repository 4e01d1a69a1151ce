"""Trees and forests: the estimators, and the flows of fit and predict.

fit                  the flow of every fit
prediction           the flow of every prediction
trees                the decision trees
forests              the forests
kernel/              kernel forests
calibration/         calibrated class probabilities
embedding            random trees embedding
base                 code common to all estimators
tasks                prediction methods of classifiers and regressors
tree_base            code common to single trees
forest_base          code common to forests
parameters           parameters and attributes: types, defaults, documentation
features             the columns that trees are grown from
growing              growing the trees of a fit
out_of_bag           out-of-bag predictions and errors
metrics              confusion matrix, calibration curve, thresholds
early_stopping       `n_estimators="auto"`
resampling           boosting and arcing
checkpoints          saving and resuming fits
merging              merging and slicing forests
multi_output         multi-output models
training_data        reading the training data again
same_data            checking that data is the data of the fit
chunked_prediction   predictions for tables larger than memory
truncation           tighter stopping rules for a fitted model
error_surface        the error of a model for every stopping rule
stopping_rules       the stopping rules common to all trees of a model
choose_alpha         choosing the pruning strength
tree_list            `estimators_`
tree_view            `tree_`
"""
