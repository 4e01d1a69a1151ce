"""Trees and forests: the estimators, and the steps of fit and predict.

base                 fit and predict, step by step
trees                decision trees
forests              random forests
extra_trees          extremely randomized trees
kernel/              kernel forests
forest_base          what all forests share
ensemble             how many trees are grown
tree_list            `estimators_`
out_of_bag           out-of-bag predictions and errors
metrics              confusion, calibration, thresholds
early_stopping       `n_estimators="auto"`
resampling           boosting and arcing
merging              forests from forests
multi_output         several targets
checkpoints          fits that can be resumed
training_data        the training data, read again
chunked_prediction   tables larger than memory
choose_alpha         how much to prune
docstrings           docstrings made from others
*_methods            groups of methods; those that use a layer above import it when called
single_target        one target of several
"""
