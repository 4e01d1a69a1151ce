"""The same forest on a GPU.

engine     the engine: which fits a GPU grows; the native engine grows the others
support    what the kernels support
table      codes -> packed rows
plan       sizes of a batch of trees, and the memory that it needs
grower     batches of trees -> the arrays of a forest
device     a GPU through CuPy
sources    the kernels in `kernels/`, one file per step; `kernels/forest.cu` lists them
"""
