"""Calibration of class probabilities, intervals and sets, from out-of-bag predictions or from held-out rows.

arithmetic     exp and ln computed by + - x / only: the same bits on every machine
outcomes       scores and classes of rows -> distinct scores with counts
isotonic       isotonic regression
logistic       sigmoid and beta: logistic regressions
venn_abers     two isotonic regressions, with the new row as either class
calibrator     one map for each class
calibrated     calibrates a fitted model
kept_errors    the errors of rows that intervals and prediction sets are computed from
"""
