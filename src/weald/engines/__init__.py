"""Engines grow forests and predict. All engines give bit-identical results.

interface      the interface of all engines
choose         choosing an engine by name
reference/     the definition in plain Python
native         the compiled core
derived_forms  packed forms of a forest, cached until the forest is freed
table_source   tables that are coded before a fit
params         parameters as plain numbers
bagging        how bags are drawn
constraints    monotonic_cst, interaction_cst, feature_weights
criteria       names of the criteria
draws          random draws by address, many at once
compiled       a forest as one native object
threads        n_jobs -> a number of threads
progress       progress on stderr
"""
