"""Survival trees and forests.

models            SurvivalTree, RandomSurvivalForest, ExtraSurvivalTrees
prediction        risks, survival functions and cumulative hazard functions
out_of_bag        the same for the training rows, each by the trees that have not seen it
scores            concordance, Brier score
training_times    y -> the target that engines read
"""
