"""Model files: see `files.py`, which the others serve.

files          estimators to files, and back
values         parameters and notes as JSON and arrays
several_forests   forests of several targets, which share their trees
packing        a forest as few small arrays
plain_arrays   a forest's arrays as they are
zipping        arrays, compressed
guesses        what can be foretold of a forest's numbers
shape          the shape of trees from leaf marks
streams        arrays in few bytes
container      the file itself: texts and arrays
"""
