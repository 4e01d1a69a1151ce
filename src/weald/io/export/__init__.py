"""Exports to other programs, and imports from them.

leaf_values      what each leaf adds to a prediction
parity           whether another program predicts the same
packages         optional packages that exports need
c_code           one file of C
onnx_graph       an ONNX model
treelite_model   a treelite model
shap_trees       the dictionary that shap.TreeExplainer takes
sklearn_trees    forests that scikit-learn grew
sklearn_models   scikit-learn's own fitted trees and forests
"""
