"""Model files, JSON, and exports to other programs.

files            estimators to `.weald` files and back
json_text        the same contents as JSON
container        the file itself: texts and arrays
words            what a reader must understand
values           parameters and notes as JSON and arrays
packing          a forest as few small arrays
plain_arrays     a forest's arrays as they are, to be mapped into memory
kernel_parts     what kernel forests keep beside their trees
multi_output     forests of several targets, which share their trees
derived_values   numbers that follow from others and are left out of a file
tree_shape       the shape of trees from leaf marks
streams          arrays in few bytes
tree_hashes      a hash of each tree, and the root of their Merkle tree
compression      arrays, compressed
atomic           files that are written whole or not at all
export/          C, ONNX, treelite, shap, scikit-learn
"""
