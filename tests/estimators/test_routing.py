"""scikit-learn's infrastructure: tags, metadata routing, output containers."""

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import weald

X, Y = load_iris(return_X_y=True)
WEIGHT = np.arange(150) % 3 + 1
VISITS = np.arange(150) // 2
PLAIN = ("DecisionTree", "RandomForest", "ExtraTree", "ExtraTrees")


def forest(**given):
    return weald.RandomForestClassifier(4, random_state=0, **given)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.parametrize("name", [f"{name}{task}" for name in PLAIN for task in ("Classifier", "Regressor")])
def test_tags_say_what_a_table_may_hold(name):
    tags = get_tags(getattr(weald, name)())
    assert tags.input_tags.allow_nan
    assert tags.input_tags.categorical
    assert tags.input_tags.sparse
    assert tags.input_tags.string
    assert tags.target_tags.multi_output
    assert not get_tags(getattr(weald, name)(missing="error")).input_tags.allow_nan
    assert not get_tags(getattr(weald, name)(categorical_features=None)).input_tags.string


@pytest.mark.parametrize("name", ["KernelForestClassifier", "KernelForestRegressor"])
def test_tags_of_kernel_forests_name_no_columns(name):
    tags = get_tags(getattr(weald, name)())
    assert not any((tags.input_tags.allow_nan, tags.input_tags.categorical, tags.input_tags.string))


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(
    ("name", "values"), [("sample_weight", WEIGHT), ("groups", VISITS), ("stratify", Y), ("stratify", None)]
)
def test_what_a_fit_takes_is_routed_through_a_pipeline(name, values):
    model = make_pipeline(StandardScaler(), forest().set_fit_request(**{name: True}))
    if name == "sample_weight":
        model[0].set_fit_request(sample_weight=False)
    fitted = model.fit(X, Y, **{name: values})[-1]
    alone = forest().fit(StandardScaler().fit_transform(X), Y, **{name: values})
    assert fitted.forest_.fingerprint() == alone.forest_.fingerprint()
    if values is not None:
        assert fitted.forest_.fingerprint() != forest().fit(StandardScaler().fit_transform(X), Y).forest_.fingerprint()


@pytest.mark.usefixtures("routing")
def test_groups_are_routed_to_the_folds_and_to_the_bags_of_a_search():
    asked = forest().set_fit_request(groups=True, sample_weight=True).set_score_request(sample_weight=True)
    search = GridSearchCV(asked, {"max_depth": [1, 3]}, cv=GroupKFold(3))
    search.fit(X, Y, groups=VISITS, sample_weight=WEIGHT)
    best = forest(**search.best_params_).fit(X, Y, WEIGHT, groups=VISITS)
    assert search.best_estimator_.forest_.fingerprint() == best.forest_.fingerprint()


@pytest.mark.usefixtures("routing")
def test_folds_route_rows_of_groups_and_strata():
    asked = forest().set_fit_request(groups=True, stratify=True)
    found = cross_validate(
        asked, X, Y, params={"groups": VISITS, "stratify": np.zeros(150)}, cv=GroupKFold(3), return_estimator=True
    )
    for model, (train, _) in zip(found["estimator"], GroupKFold(3).split(X, Y, VISITS), strict=True):
        alone = forest().fit(X[train], Y[train], groups=VISITS[train], stratify=np.zeros(len(train)))
        assert model.forest_.fingerprint() == alone.forest_.fingerprint()


@pytest.mark.usefixtures("routing")
def test_what_nobody_asked_for_is_refused():
    with pytest.raises(ValueError, match="groups"):
        make_pipeline(StandardScaler(), forest()).fit(X, Y, groups=VISITS)


def test_tables_of_a_pipeline_keep_their_names():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = make_pipeline(StandardScaler(), forest()).set_output(transform="pandas").fit(frame, Y)
    assert model[-1].feature_names_in_.tolist() == list("abcd")
    assert model.predict(frame).shape == (150,)


@pytest.mark.parametrize("task", ["Classifier", "Regressor"])
def test_trees_take_the_check_input_of_scikit_learn(task):
    tree = getattr(weald, f"DecisionTree{task}")().fit(X, Y, None, False)
    assert tree.forest_.fingerprint() == getattr(weald, f"DecisionTree{task}")().fit(X, Y).forest_.fingerprint()
    for name in ("predict", "apply", "decision_path", *(["predict_proba"] if task == "Classifier" else [])):
        plain, asked = getattr(tree, name)(X), getattr(tree, name)(X, check_input=False)
        assert (plain != asked).sum() == 0


