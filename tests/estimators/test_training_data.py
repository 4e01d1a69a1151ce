"""Methods that take the training data again refuse other data."""

import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import weald
from weald import DataError, FormatError
from weald.cli.main import run

pytestmark = pytest.mark.filterwarnings("ignore:.*rows are in the bag of every tree")

ROWS = np.random.default_rng(0)
CELSIUS = ROWS.normal(20, 5, size=(120, 4)).round(1)
CELSIUS[:, 3] = ROWS.integers(-2, 3, 120)  # zeros of a sparse table
CELSIUS[::17, 1] = np.nan
LABELS = (CELSIUS[:, 0] + CELSIUS[:, 2] > 40).astype(int)
NUMBERS = CELSIUS[:, 0] - CELSIUS[:, 2]
ONE_CELL = CELSIUS.copy()
ONE_CELL[np.argmax(CELSIUS[:, 2]), 2] = 99.0  # still the largest
OTHER_UNITS = {
    "shifted": CELSIUS + 273.25,
    "scaled": CELSIUS * 1.5,
    "one column": np.column_stack([CELSIUS[:, :3], 2 * CELSIUS[:, 3]]),
    "mapped": np.cbrt(CELSIUS),
    "one cell": ONE_CELL,
}


def grown(kind=weald.RandomForestClassifier, y=LABELS, **given):
    return kind(10, random_state=0, **given).fit(CELSIUS, y)


def explain(model, X, y):
    return str(model.estimators_[0].explain_split(0, X, y))


USES = {
    "out_of_bag": lambda model, X, y: model.out_of_bag(X, y).error,
    "importance": lambda model, X, y: weald.importance(model, X, y).values.tolist(),
    "mdi": lambda model, X, y: weald.importance(model, X, y, kind="mdi").values.tolist(),
    "neighbors": lambda model, X, y: np.sort(model.neighbors(X, y).outliers()).tolist(),
    "strength": lambda model, X, y: weald.strength(model, X, y).error,
    "explain_split": explain,
    "report": lambda model, X, y: len(model.report(X, y).metrics),
}
uses = pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
units = pytest.mark.parametrize("X", OTHER_UNITS.values(), ids=OTHER_UNITS.keys())


@uses
@units
def test_other_values_of_the_same_ranks_are_refused(use, X):
    with pytest.raises(
        DataError, match=r"grown from other data: X has the same ranks, but other values; .*other units"
    ):
        use(grown(), X, LABELS)


@uses
def test_the_training_data_is_accepted_in_any_form(use):
    order = np.random.default_rng(1).permutation(len(LABELS))
    narrow = CELSIUS.astype(np.float32)
    model = weald.RandomForestClassifier(10, random_state=0).fit(narrow, LABELS)
    expected = use(model, narrow, LABELS)
    forms = [
        (narrow.astype(np.float64), LABELS),
        (np.asfortranarray(narrow), LABELS),
        (pd.DataFrame(narrow), LABELS),
        (sparse.csr_matrix(narrow), LABELS),
        (sparse.csc_matrix(narrow.astype(np.float64)), LABELS),
        (narrow[order], LABELS[order]),
    ]
    for X, y in forms:
        found = use(model, X, y)
        assert found == expected if isinstance(expected, str) else np.allclose(found, expected)


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_both_engines_refuse_and_keep_the_same_fingerprint(engine):
    model = grown(engine=engine)
    assert model.forest_.origins == grown().forest_.origins
    assert model.forest_.origins[0].values is not None
    with pytest.raises(DataError, match="other units"):
        model.out_of_bag(CELSIUS * 2, LABELS)


def test_whole_weights_are_copies_of_rows():
    weight = np.random.default_rng(2).integers(0, 4, len(LABELS))
    copies = np.repeat(np.arange(len(LABELS)), weight)
    model = weald.RandomForestClassifier(10, random_state=0).fit(CELSIUS, LABELS, weight)
    copied = weald.RandomForestClassifier(10, random_state=0).fit(CELSIUS[copies], LABELS[copies])
    assert model.forest_.origins == copied.forest_.origins
    halves = weald.RandomForestClassifier(10, random_state=0).fit(CELSIUS, LABELS, weight / 2 + 0.25)
    with pytest.raises(DataError, match="other units"):
        halves.out_of_bag(CELSIUS + 1, LABELS, weight / 2 + 0.25)


@pytest.mark.parametrize("max_bins", [4, 65_535, None])
def test_every_value_counts_where_codes_hold_several(max_bins):
    other = CELSIUS.copy()
    middle = np.argsort(other[:, 0])[60]
    other[middle, 0] = np.nextafter(other[middle, 0], np.inf)
    with pytest.raises(DataError, match="grown from other data"):
        grown(max_bins=max_bins).out_of_bag(other, LABELS)


