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


# Forests, scikit-learn's too, take no callbacks of their own.
@pytest.mark.filterwarnings("ignore:The estimator RandomForestClassifier does not support callbacks")
def test_pipelines_and_searches_call_their_callbacks_as_with_scikit_learns_forests():
    pytest.importorskip("sklearn.callback")
    counted = []
    for kind in (weald.RandomForestClassifier, sklearn.ensemble.RandomForestClassifier):
        steps = make_pipeline(StandardScaler(), kind(4, random_state=0))
        search = GridSearchCV(steps, {"randomforestclassifier__max_depth": [1, 2]}, cv=2)
        for model in (search, steps):
            callback = Counted()
            model.set_callbacks(callback).fit(X, Y)
            counted.append(sorted(callback.tasks))
            model.set_callbacks()
    assert counted[:2] == counted[2:]
    assert {"setup", "teardown"} < set(counted[0])
