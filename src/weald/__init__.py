"""weald: the textbook random forest, exactly, fast, and the same everywhere.

DecisionTreeClassifier, DecisionTreeRegressor     one tree
RandomForestClassifier, RandomForestRegressor     many
merge                                             one forest from several
WealdError and what stands below it               see `weald.errors`
"""

from importlib.metadata import version

from weald import impurity as impurity
from weald.errors import DataError, DataTypeError, ParameterError, WealdError
from weald.forests import RandomForestClassifier, RandomForestRegressor
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
    "merge",
]

__version__ = version("weald")
