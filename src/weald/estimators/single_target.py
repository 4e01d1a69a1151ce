"""The method by which a model of several targets becomes one of a single target."""

import copy
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from weald.data.arguments import Whole, check_argument


class SingleTargetMethods:
    """What may have several targets."""

    n_outputs_: int

    def of_target(self, number: int) -> Self:
        """Make a model of one of several targets: the same trees, and what their leaves say of it.

        All that asks for one target takes such a model: inspection, `compile`, every export.

        Parameters
        ----------
        number : int
            Which target, from 0: the column of y.

        Returns
        -------
        model of the same class
            It predicts that column, bit for bit. Out-of-bag results stay behind.

        Examples
        --------
        >>> from weald import RandomForestRegressor
        >>> X, Y = [[1.0], [2.0], [3.0]], [[1.0, 10.0], [2.0, 20.0], [4.0, 50.0]]
        >>> model = RandomForestRegressor(10, random_state=0).fit(X, Y)
        >>> model.of_target(1).predict(X).tolist() == model.predict(X)[:, 1].tolist()
        True
        """
        check_is_fitted(self)
        check_argument("number", number, (Whole(0, self.n_outputs_ - 1),))
        model = copy.copy(self)
        if "forests_" in vars(self):
            _narrow(model, number)
        return model


def _narrow(model: Any, number: int) -> None:
    """Leave one target to a copy of a model."""
    known = vars(model)
    model.forest_ = known.pop("forests_")[number]
    for name in [name for name in known if name.startswith("oob_") and name.endswith("_")]:
        del known[name]
    known.update({name: known[name][number] for name in ("classes_", "n_classes_") if name in known}, n_outputs_=1)
    if "tree_" in known:
        model.tree_ = type(model.tree_)(model.forest_, model.growth_.criterion)


def each_target(model: Any) -> list[Any]:
    """Make a model for each target."""
    return [model.of_target(number) for number in range(model.n_outputs_)]
