"""Class weights that leave no row are refused, and ratios that do not fit 20-bit integers are named."""

import warnings

import numpy as np
import pytest

import weald
from weald import ParameterError

X = np.arange(12.0)[:, np.newaxis]
Y = np.array(["a", "b", "c"] * 4)
both = pytest.mark.parametrize("engine", ["native", "reference"])


def fit(y=Y, weight=None, **given):
    return weald.RandomForestClassifier(2, random_state=0, **given).fit(X, y, weight)


@both
@pytest.mark.parametrize("ratio", [2.0**-20, 3 * 2.0**-20, 1.0])
@pytest.mark.parametrize("unit", [1.0, 3.0, 2.0**1000, 2.0**-1040, 0.1])
def test_ratios_down_to_one_in_a_million_are_kept(engine, ratio, unit):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "class_weight affected only")  # full trees are not tested here
        fit(class_weight={"a": unit, "b": unit * ratio, "c": 0}, engine=engine)


@both
@pytest.mark.parametrize(("least", "most"), [(1.0, 2.0**21), (1e-300, 1e300), (5e-324, 1e-308), (1.0, 1048577.0)])
def test_a_ratio_beyond_20_bits_is_named(engine, least, most):
    with pytest.warns(UserWarning, match=r"class_weight weighs the class 'b' less than 2\*\*-20 .*as much as 'c'"):
        fit(class_weight={"a": least * 2, "b": least, "c": most}, engine=engine)


def test_the_ratio_of_several_targets_is_that_of_their_products():
    targets = np.column_stack([Y, np.where(np.arange(12) < 6, "x", "z")])
    model = weald.RandomForestClassifier(2, random_state=0)
    weights = [{"a": 1, "b": 2.0**12, "c": 1}, {"x": 1, "z": 2.0**12}]
    with pytest.warns(UserWarning, match=r"class_weight weighs the class \('a', 'x'\) less .* as much as \('b', 'z'\)"):
        model.set_params(class_weight=weights).fit(X, targets)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "class_weight affected only")  # full trees are not tested here
        model.set_params(class_weight=[{"a": 1, "b": 2.0**12, "c": 1}, {"x": 2.0**12, "z": 1}]).fit(X[:2], targets[:2])
    with pytest.raises(ParameterError, match="0 for every class"):
        model.set_params(class_weight=[{"a": 0}, {"x": 0, "z": 0}]).fit(X, targets)


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample"])
def test_balanced_weights_of_a_rare_class_are_named(class_weight):
    y = np.array(["a", "b"])[(np.arange(12) == 5).astype(int)]
    weight = np.where(y == "a", 2.0**19, 1.0)
    with pytest.warns(UserWarning, match=r'class_weight="balanced" weighs the class \'a\' less'):
        fit(y, weight, class_weight=class_weight, max_samples=4)


def test_fixed_point_keeps_larger_ratios():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "class_weight affected only")  # full trees are not tested here
        fit(weight=np.full(12, 0.3), class_weight={"a": 1.0, "b": 2.0**-30, "c": 1.0}, bootstrap=False)


def test_labels_beside_those_of_y_are_ignored_where_all_of_y_are_named():
    weights = {"a": 2, "b": 1, "c": 3}
    one, other = (fit(class_weight=given).forest_ for given in (weights, {**weights, "d": 1e300, "e": 0}))
    assert one.fingerprint() == other.fingerprint()


def test_an_empty_dict_weighs_all_classes_alike():
    assert fit(class_weight={}).forest_.n_trees == 2