@pytest.mark.parametrize(
    ("kind", "y", "others"),
    [
        (weald.RandomForestRegressor, NUMBERS, [NUMBERS * 2, NUMBERS + 1]),
        (weald.RandomForestClassifier, LABELS, [LABELS + 1, np.where(LABELS, "b", "a")]),
        (weald.RandomForestRegressor, np.column_stack([NUMBERS, LABELS]), [np.column_stack([NUMBERS * 2, LABELS])]),
        (weald.RandomForestClassifier, np.column_stack([LABELS, LABELS]), [np.column_stack([LABELS, LABELS + 1])]),
    ],
    ids=["numbers", "labels", "several numbers", "several labels"],
)
def test_targets_in_other_units_or_with_other_labels_are_refused(kind, y, others):
    model = grown(kind, y)
    model.out_of_bag(CELSIUS, y)
    for other in others:
        with pytest.raises(DataError, match=r"grown from other data|has the classes"):
            model.out_of_bag(CELSIUS, other)
    with pytest.raises(DataError, match="other units"):
        model.out_of_bag(CELSIUS + 1, y)


def test_other_categories_are_refused():
    frame = pd.DataFrame({"city": pd.Categorical(np.where(CELSIUS[:, 0] > 20, "Rome", "Oslo")), "heat": CELSIUS[:, 2]})
    model = weald.RandomForestClassifier(10, random_state=0).fit(frame, LABELS)
    other = frame.assign(city=frame["city"].cat.rename_categories({"Rome": "Paris"}))
    for use in (USES["out_of_bag"], USES["importance"], explain):
        with pytest.raises(DataError, match="categories in X differ from those of the fit"):
            use(model, other, LABELS)
    model.out_of_bag(frame.assign(city=frame["city"].cat.reorder_categories(["Rome", "Oslo"])), LABELS)


def test_groups_and_other_numbers_of_features_are_refused():
    groups = np.arange(len(LABELS)) // 3
    model = weald.RandomForestClassifier(10, random_state=0).fit(CELSIUS, LABELS, groups=groups)
    with pytest.raises(DataError, match="groups or stratify differ"):
        model.out_of_bag(CELSIUS, LABELS, groups=groups // 2)
    with pytest.raises(DataError, match="X has 3 features, but the forest was fitted to 4"):
        model.out_of_bag(CELSIUS[:, :3], LABELS, groups=groups)


@pytest.mark.parametrize("given", [{"bootstrap": False}, {"resampling": "boosting"}, {"resampling": "arcing"}])
def test_a_report_on_trees_without_bags_refuses_other_data(given):
    model = grown(**given)
    model.report(CELSIUS, LABELS)
    with pytest.raises(DataError, match="other units"):
        model.report(CELSIUS + 1, LABELS)
    tree = weald.DecisionTreeClassifier(random_state=0).fit(CELSIUS, LABELS)
    with pytest.raises(DataError, match="This tree was grown from other data"):
        tree.report(CELSIUS + 1, LABELS)


def test_bags_of_boosted_trees_are_not_explained():
    tree = grown(resampling="boosting").estimators_[3]
    with pytest.raises(weald.ParameterError, match="boosting or arcing"):
        tree.explain_split(0, CELSIUS, LABELS)


# ------------------------------------------------------------------------------------------- fits that go on


@units
def test_a_checkpoint_refuses_other_values(X, tmp_path):
    model = weald.RandomForestClassifier(6, random_state=0)
    model.fit(CELSIUS, LABELS, checkpoint=tmp_path, every=3)
    with pytest.raises(FormatError, match=r"another fit: .* values of X \(columns may be in other units\) differs"):
        model.fit(X, LABELS, checkpoint=tmp_path, every=3)


@units
@pytest.mark.parametrize("given", [{}, {"resampling": "boosting"}], ids=["bagging", "boosting"])
def test_a_warm_start_refuses_other_values_of_the_same_ranks(X, given):
    model = grown(warm_start=True, **given).set_params(n_estimators=12)
    with pytest.raises(DataError, match=r"but other values.*thresholds of the trees that warm_start=True keeps"):
        model.fit(X, LABELS)
    assert model.forest_.n_trees == 10


def test_a_warm_start_of_several_targets_refuses_other_values():
    y = np.column_stack([NUMBERS, LABELS])
    for X, other in ((CELSIUS + 1, y), (CELSIUS, y * 2)):
        model = grown(weald.RandomForestRegressor, y, warm_start=True).set_params(n_estimators=12)
        with pytest.raises(DataError, match="same ranks, but other values"):
            model.fit(X, other)


def test_a_warm_start_takes_other_rows():
    model = grown(warm_start=True).set_params(n_estimators=12).fit(CELSIUS[:60] + 1, LABELS[:60])
    assert model.forest_.n_trees == 12


def test_a_warm_start_of_a_kernel_forest_refuses_other_samples():
    X = np.nan_to_num(CELSIUS)
    for other in (X * 2, X[:80]):
        model = weald.KernelForestClassifier(5, random_state=0, contrast=False, warm_start=True).fit(X, LABELS)
        with pytest.raises(DataError, match="but they have changed"):
            model.set_params(n_estimators=8).fit(other, LABELS[: len(other)])


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("mix", [True, False])
def test_a_kernel_forest_refuses_other_values(mix, engine):
    X = np.nan_to_num(CELSIUS)[:60]
    model = weald.KernelForestClassifier(4, random_state=0, mix=mix, engine=engine).fit(X, LABELS[:60])
    assert model.forest_.origins[0].values is not None
    model.out_of_bag(X, LABELS[:60])
    with pytest.raises(DataError, match="grown from other data"):
        model.out_of_bag(X * 2, LABELS[:60])


def test_kernel_columns_have_the_same_fingerprint_in_blocks_and_at_once(monkeypatch):
    X = np.nan_to_num(CELSIUS)
    whole = weald.KernelForestClassifier(4, random_state=0).fit(X, LABELS)
    monkeypatch.setattr("weald.estimators.kernel.table.BLOCK", 1)  # a few columns at a time
    parts = weald.KernelForestClassifier(4, random_state=0).fit(X, LABELS)
    assert parts.forest_.origins == whole.forest_.origins
    again = weald.KernelForestClassifier(4, random_state=0, engine="reference").fit(X, LABELS)
    assert again.forest_.origins == whole.forest_.origins


# ------------------------------------------------------------------------------------------------------- files


def test_the_fingerprint_is_kept_in_files_and_pickles(tmp_path):
    model = grown()
    model.save(tmp_path / "model.weald")
    model.to_json(tmp_path / "model.json")
    ways = [
        weald.load(tmp_path / "model.weald"),
        weald.from_json(tmp_path / "model.json"),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model)[2:] + model[:2],
    ]
    for again in ways:
        assert {origin.values for origin in again.forest_.origins} == {model.forest_.origins[0].values}
        with pytest.raises(DataError, match="other units"):
            again.out_of_bag(CELSIUS + 1, LABELS)


