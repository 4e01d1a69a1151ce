"""weald: the textbook random forest, exactly, fast, and the same everywhere.

DecisionTreeClassifier, DecisionTreeRegressor     one tree
RandomForestClassifier, RandomForestRegressor     many
ExtraTreeClassifier, ExtraTreeRegressor           one tree with random cuts
ExtraTreesClassifier, ExtraTreesRegressor         many
importance                                        which features matter
merge                                             one forest from several
export_html                                       a tree as a page that folds
report                                            a page on a model: how good it is, and why it says what it says
tune                                              parameters by out-of-bag error
strength                                          how strong the trees of a forest are, and how alike
bias_variance, stability                          of any estimator, by fitting it to many samples
select_features                                   which features are enough
WealdError and what stands below it               see `weald.errors`
"""

from importlib.metadata import version

from weald import impurity as impurity
from weald.comparing import stability
from weald.decomposing import bias_variance
from weald.diversity import strength
from weald.errors import DataError, DataTypeError, ExportError, ParameterError, WealdError
from weald.extra_trees import ExtraTreeClassifier, ExtraTreeRegressor, ExtraTreesClassifier, ExtraTreesRegressor
from weald.forests import RandomForestClassifier, RandomForestRegressor
from weald.html_tree import export_html
from weald.importances import importance
from weald.merging import merge
from weald.reports import report
from weald.selection import select_features
from weald.trees import DecisionTreeClassifier, DecisionTreeRegressor
from weald.tuning import tune

__all__ = [
    "DataError",
    "DataTypeError",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExportError",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "ParameterError",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "WealdError",
    "__version__",
    "bias_variance",
    "export_html",
    "importance",
    "merge",
    "report",
    "select_features",
    "stability",
    "strength",
    "tune",
]

__version__ = version("weald")
