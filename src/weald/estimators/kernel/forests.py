"""Kernel forests: the features of a sample are its kernels with prototypes, which are training samples.

KernelForestClassifier, KernelForestRegressor

A split on a column of the Gaussian kernel is a ball around a prototype, so trees have curved borders, and samples need
only a distance: curves, text, graphs. Otherwise it is a random forest: `KernelFeatures` computes the table of kernel
values, which is coded and grown by the ordinary engines. Only the prototypes used by the trees are kept.
"""

from typing import Self, Unpack

from weald.data.types import FloatArray, IntArray
from weald.estimators.forest_base import RandomForest
from weald.estimators.kernel.features import KernelFeatures
from weald.estimators.kernel.kernel_selection import Choice
from weald.estimators.kernel.kernels import Kernel
from weald.estimators.kernel.params import ATTRIBUTES, KernelClassifierParams, KernelParams
from weald.estimators.kernel.prototypes import UsedPrototypes
from weald.estimators.kernel.tree_mix import MixChoice
from weald.estimators.parameters import parameters, set_parameters
from weald.estimators.tasks import TreeClassifier, TreeRegressor
from weald.estimators.tree_list import TreeList
from weald.estimators.trees import DecisionTreeClassifier, DecisionTreeRegressor


@parameters(KernelClassifierParams, ATTRIBUTES, criterion="gini", max_features="sqrt")
class KernelForestClassifier(RandomForest, TreeClassifier):
    """A random forest of kernel values that predicts classes.

    The features of a sample are its kernels with the training samples, so trees have curved borders, and samples may be
    anything with a kernel or a distance: vectors, curves of any length, text, graphs. Everything else is as in
    `RandomForestClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import KernelForestClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> inside = (X**2).sum(axis=1) < 1
    >>> model = KernelForestClassifier(random_state=0).fit(X[:200], inside[:200])
    >>> model.score(X[200:], inside[200:]) > 0.9
    True
    """

    _features = KernelFeatures

    oob_decision_function_: FloatArray
    kernel_: Kernel
    choice_: Choice
    mix_: MixChoice
    sample_kind_: str
    prototype_rows_: IntArray

    def __init__(self, n_estimators: int | str = 100, **given: Unpack[KernelClassifierParams]) -> None:
        set_parameters(self, KernelForestClassifier, n_estimators=n_estimators, **given)

    @property
    def estimators_(self) -> TreeList[DecisionTreeClassifier]:
        """The trees as fitted estimators, created on access. They predict from `prototypes_.kernel_matrix(X)`."""
        return TreeList(self, DecisionTreeClassifier)

    @property
    def prototypes_(self) -> UsedPrototypes[Self]:
        """The prototypes that the trees use: samples, importance, kernel values, pruning."""
        return UsedPrototypes(self)


@parameters(KernelParams, ATTRIBUTES, criterion="squared_error", max_features="third")
class KernelForestRegressor(RandomForest, TreeRegressor):
    """A random forest of kernel values that predicts numbers.

    The features of a sample are its kernels with the training samples, so trees have curved borders, and samples may be
    anything with a kernel or a distance: vectors, curves of any length, text, graphs. Everything else is as in
    `RandomForestRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from weald import KernelForestRegressor
    >>> phase = np.linspace(0, 3, 120)
    >>> curves = [np.sin(phase[i] + np.linspace(0, 6, 20 + i % 7)) for i in range(120)]  # curves of different lengths
    >>> model = KernelForestRegressor(random_state=0).fit(curves[::2], phase[::2])
    >>> model.score(curves[1::2], phase[1::2]) > 0.95
    True
    """

    _features = KernelFeatures

    oob_prediction_: FloatArray
    kernel_: Kernel
    choice_: Choice
    mix_: MixChoice
    sample_kind_: str
    prototype_rows_: IntArray

    def __init__(self, n_estimators: int | str = 100, **given: Unpack[KernelParams]) -> None:
        set_parameters(self, KernelForestRegressor, n_estimators=n_estimators, **given)

    @property
    def estimators_(self) -> TreeList[DecisionTreeRegressor]:
        """The trees as fitted estimators, created on access. They predict from `prototypes_.kernel_matrix(X)`."""
        return TreeList(self, DecisionTreeRegressor)

    @property
    def prototypes_(self) -> UsedPrototypes[Self]:
        """The prototypes that the trees use: samples, importance, kernel values, pruning."""
        return UsedPrototypes(self)
