"""Reading input data.

table              any X, y and sample_weight -> a Table
frames             data frames of any library
schema             names, types and categories of columns
foreign_arrays     arrays from PyTorch, JAX and CuPy
targets            any y -> class codes or numbers
object_columns     columns of Python objects
sparse_table       SciPy matrices
mmap_checks        memory maps whose file became shorter
result_frame       results as data frames
arguments          checks of arguments
dask_collections   whether a table is a Dask collection
types              types of arrays
"""
