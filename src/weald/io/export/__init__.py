"""Exports to other programs, and imports from them.

leaf_values      what each leaf adds to a prediction
parity           comparison of predictions with those of another program
packages         optional packages that exports need
label_kinds      the kinds of labels that databases and JavaScript have
node_tables      conditions and nodes as tables
c_code           one file of C
js_code          one file of JavaScript
sql_statement    one SQL statement
sql_dialects     what the statement looks like in each database
onnx_graph       an ONNX model
treelite_model   a treelite model
shap_trees       the dictionary for shap.TreeExplainer
sklearn_trees    imports fitted trees and forests of scikit-learn
sklearn_models   exports to fitted trees and forests of scikit-learn
"""
