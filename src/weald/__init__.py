"""weald: the textbook random forest, exactly, fast, and the same everywhere.

DecisionTreeClassifier, DecisionTreeRegressor     one tree
RandomForestClassifier, RandomForestRegressor     many
merge                                             one forest from several
export_html                                       a tree as a page that folds
WealdError and what stands below it               see `weald.errors`
"""

from importlib.metadata import version

from weald import impurity as impurity
from weald.errors import DataError, DataTypeError, ParameterError, WealdError
from weald.forests import RandomForestClassifier, RandomForestRegressor
from weald.html_tree import export_html
from weald.merging import merge
from weald.trees import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = [
    "DataError",
    "DataTypeError",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ParameterError",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "WealdError",
    "__version__",
    "export_html",
    "merge",
]

__version__ = version("weald")
