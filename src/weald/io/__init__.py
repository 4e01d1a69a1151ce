"""Model files, JSON, and exports to other programs.

files            estimators to `.weald` files and back
json_text        the same contents as JSON
container        the container format: text and arrays
words            features of the format that a reader must support
values           parameters and notes as JSON and arrays
packing          a forest as few small arrays
plain_arrays     a forest's arrays uncompressed, for memory mapping
kernel_parts     the kernel and prototypes of kernel forests
multi_output     forests of multi-output models, which share their trees
derived_values   numbers that can be computed from others and are left out of a file
tree_shape       the shape of trees from leaf marks
streams          compact encodings of arrays
stored_state     what pickle and skops keep of an estimator
tree_hashes      a hash of each tree, and their Merkle root
compression      compressed arrays
atomic           atomic writing of files
export/          C, ONNX, treelite, shap, scikit-learn
"""
