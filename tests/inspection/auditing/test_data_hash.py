"""The hash of training data in a model: what it covers, where it is kept, and when it is given up."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import weald
from tests.io.mutate import Mutator, sign
from weald.errors import DataError, FormatError
from weald.io import files

RNG = np.random.default_rng(5)
FRAME = pd.DataFrame(
    {
        "height": RNG.normal(size=80).round(1),
        "kind": RNG.choice(np.array(["ash", "oak", None], dtype=object), 80),
        "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(RNG.integers(0, 90, 80), unit="D"),
    }
)
LABELS = np.where(RNG.random(80) < 0.4, "yes", "no")


def hash_of(X, y, sample_weight=None, model=weald.RandomForestClassifier, **parameters):
    fitted = model(3, random_state=0, **parameters).fit(X, y, sample_weight)
    return fitted.attach_data_hash(X, y, sample_weight).data_hash_


def test_neither_the_order_of_rows_nor_parameters_nor_engines_matter():
    shuffled = RNG.permutation(80)
    expected = hash_of(FRAME, LABELS)
    assert expected == hash_of(FRAME.iloc[shuffled], LABELS[shuffled])
    assert expected == hash_of(FRAME, LABELS, max_depth=2, max_bins=4, n_jobs=3)
    assert expected == hash_of(FRAME, LABELS, engine="reference")
    assert expected == hash_of(FRAME, LABELS, model=weald.ExtraTreesClassifier)


def test_a_weight_is_copies_and_a_weight_of_0_is_no_row():
    weight = RNG.integers(0, 3, 80)
    copies = np.repeat(np.arange(80), weight)
    assert hash_of(FRAME, LABELS, weight) == hash_of(FRAME.iloc[copies], LABELS[copies])
    assert hash_of(FRAME, LABELS, weight / 2) != hash_of(FRAME, LABELS, weight)


@pytest.mark.parametrize("column", list(FRAME))
def test_every_column_counts(column):
    changed = FRAME.copy()
    changed.loc[7, column] = {"height": 9.5, "kind": "elm", "day": pd.Timestamp("2021-01-01")}[column]
    assert hash_of(changed, LABELS) != hash_of(FRAME, LABELS)


def test_labels_count_as_well_as_codes():
    expected = hash_of(FRAME, LABELS)
    assert expected != hash_of(FRAME.assign(kind=FRAME["kind"].replace("oak", "olm")), LABELS)
    assert expected != hash_of(FRAME, np.where(LABELS == "yes", "yea", LABELS))


def test_the_types_of_numbers_do_not_count():
    X, y = FRAME[["height"]].to_numpy(), (LABELS == "yes").astype(np.int64)
    expected = hash_of(X, y)
    assert expected == hash_of(X, y.astype(np.int8)) == hash_of(X, y.astype(float)) == hash_of(X.tolist(), y.tolist())
    assert expected == hash_of(sparse.csr_matrix(X), y) == hash_of(np.asfortranarray(X), y == 1)
    assert expected != hash_of(X, y, model=weald.RandomForestRegressor)


def test_several_targets_have_one_hash():
    Y = np.column_stack([np.arange(80) % 3, LABELS == "yes"]).astype(int)
    expected = hash_of(FRAME[["height"]], Y)
    changed = Y.copy()
    changed[5, 1] ^= 1
    assert hash_of(FRAME[["height"]], changed) != expected
    model = weald.RandomForestClassifier(3, random_state=0).fit(FRAME[["height"]], Y)
    one = model.attach_data_hash(FRAME[["height"]], Y).of_target(0)
    assert not hasattr(one, "data_hash_")


def test_a_store_has_the_hash_of_its_table(tmp_path):
    X, y = RNG.normal(size=(300, 2)).round(2), RNG.normal(size=300).round(1)
    expected = hash_of(X, y, model=weald.RandomForestRegressor)
    store = weald.codes.from_chunks([(X[:100], y[:100]), (X[100:], y[100:])], folder=tmp_path / "a")
    model = weald.RandomForestRegressor(3, random_state=0).fit(store)
    assert model.attach_data_hash(store).data_hash_ == expected == model.attach_data_hash(X, y).data_hash_
    assert weald.audit(model, store).passed
    few = weald.codes.from_chunks([(X, y)], folder=tmp_path / "b", max_bins=8)
    model = weald.RandomForestRegressor(3, random_state=0, max_bins=8).fit(few)
    with pytest.raises(DataError, match="keep_values=True"):
        model.attach_data_hash(few)
    kept = weald.codes.from_chunks([(X, y)], folder=tmp_path / "c", max_bins=8, keep_values=True)
    assert model.attach_data_hash(kept).data_hash_ == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.xdist_group("dask")
def test_partitions_have_the_hash_of_the_table():
    dd = pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("distributed")
    table = FRAME[["height", "kind"]].assign(y=LABELS, w=RNG.integers(0, 3, 80) / 2)
    expected = hash_of(table[["height", "kind"]], table["y"], table["w"])
    with distributed.LocalCluster(2, processes=False, dashboard_address=None) as cluster, distributed.Client(cluster):
        parts = dd.from_pandas(table, npartitions=5)
        given = parts[["height", "kind"]], parts["y"], parts["w"]
        model = weald.RandomForestClassifier(3, random_state=0).fit(*given)
        assert model.attach_data_hash(*given).data_hash_ == expected
        assert weald.audit(model, *given).passed


def fitted():
    return weald.RandomForestClassifier(3, random_state=0).fit(FRAME, LABELS).attach_data_hash(FRAME, LABELS)


def test_files_json_pickles_and_slices_keep_the_hash(tmp_path):
    model = fitted()
    model.save(tmp_path / "m.weald")
    model.to_json(tmp_path / "m.json")
    copies = weald.load(tmp_path / "m.weald"), weald.from_json(tmp_path / "m.json"), pickle.loads(pickle.dumps(model))
    assert {one.data_hash_ for one in [*copies, model[:2], model.compact()]} == {model.data_hash_}
    assert weald.merge([model[:1], model[1:]]).data_hash_ == model.data_hash_


def test_a_new_fit_and_a_merge_of_other_data_have_no_hash():
    model = fitted()
    other = weald.RandomForestClassifier(3, random_state=1).fit(FRAME, LABELS)
    assert not hasattr(weald.merge([model, other]), "data_hash_")
    assert not hasattr(model.fit(FRAME, LABELS), "data_hash_")


@pytest.mark.parametrize("wrong", ["", "00", "g" * 64, "A" * 64, 5, None, ["0" * 64]])
def test_a_file_with_a_wrong_hash_is_refused(wrong):
    mutator = Mutator(b"".join(files.write(fitted())))
    notes = mutator.notes
    notes["optional"]["training"]["data_hash"] = wrong
    with pytest.raises(FormatError, match="notes on the training data"):
        files.read(sign({**mutator.texts, "weald.notes": json.dumps(notes)}, dict(mutator.arrays)))


def test_other_data_has_no_place_in_a_model():
    model = fitted()
    with pytest.raises(DataError, match="grown from other data"):
        model.attach_data_hash(FRAME.iloc[1:], LABELS[1:])
    with pytest.raises(DataError, match="categories in X differ"):
        model.attach_data_hash(FRAME.assign(kind="oak"), LABELS)
    kernel = weald.KernelForestClassifier(3, random_state=0).fit(RNG.normal(size=(30, 2)), [0, 1] * 15)
    with pytest.raises(weald.ExportError, match="does not support kernels"):
        kernel.attach_data_hash(RNG.normal(size=(30, 2)), [0, 1] * 15)
