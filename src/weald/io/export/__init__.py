"""Forests for other programs, and forests from them.

answers          what leaves say, ready to be added up
parity           whether another program answers as weald does
packages         what exports need and weald does not
c_code           one file of C
onnx_graph       a file for ONNX
json_text        all of a model as text, and back
treelite_model   a model of treelite
shap_trees       what shap explains
sklearn_trees    forests that scikit-learn grew
"""