@uses
def test_a_forest_of_an_earlier_version_is_judged_by_its_leaves(use):
    model = grown()
    old = tuple(replace(origin, values=None) for origin in model.forest_.origins)
    model.forest_ = replace(model.forest_, origins=old)
    use(model, CELSIUS, LABELS)
    with pytest.raises(DataError, match="other units"):
        use(model, CELSIUS + 273.25, LABELS)


def test_trees_of_the_same_ranks_in_other_units_are_no_twins(recwarn):
    weald.merge([grown(), weald.RandomForestClassifier(10, random_state=0).fit(CELSIUS + 1, LABELS)])
    assert not [one for one in recwarn if "count twice" in str(one.message)]


def test_a_store_of_the_table_is_the_training_data_and_another_is_not(tmp_path):
    stores = [
        weald.codes.from_chunks([(X[:50], LABELS[:50]), (X[50:], LABELS[50:])], folder=tmp_path / name)
        for name, X in (("same", CELSIUS), ("other", CELSIUS + 1))
    ]
    model = grown()
    assert model.out_of_bag(stores[0], None).error == model.out_of_bag(CELSIUS, LABELS).error
    with pytest.raises(DataError, match="other units"):
        model.out_of_bag(stores[1], None)
    grown_from_store = weald.RandomForestClassifier(10, random_state=0).fit(stores[0])
    assert grown_from_store.forest_.origins == model.forest_.origins


def test_a_store_of_an_earlier_version_is_judged_by_leaves(tmp_path):
    stores = []
    for name, X in (("same", CELSIUS), ("other", CELSIUS + 273.25)):
        made = weald.codes.from_chunks([(X, LABELS)], folder=tmp_path / name)
        made._about = replace(made._about, values=None)
        stores.append(made)
    model = weald.RandomForestClassifier(10, random_state=0, oob_score=True).fit(stores[0])
    assert model.forest_.origins[0].values is None
    for forest in (model, grown()):
        forest.out_of_bag(CELSIUS, LABELS)
        forest.out_of_bag(stores[0], None)
        with pytest.raises(DataError, match="other units"):
            forest.out_of_bag(stores[1], None)


def test_evaluate_does_not_take_other_units_for_the_training_rows(tmp_path, capsys):
    names = ["a", "b", "c", "d"]
    frame = pd.DataFrame(CELSIUS, columns=names).assign(y=LABELS)
    weald.RandomForestClassifier(10, random_state=0).fit(frame[names], LABELS).save(tmp_path / "m.weald")
    for shift, expected in ((0, True), (1, False)):
        frame.assign(a=frame["a"] + shift).to_csv(tmp_path / "t.csv", index=False)
        assert run(["evaluate", str(tmp_path / "m.weald"), str(tmp_path / "t.csv"), "-t", "y", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["training_rows"] == expected