class Counted:
    """A callback of scikit-learn that counts tasks, of sub-estimators too."""

    max_propagation_depth = None

    def __init__(self):
        self.tasks = []

    def setup(self, estimator, context):
        self.tasks.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.tasks.append(context.task_name)

    def on_fit_task_end(self, estimator, context):
        self.tasks.append(context.task_name)

    def teardown(self, estimator, context):
        self.tasks.append("teardown")


@pytest.mark.parametrize("n_estimators", [1, 7, 30])
def test_a_fit_calls_its_callbacks_for_each_tree(n_estimators):
    pytest.importorskip("sklearn.callback")
    callback = Counted()
    forest = weald.RandomForestClassifier(n_estimators, random_state=0).set_callbacks(callback).fit(X, Y)
    assert callback.tasks == ["setup", "fit", *["tree", "tree"] * n_estimators, "fit", "teardown"]
    plain = weald.RandomForestClassifier(n_estimators, random_state=0).fit(X, Y)
    assert forest.forest_.fingerprint() == plain.forest_.fingerprint()
    assert vars(forest).keys() - vars(plain).keys() == {"_skl_callbacks"}
    callback.tasks.clear()
    forest.set_callbacks().fit(X, Y)
    assert callback.tasks == []


def test_a_fit_that_fails_tears_its_callbacks_down():
    pytest.importorskip("sklearn.callback")
    callback = Counted()
    with pytest.raises(ValueError, match="max_depth"):
        weald.RandomForestClassifier(3, max_depth=-1).set_callbacks(callback).fit(X, Y)
    assert callback.tasks == ["setup", "fit", "teardown"]


class StopsWhenGood(Counted):
    """Stops a fit once its out-of-bag error is small."""

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        self.tasks.append(metadata)
        return context.task_name == "tree" and metadata["n_trees"] >= 20 and metadata["oob_error"] < 0.2


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_callback_can_stop_the_growth(engine):
    pytest.importorskip("sklearn.callback")
    callback = StopsWhenGood()
    forest = weald.RandomForestClassifier(100, oob_score=True, random_state=0, n_jobs=2, engine=engine)
    forest.set_callbacks(callback).fit(X, Y)
    n_trees = len(forest)
    assert 0 < n_trees < 100
    same = weald.RandomForestClassifier(n_trees, oob_score=True, random_state=0).fit(X, Y)
    assert forest.forest_.fingerprint() == same.forest_.fingerprint()
    assert forest.oob_error_ == same.oob_error_ < 0.2
    last = [about for about in callback.tasks if isinstance(about, dict) and "n_trees" in about][-1]
    assert last == {"n_trees": n_trees, "oob_error": forest.oob_error_}


def test_scores_of_the_fitted_forest_are_monitored():
    callbacks = pytest.importorskip("sklearn.callback")
    monitor = callbacks.ScoringMonitor(scoring="accuracy")
    forest = weald.RandomForestClassifier(5, random_state=0).set_callbacks(monitor).fit(X, Y)
    (found,) = monitor.get_logs().data
    assert found["accuracy"] == forest.score(X, Y)


@pytest.mark.parametrize("kind", [weald.RandomForestClassifier, weald.ExtraTreesRegressor])
def test_pipelines_and_searches_pass_callbacks_on_to_forests(kind):
    pytest.importorskip("sklearn.callback")
    steps = make_pipeline(StandardScaler(), kind(4, random_state=0))
    search = GridSearchCV(steps, {f"{kind.__name__.lower()}__max_depth": [1, 2]}, cv=2)
    for model, n_fits in ((steps, 1), (search, 5)):
        callback = Counted()
        model.set_callbacks(callback).fit(X, Y)
        assert callback.tasks.count("tree") == 2 * 4 * n_fits
        model.set_callbacks()


def test_callbacks_are_called_with_checkpoints_warm_starts_and_several_targets(tmp_path):
    pytest.importorskip("sklearn.callback")
    callback = Counted()
    forest = weald.RandomForestClassifier(3, random_state=0, warm_start=True).set_callbacks(callback)
    forest.fit(X, Y, checkpoint=tmp_path)
    forest.set_params(n_estimators=5).fit(X, Y)
    forest.set_params(warm_start=False).fit(X, np.column_stack([Y, Y]))
    assert [name for name in callback.tasks if name != "tree"] == ["setup", "fit", "fit", "teardown"] * 3
