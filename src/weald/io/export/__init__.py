"""Exports to other programs, and imports from them.

leaf_values      the contribution of each leaf to a prediction
parity           comparison of predictions with those of another program
packages         optional packages that exports need
label_kinds      types of labels that databases and JavaScript support
node_tables      conditions and nodes as tables
c_code           one file of C
js_code          one file of JavaScript
sql_statement    one SQL statement
sql_dialects     differences between databases
onnx_graph       an ONNX model
treelite_model   a treelite model
shap_trees       the dictionary for shap.TreeExplainer
sklearn_trees    imports fitted trees and forests of scikit-learn
sklearn_models   exports to fitted trees and forests of scikit-learn
"""
