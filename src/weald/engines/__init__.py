"""Engines grow forests and predict. All of them give the same bits.

interface     what every engine can do
choose        which engine a name stands for
reference/    the definition in plain Python
native        the compiled core
params        an estimator's parameters as plain numbers
"""
