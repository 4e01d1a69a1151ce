"""Checking that a forest was grown from the data that it states.

data_hash            the cryptographic hash of training data, and keeping it in a model
audit                data and model -> the trees that are not those of a fit, and why
audit_result         the result of an audit
changed_parameter    the parameter that was changed, if one explains the trees
differences          the first node in which two trees differ
model_diff           the parameters, trees and nodes in which two models differ
"""
