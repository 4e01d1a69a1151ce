"""weald: the textbook random forest, exactly, fast, and the same everywhere.

DecisionTreeClassifier, DecisionTreeRegressor     one tree
RandomForestClassifier, RandomForestRegressor     many trees
ExtraTreeClassifier, ExtraTreeRegressor           one tree with random cuts
ExtraTreesClassifier, ExtraTreesRegressor         many trees with random cuts
KernelForestClassifier, KernelForestRegressor     forests of kernel values: curves, or anything with a kernel
SurvivalTree, RandomSurvivalForest                the time until an event, of rows that may be censored
ExtraSurvivalTrees                                the same with random cuts
RandomTreesEmbedding                              rows encoded by their leaves in random trees
importance                                        feature importance
audit                                             checks a model by growing its trees again
diff                                              the parameters, trees and nodes in which two models differ
load                                              a model from a file written by `save`
merge                                             one forest from several
explain                                           SHAP values
export_html                                       a tree as an interactive page
from_json                                         a model from JSON
from_sklearn                                      a forest that scikit-learn grew
report                                            an HTML report on a model
tune                                              parameters by out-of-bag error
strength                                          strength and correlation of the trees of a forest
dependence                                        partial dependence, ICE and ALE: predictions by one feature or two
h_statistic                                       strength of the interaction of pairs of features
bias_variance, stability                          of any estimator, from fits to many samples
select_features                                   feature selection
open_compiled                                     a compiled predictor that processes share
WealdError and its subclasses                     see `weald.errors`

Public modules: `weald.accel` (scripts of scikit-learn), `weald.codes` (data larger than memory), `weald.dask`,
`weald.errors`, `weald.impurity`, `weald.mlflow` (MLflow models), `weald.plot`.
"""

import gc
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers: the same names and modules as below
    from weald import impurity as impurity
    from weald.engines.compiled import open_compiled
    from weald.errors import (
        ClusterError,
        DataError,
        DataTypeError,
        ExportError,
        FormatError,
        ParameterError,
        WealdError,
    )
    from weald.estimators.embedding import RandomTreesEmbedding
    from weald.estimators.forests import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from weald.estimators.kernel.forests import KernelForestClassifier, KernelForestRegressor
    from weald.estimators.kernel.prototypes import check_kernel
    from weald.estimators.merging import merge
    from weald.estimators.survival.models import ExtraSurvivalTrees, RandomSurvivalForest, SurvivalTree
    from weald.estimators.trees import (
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        ExtraTreeClassifier,
        ExtraTreeRegressor,
    )
    from weald.inspection.auditing.audit import audit
    from weald.inspection.auditing.model_diff import diff
    from weald.inspection.bias_variance import bias_variance
    from weald.inspection.importance import importance
    from weald.inspection.interaction_strength import h_statistic
    from weald.inspection.partial_dependence import dependence
    from weald.inspection.selection import select_features
    from weald.inspection.shap_values import explain
    from weald.inspection.stability import stability
    from weald.inspection.strength import strength
    from weald.inspection.surface import surface
    from weald.inspection.tuning import tune
    from weald.io.export.sklearn_trees import from_sklearn
    from weald.io.files import load
    from weald.io.json_text import from_json
    from weald.reports import report
    from weald.reports.tree_page import export_html


def _refuse_subinterpreters() -> None:
    """Refuse a subinterpreter: in it, SciPy and the threads of the core wait forever for the main interpreter."""
    known = next((name for name in ("_interpreters", "_xxsubinterpreters") if find_spec(name)), None)
    if known is None:
        return
    interpreters = import_module(known)
    if interpreters.get_current() != interpreters.get_main():
        raise ImportError("weald runs in the main interpreter only, not in a subinterpreter. Use threads or processes.")


_refuse_subinterpreters()

# The modules of public names, which are imported on first use, so that `import weald` and the command line are fast.
_HOMES = {
    "ClusterError": "errors",
    "DataError": "errors",
    "DataTypeError": "errors",
    "DecisionTreeClassifier": "estimators.trees",
    "DecisionTreeRegressor": "estimators.trees",
    "ExportError": "errors",
    "ExtraSurvivalTrees": "estimators.survival.models",
    "ExtraTreeClassifier": "estimators.trees",
    "ExtraTreeRegressor": "estimators.trees",
    "ExtraTreesClassifier": "estimators.forests",
    "ExtraTreesRegressor": "estimators.forests",
    "FormatError": "errors",
    "KernelForestClassifier": "estimators.kernel.forests",
    "KernelForestRegressor": "estimators.kernel.forests",
    "ParameterError": "errors",
    "RandomForestClassifier": "estimators.forests",
    "RandomForestRegressor": "estimators.forests",
    "RandomSurvivalForest": "estimators.survival.models",
    "RandomTreesEmbedding": "estimators.embedding",
    "SurvivalTree": "estimators.survival.models",
    "WealdError": "errors",
    "audit": "inspection.auditing.audit",
    "bias_variance": "inspection.bias_variance",
    "check_kernel": "estimators.kernel.prototypes",
    "dependence": "inspection.partial_dependence",
    "diff": "inspection.auditing.model_diff",
    "explain": "inspection.shap_values",
    "export_html": "reports.tree_page",
    "from_json": "io.json_text",
    "from_sklearn": "io.export.sklearn_trees",
    "h_statistic": "inspection.interaction_strength",
    "importance": "inspection.importance",
    "load": "io.files",
    "merge": "estimators.merging",
    "open_compiled": "engines.compiled",
    "report": "reports",
    "select_features": "inspection.selection",
    "stability": "inspection.stability",
    "strength": "inspection.strength",
    "surface": "inspection.surface",
    "tune": "inspection.tuning",
}

# Public modules; all others are internal.
_MODULES = ("accel", "codes", "dask", "errors", "impurity", "mlflow", "plot")

__all__ = [
    "ClusterError",
    "DataError",
    "DataTypeError",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExportError",
    "ExtraSurvivalTrees",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "FormatError",
    "KernelForestClassifier",
    "KernelForestRegressor",
    "ParameterError",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomSurvivalForest",
    "RandomTreesEmbedding",
    "SurvivalTree",
    "WealdError",
    "__version__",
    "audit",
    "bias_variance",
    "check_kernel",
    "dependence",
    "diff",
    "explain",
    "export_html",
    "from_json",
    "from_sklearn",
    "h_statistic",
    "importance",
    "load",
    "merge",
    "open_compiled",
    "report",
    "select_features",
    "stability",
    "strength",
    "surface",
    "tune",
]


def __getattr__(name: str) -> Any:
    """Import a public name or module on first use."""
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("weald")
    elif name in _HOMES:
        value = getattr(_import_home(name), name)
    elif name in _MODULES:
        return import_module(f"weald.{name}")
    else:
        raise AttributeError(f"weald has no {name!r}. It has {', '.join(__dir__())}.")
    globals()[name] = value
    return value


def _import_home(name: str) -> ModuleType:
    """Import the module of a public name.

    Garbage collection is off meanwhile: imports leave no garbage, and a collection visits all objects of scikit-learn,
    which takes longer than the import.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return import_module(f"weald.{_HOMES[name]}")
    finally:
        if was_enabled:
            gc.enable()


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
