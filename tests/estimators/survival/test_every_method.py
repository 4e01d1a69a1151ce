"""Every public method of a survival model works for survival, or is refused in words; so is every public function."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.utils.validation import check_is_fitted

import weald
from tests.estimators.survival.test_models import make_rows
from weald import DataError, ParameterError, RandomSurvivalForest, SurvivalTree
from weald.estimators.survival.models import REFUSED

X, Y = make_rows(80)
MODELS = {
    "forest": RandomSurvivalForest(6, random_state=0, oob_score=True),
    "tree": SurvivalTree(random_state=0),
}
# Arguments beyond self; methods that are not here need none, or X.
ARGUMENTS = {
    "attach_data_hash": (X, Y),
    "bags": (X, Y),
    "brier_score": (X, Y, [0.2, 0.5]),
    "fit": (X, Y),
    "integrated_brier_score": (X, Y, [0.2, 0.5]),
    "neighbors": (X, Y),
    "of_target": (0,),
    "out_of_bag": (X, Y),
    "predict_standard_error": (X, X, Y),
    "score": (X, Y),
}
TAKES_X = {"apply", "decision_path", "predict", "predict_survival_function", "predict_cumulative_hazard_function"}
TAKES_X |= {"shap_values", "proximity", "predict_chunks"}
ELSEWHERE = {
    "save",
    "set_callbacks",
    "get_params",
    "set_params",
    "get_metadata_routing",
}  # inherited, or tested by name

EXPORTS = {"to_c": {}, "to_js": {}, "to_json": {}, "to_onnx": {}, "to_shap": {}, "to_treelite": {}}
EXPORTS["to_sql"] = {"dialect": "sqlite", "table": "t"}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few rows are in the bag of every tree
        return MODELS[request.param].fit(X, Y)


def public(model):
    names = [name for name in dir(type(model)) if not name.startswith("_") and not name.endswith("_request")]
    return [name for name in names if callable(inspect.getattr_static(type(model), name))]


@pytest.mark.filterwarnings("ignore")
def test_every_method_works_or_is_refused(model):
    for name in public(model):
        if name in ELSEWHERE or name in EXPORTS:
            continue
        if name in REFUSED:
            with pytest.raises(ParameterError, match=f"has no {name}: "):
                getattr(model, name)()
        elif name == "leaf_rows":
            first = () if isinstance(model, SurvivalTree) else (0,)
            leaf = int(model.apply(X).reshape(len(X), -1)[0, 0])
            assert model.leaf_rows(*first, leaf, X, Y).targets.dtype.names == ("event", "time")
        elif name == "thin":
            assert model.thin(n_trees=2).predict(X).shape == (80,)
            with pytest.raises(ParameterError, match="tolerance"):
                model.thin(tolerance=0.1)
        else:
            check_is_fitted(model)
            assert getattr(model, name)(*ARGUMENTS.get(name, (X,) if name in TAKES_X else ())) is not None, name


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPORTS)
def test_exports_predict_the_risk(model, name):
    """They compare their predictions with those of the model."""
    found = repr(getattr(model, name)(X=X, **EXPORTS[name]))
    assert "equal" in found or (name == "to_shap" and "e-1" in found)  # shap adds up the trees in another order


def test_nothing_is_refused_that_does_not_exist(model):
    known = set(dir(RandomSurvivalForest)) | set(dir(SurvivalTree))
    assert set(REFUSED) <= known


def test_shap_values_add_up_to_the_risk(model):
    base = weald.explain(model, X).base_values
    np.testing.assert_allclose(model.shap_values(X).sum(axis=1) + base, model.predict(X), atol=1e-9)


def test_partial_dependence_is_of_the_risk(model):
    found = weald.dependence(model, X, [0])
    assert found is not None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "call",
    [
        lambda model: weald.tune(model, X, Y),
        lambda model: weald.surface(model, X, Y),
        lambda model: weald.select_features(model, X, Y),
        lambda model: weald.bias_variance(model, X, Y),
        lambda model: weald.stability(model, X, Y),
        lambda model: weald.strength(model, X, Y),
        lambda model: weald.report(model, X, Y),
    ],
)
def test_functions_about_errors_of_rows_are_refused(call):
    forest = RandomSurvivalForest(3, random_state=0).fit(X, Y)
    with pytest.raises((ParameterError, DataError), match=r"surviv|Surviv|classif"):
        call(forest)
