"""A forest grown on a cluster equals the forest grown on one machine. The cluster is real, and processes are killed."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import weald
from weald import ClusterError, DataError, DataTypeError, ParameterError
from weald import dask as on_cluster
from weald.codes import bins
from weald.dask import cluster, coding, scheduler, work_split
from weald.engines import progress

dask = pytest.importorskip("dask")
delayed = dask.delayed
dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default"), pytest.mark.xdist_group("dask")]
COLUMNS = ["number", "label", "many"]
NUMBERS = ["number", "many"]


def frame(n_rows=2000):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "number": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows).round(2)),
            "label": rng.choice(np.array(["ash", "elm", "oak", None], dtype=object), n_rows),
            "many": rng.integers(0, 300, n_rows).astype(float),
            "w": rng.integers(0, 3, n_rows).astype(float),
        }
    )
    noise = rng.normal(size=n_rows)
    table["y"] = np.where(table["number"].fillna(0) + (table["label"] == "oak") + noise > 0.3, "yes", "no")
    table["z"] = table["number"].fillna(0) + noise
    return table


def start(n_workers, n_threads=1, memory_limit="2GiB"):
    how = {"processes": True, "dashboard_address": None, "memory_limit": memory_limit}
    return distributed.LocalCluster(n_workers=n_workers, threads_per_worker=n_threads, **how)


@pytest.fixture(scope="module")
def client():
    with start(2) as local, distributed.Client(local) as made:
        yield made


def partitioned(table, ends):
    """Partition a frame at these rows; some partitions may be empty."""
    pieces = [table.iloc[begin:end] for begin, end in zip([0, *ends], [*ends, len(table)], strict=True)]
    return dd.from_delayed([delayed(piece) for piece in pieces], meta=table.iloc[:0])


def assert_same_out_of_bag(model, local):
    """Out-of-bag results are equal, for each row, including rows of weight 0, and in total."""
    for name in ("oob_score_", "oob_error_", "oob_fraction_"):
        assert getattr(model, name) == getattr(local, name)
    for name in ("error", "share", "n_trees"):
        np.testing.assert_array_equal(getattr(model.oob_.curve, name), getattr(local.oob_.curve, name))
    np.testing.assert_array_equal(model.oob_.counts, local.oob_.counts)
    np.testing.assert_array_equal(model.oob_.predictions, local.oob_.predictions)
    for tree in (0, model.oob_.n_trees - 1):
        np.testing.assert_array_equal(model.oob_.rows(tree), local.oob_.rows(tree))
    np.testing.assert_array_equal(model.oob_.trees(17), local.oob_.trees(17))


PARTITIONS = {"1": [], "3": [700, 900], "7, uneven, empty": [0, 10, 10, 500, 1990, 2000]}


@pytest.fixture(scope="module")
def local():
    """The forest grown on one machine."""
    table = frame()
    model = weald.RandomForestClassifier(n_estimators=12, random_state=3, oob_score=True)
    return model.fit(table[COLUMNS], table["y"], table["w"])


def assert_same_forest(local, parted):
    model = on_cluster.RandomForestClassifier(n_estimators=12, random_state=3, oob_score=True)
    model.fit(parted[COLUMNS], parted["y"], parted["w"])
    assert model.forest_.fingerprint() == local.forest_.fingerprint()
    assert_same_out_of_bag(model, local)
    np.testing.assert_array_equal(model.feature_importances_, local.feature_importances_)
    assert model.classes_.tolist() == local.classes_.tolist()
    assert model.schema_.names == local.schema_.names


@pytest.mark.parametrize("ends", PARTITIONS.values(), ids=PARTITIONS)
def test_any_partitions_give_the_same_forest(client, local, ends):
    assert_same_forest(local, partitioned(frame(), ends))


@pytest.mark.parametrize("category_penalty", ["auto", 0])
def test_columns_of_many_categories_are_cut_alike(client, category_penalty):
    """By default, they are cut in order, by the rows of all partitions."""
    table = frame()
    table["name"] = [f"name {i:03}" for i in np.random.default_rng(1).integers(0, 150, len(table))]
    parted, chosen = partitioned(table, PARTITIONS["7, uneven, empty"]), [*COLUMNS, "name"]
    kinds = (weald.RandomForestClassifier, on_cluster.RandomForestClassifier)
    models = [kind(4, random_state=3, max_bins=50, category_penalty=category_penalty) for kind in kinds]
    for model, rows in zip(models, (table, parted), strict=True):
        model.fit(rows[chosen], rows["y"], rows["w"])
    assert models[0].forest_.fingerprint() == models[1].forest_.fingerprint()
    name = models[0].forest_.feature == 3
    assert ((models[0].forest_.flags[name] & 2 != 0) == (category_penalty == 0)).all()


def test_small_files_give_the_same_forest(client, local, tmp_path):
    """Dask reads several small files as one partition; how many depends on the columns that are read."""
    pytest.importorskip("pyarrow")
    for i in range(12):
        frame().iloc[i * 170 : (i + 1) * 170].to_parquet(tmp_path / f"{i:02}.parquet")
    files = dd.read_parquet(tmp_path)
    assert files[COLUMNS].optimize().npartitions != files["y"].optimize().npartitions
    assert_same_forest(local, files)


def share_all(monkeypatch):
    """Let threads share tables, and workers share the binning of columns, however small and few."""
    monkeypatch.setattr(work_split, "CELLS_PER_THREAD", 1)
    monkeypatch.setattr(work_split, "COLUMNS_PER_THREAD", 1)
    monkeypatch.setattr(coding, "COLUMNS_TO_CUT", 1)


def test_any_number_of_workers_and_threads_gives_the_same_forest(local, monkeypatch):
    share_all(monkeypatch)
    with start(1, n_threads=2) as growing, distributed.Client(growing) as client:
        for n_workers in (1, 3, 4):
            growing.scale(n_workers)
            client.wait_for_workers(n_workers)
            for ends in PARTITIONS.values():
                assert_same_forest(local, partitioned(frame(), ends))


@pytest.mark.parametrize(
    ("kind", "target", "kwargs"),
    [
        ("RandomForestClassifier", "y", {"oob_score": True}),
        ("RandomForestRegressor", "z", {"oob_score": True}),
        ("RandomForestClassifier", "y", {"ccp_alpha": 0.001}),
        ("ExtraTreesRegressor", "z", {}),
        ("RandomForestRegressor", "z", {"criterion": "absolute_error", "oob_score": True}),
    ],
)
def test_the_last_tree_may_be_grown_in_pieces(client, monkeypatch, kind, target, kwargs):
    monkeypatch.setattr(work_split, "ROWS_PER_PIECE", 100)
    dealt = []
    grow_piece = scheduler.TreeJobs._grow_piece
    monkeypatch.setattr(scheduler.TreeJobs, "_grow_piece", lambda *a: dealt.append(a[1:4]) or grow_piece(*a))
    table = frame()
    given = {"n_estimators": 5, "random_state": 1, **kwargs}
    parts = partitioned(table, [700, 900])
    grown = getattr(on_cluster, kind)(**given).fit(parts[COLUMNS], parts[target])
    alone = getattr(weald, kind)(**given).fit(table[COLUMNS], table[target])
    assert dealt == [(4, 0, 2), (4, 1, 2)]  # the fifth tree, in two pieces
    assert grown.forest_.fingerprint() == alone.forest_.fingerprint()
    assert grown.forest_.origins == alone.forest_.origins
    if "oob_score" in kwargs:
        assert_same_out_of_bag(grown, alone)


def test_counts_are_fitted_on_a_cluster_and_negative_ones_refused(client):
    table = frame()
    given = {"n_estimators": 4, "random_state": 1, "criterion": "poisson", "oob_score": True}
    parts, counts = partitioned(table, [700, 900]), np.maximum(table["z"], 0.0)
    grown = on_cluster.RandomForestRegressor(**given).fit(parts[COLUMNS], parts["z"].clip(lower=0.0))
    alone = weald.RandomForestRegressor(**given).fit(table[COLUMNS], counts)
    assert grown.forest_.fingerprint() == alone.forest_.fingerprint()
    assert grown.oob_.score("poisson_deviance") == alone.oob_.score("poisson_deviance")
    with pytest.raises(weald.DataError, match="are negative which is not allowed for Poisson regression"):
        on_cluster.RandomForestRegressor(**given).fit(parts[COLUMNS], parts["z"])


def test_trees_of_so_many_leaves_are_grown_as_a_whole(client, monkeypatch):
    monkeypatch.setattr(work_split, "ROWS_PER_PIECE", 100)
    table = frame()
    given = {"n_estimators": 3, "random_state": 1, "max_leaf_nodes": 20}
    parts = partitioned(table, [700, 900])
    grown = on_cluster.RandomForestClassifier(**given).fit(parts[COLUMNS], parts["y"])
    alone = weald.RandomForestClassifier(**given).fit(table[COLUMNS], table["y"])
    assert grown.forest_.fingerprint() == alone.forest_.fingerprint()


def test_a_large_table_is_cut_by_a_sample(client, monkeypatch):
    share_all(monkeypatch)  # both workers cut columns
    rng = np.random.default_rng(6)
    n_rows = bins.SAMPLE_SIZE + 20_000
    X = np.column_stack([rng.normal(size=n_rows), rng.integers(0, 9, n_rows), rng.random(n_rows)]).astype(np.float32)
    y = (X[:, 0] + X[:, 2] + rng.normal(size=n_rows) > 0.5).astype(int)
    kwargs = {"n_estimators": 2, "random_state": 0, "max_leaf_nodes": 200}
    local = weald.RandomForestClassifier(**kwargs).fit(X, y)
    lazy = da.from_array(X, chunks=(100_000, 3)), da.from_array(y, chunks=100_000)
    model = on_cluster.RandomForestClassifier(**kwargs).fit(*lazy)
    assert model.forest_.fingerprint() == local.forest_.fingerprint()
    assert model.forest_.origins == local.forest_.origins  # equal codes for equal rows


def test_threads_of_a_worker_share_a_large_table(monkeypatch):
    share_all(monkeypatch)
    rng = np.random.default_rng(7)
    n_rows = bins.SAMPLE_SIZE + 20_000
    X = np.column_stack([*rng.normal(size=(4, n_rows)), *rng.integers(0, 9, (3, n_rows))])
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nansum(X, axis=1).round(1)
    kwargs = {"n_estimators": 2, "random_state": 0, "max_leaf_nodes": 100}
    local = weald.RandomForestRegressor(**kwargs).fit(X, y)
    shared = []
    share = coding.share_threads
    monkeypatch.setattr(coding, "share_threads", lambda *args: shared.append(share(*args)) or shared[-1])
    with start(1, n_threads=3) as one, distributed.Client(one) as client:
        lazy = client.persist((da.from_array(X, chunks=(50_000, 7)), da.from_array(y, chunks=50_000)))
        distributed.wait(lazy)
        model = on_cluster.RandomForestRegressor(**kwargs).fit(*lazy)
    assert shared == [[3]]  # all six partitions at once
    assert model.forest_.fingerprint() == local.forest_.fingerprint()
    assert model.forest_.origins == local.forest_.origins


def test_a_sample_of_rows_that_are_alike_is_found_at_the_second_look(client, monkeypatch):
    n_rows, looks = 900_000, []
    X = (
        np.random.default_rng(0).integers(0, 2, (n_rows, 1)).astype(float)
    )  # 29 % of all hashes are low, but no row's hash
    y = X[:, 0].astype(int)
    settle = coding.Coding._find_highest_hash
    monkeypatch.setattr(
        coding.Coding, "_find_highest_hash", lambda self, times: looks.append(times) or settle(self, times)
    )
    local = weald.RandomForestClassifier(2, random_state=0).fit(X, y)
    model = on_cluster.RandomForestClassifier(2, random_state=0)
    model.fit(da.from_array(X, chunks=(300_000, 1)), da.from_array(y, chunks=300_000))
    assert looks == [1, 16]
    assert model.forest_.fingerprint() == local.forest_.fingerprint()
    assert model.forest_.origins == local.forest_.origins


def test_outliers_of_the_target_and_scales_of_weights_travel(client):
    table = frame()
    table["w"] = table["w"] + 0.5
    for size, is_coarse in ((1e10, False), (1e20, True)):
        table["z"] = np.where(np.arange(len(table)) == 7, size, table["z"])
        parted, found = partitioned(table, (900,)), []
        for forest, data in ((weald.RandomForestRegressor, table), (on_cluster.RandomForestRegressor, parted)):
            model = forest(n_estimators=2, bootstrap=False, random_state=0)
            with warnings.catch_warnings(record=True) as predicted:
                warnings.simplefilter("always")
                model.fit(data[COLUMNS], data["z"], data["w"])
            assert is_coarse == any("y is rounded to multiples" in str(one.message) for one in predicted)
            found.append(model.forest_)
        assert found[0].fingerprint() == found[1].fingerprint()
        np.testing.assert_array_equal(found[0].weight_scale, found[1].weight_scale)
        assert len(found[0].weight_scale) == 2


def test_shuffled_rows_give_the_same_forest(client):
    table = frame()
    mixed = partitioned(table.sample(frac=1, random_state=1), [800, 1500])
    local = weald.RandomForestRegressor(n_estimators=5, random_state=0).fit(table[COLUMNS], table["z"])
    model = on_cluster.RandomForestRegressor(n_estimators=5, random_state=0).fit(mixed[COLUMNS], mixed["z"])
    assert model.forest_.fingerprint() == local.forest_.fingerprint()


@pytest.mark.parametrize("shrinkage", [0.0, 20.0])
@pytest.mark.parametrize("kind", ["ExtraTreesClassifier", "RandomForestClassifier"])
def test_arrays_and_lazy_predictions(client, kind, shrinkage):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(900, 4))
    y = (X[:, 0] + rng.normal(size=900) > 0).astype(int)
    lazy = da.from_array(X, chunks=(250, 2)), da.from_array(y, chunks=250)
    given = {"n_estimators": 6, "random_state": 0, "shrinkage": shrinkage}
    local = getattr(weald, kind)(**given).fit(X, y)
    model = getattr(on_cluster, kind)(**given).fit(*lazy)
    assert model.forest_.fingerprint() == local.forest_.fingerprint()
    shares = model.predict_proba(lazy[0])
    assert shares.shape == (900, 2)
    np.testing.assert_array_equal(shares.compute(), local.predict_proba(X))
    np.testing.assert_array_equal(model.predict(lazy[0]).compute(), local.predict(X))
    np.testing.assert_array_equal(model.predict(X), local.predict(X))


def test_predictions_of_frames_keep_their_index(client):
    table = frame()
    parted = partitioned(table, [500, 500])
    model = on_cluster.RandomForestClassifier(n_estimators=3, random_state=0).fit(parted[COLUMNS], parted["y"])
    found = model.predict(parted[COLUMNS]).compute()
    assert found.index.tolist() == table.index.tolist()
    assert found.tolist() == on_cluster.to_local(model).predict(table[COLUMNS]).tolist()


def test_a_model_is_sent_once_for_all_partitions(client, local):
    table = frame()
    numbers = weald.RandomForestClassifier(30, random_state=0).fit(table[["many", "w"]].to_numpy(), table["y"])
    for model, lazy in (
        (local, partitioned(table, range(100, 2000, 100))[COLUMNS]),
        (numbers, da.from_array(table[["many", "w"]].to_numpy(), chunks=(100, 2))),
    ):
        graph = dask.base.collections_to_expr([model.predict(lazy)]).optimize().__dask_graph__()
        sizes = sorted(len(pickle.dumps(task)) for task in dict(graph).values())
        assert len(sizes) > 20
        assert sizes[-2] < len(pickle.dumps(model)) / 4 < sizes[-1]
        np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(lazy.compute()))


def test_what_is_left_needs_no_dask(client):
    parted = partitioned(frame(), [500])
    model = on_cluster.RandomForestClassifier(n_estimators=3, random_state=0).fit(parted[COLUMNS], parted["y"])
    assert type(on_cluster.to_local(model)) is weald.RandomForestClassifier


def test_warm_start_goes_on(client):
    table = frame()
    parted = partitioned(table, [500])
    model = on_cluster.RandomForestClassifier(n_estimators=3, random_state=0, warm_start=True)
    model.fit(parted[COLUMNS], parted["y"]).set_params(n_estimators=7).fit(parted[COLUMNS], parted["y"])
    local = weald.RandomForestClassifier(n_estimators=7, random_state=0).fit(table[COLUMNS], table["y"])
    assert model.forest_.fingerprint() == local.forest_.fingerprint()


def test_warm_start_refuses_other_values_of_the_same_ranks(client):
    table = frame()
    other = table.assign(**{name: table[name] * 2 for name in NUMBERS})
    for data in (partitioned(other, [500]), other):
        model = on_cluster.RandomForestClassifier(n_estimators=3, random_state=0, warm_start=True)
        model.fit(table[COLUMNS], table["y"]).set_params(n_estimators=7)
        with pytest.raises(DataError, match="the same ranks, but other values"):
            model.fit(data[COLUMNS], data["y"])
        assert model.forest_.n_trees == 3


def test_bags_of_other_partitions_are_refused(client):
    table = frame()
    model = on_cluster.RandomForestClassifier(n_estimators=3, random_state=0, warm_start=True)
    model.fit(table[COLUMNS], table["y"]).set_params(n_estimators=7, oob_score=True)
    for data in (partitioned(table[:600], [500]), table[:600]):
        with pytest.raises(DataError, match="3 of the 7 trees were grown from other data"):
            model.fit(data[COLUMNS], data["y"])


def test_a_forest_of_partitions_knows_its_values(client):
    table = frame()
    parted = partitioned(table, [300, 500])
    model = on_cluster.RandomForestClassifier(n_estimators=5, random_state=0).fit(
        parted[COLUMNS], parted["y"], sample_weight=parted["w"]
    )
    local = weald.RandomForestClassifier(n_estimators=5, random_state=0).fit(table[COLUMNS], table["y"], table["w"])
    assert model.forest_.origins == local.forest_.origins


def test_the_ordinary_forest_with_a_cluster_as_its_engine(client):
    table = frame()
    kwargs = {"n_estimators": 8, "random_state": 1, "oob_score": True}
    local = weald.RandomForestRegressor(**kwargs).fit(table[COLUMNS], table["z"], table["w"] + 0.5)
    sent = weald.RandomForestRegressor(**kwargs, engine="dask").fit(table[COLUMNS], table["z"], table["w"] + 0.5)
    parted = partitioned(table.assign(w=table["w"] + 0.5), [500, 501])
    there = weald.RandomForestRegressor(**kwargs).fit(parted[COLUMNS], parted["z"], parted["w"])
    for model in (sent, there):
        assert model.forest_.fingerprint() == local.forest_.fingerprint()
        assert_same_out_of_bag(model, local)
        for kind in ("permutation", "mdi"):
            mine, theirs = (
                weald.importance(forest, table[COLUMNS], table["z"], sample_weight=table["w"] + 0.5, kind=kind)
                for forest in (model, local)
            )
            np.testing.assert_array_equal(mine.values, theirs.values)
    assert there.predict(parted[COLUMNS]).compute().tolist() == local.predict(table[COLUMNS]).tolist()
    assert sent.predict(table[COLUMNS]).tolist() == local.predict(table[COLUMNS]).tolist()


def test_a_surface_needs_the_table_here(client):
    table = frame()
    given = {"n_estimators": 12, "random_state": 3, "oob_score": True}
    parts = partitioned(table, [700, 900])
    there = weald.RandomForestClassifier(**given).fit(parts[COLUMNS], parts["y"])
    with pytest.raises(weald.DataError, match=r"rows on a cluster stay there.*forest.out_of_bag\(X, y\).surface"):
        there.oob_.surface("max_depth")
    local = weald.RandomForestClassifier(**given).fit(table[COLUMNS], table["y"])
    assert_same_surface(there.out_of_bag(table[COLUMNS], table["y"]), local)


def assert_same_surface(found, local):
    mine, other = (of.surface("max_depth", "n_estimators") for of in (found, local.oob_))
    np.testing.assert_array_equal(mine.errors, other.errors)
    np.testing.assert_array_equal(mine.leaves, other.leaves)


DESIGNS = {
    "bags by class": ({"bootstrap": "balanced"}, []),
    "draws by class": ({"max_samples": {"yes": 50, "no": 0.5}}, []),
    "groups": ({}, ["groups"]),
    "strata": ({}, ["stratify"]),
    "weights of classes": ({"class_weight": "balanced"}, []),
    "a class without weight": ({"class_weight": {"yes": 0}}, []),
    "empty bags": ({"class_weight": {"yes": 0}, "max_samples": 1, "n_estimators": 20}, []),
    "empty bags, one tree after the other": ({"class_weight": {"no": 0}, "max_samples": 2, "n_estimators": "auto"}, []),
    "pruned": ({"ccp_alpha": 0.001}, []),
    "until it has converged": ({"n_estimators": "auto", "max_estimators": 96}, []),
    "shrunk": ({"shrinkage": 7.0}, []),
    "shrunk, until it has converged": ({"shrinkage": 7.0, "n_estimators": "auto", "max_estimators": 96}, []),
}


@pytest.mark.parametrize(("kwargs", "by_row"), DESIGNS.values(), ids=DESIGNS)
def test_designs_of_bags(client, kwargs, by_row):
    table = frame(600)
    table["groups"] = np.random.default_rng(5).integers(0, 80, 600)
    table["stratify"] = np.where(table["many"] > 100, "b", "a")
    kwargs = {"n_estimators": 6, "random_state": 2, "oob_score": True, **kwargs}
    parted = partitioned(table, [200, 200, 450])
    local = weald.RandomForestClassifier(**kwargs).fit(
        table[COLUMNS], table["y"], **{name: table[name] for name in by_row}
    )
    model = weald.RandomForestClassifier(**kwargs).fit(
        parted[COLUMNS], parted["y"], **{name: parted[name] for name in by_row}
    )
    assert model.forest_.fingerprint() == local.forest_.fingerprint()
    assert_same_out_of_bag(model, local)


def test_classes_of_rows_of_zero_weight_keep_their_column(client):
    """A partition may have no other rows."""
    table = frame(600)
    table.loc[250:399, "y"] = "maybe"
    table.loc[250:399, "w"] = 0.0
    kwargs = {"n_estimators": 6, "random_state": 2, "class_weight": "balanced", "oob_score": True}
    local = weald.RandomForestClassifier(**kwargs).fit(table[COLUMNS], table["y"], table["w"])
    for ends in ([250, 400], [200, 300], []):
        parted = partitioned(table, ends)
        model = weald.RandomForestClassifier(**kwargs).fit(parted[COLUMNS], parted["y"], parted["w"])
        assert model.classes_.tolist() == ["maybe", "no", "yes"]
        assert model.forest_.fingerprint() == local.forest_.fingerprint()
        assert model.forest_.origins == local.forest_.origins
        assert_same_out_of_bag(model, local)


def test_the_fingerprints_of_a_table_of_one_column_are_those_of_one_machine(client):
    table = pd.DataFrame({"x": np.arange(60) % 2 * 1.0, "y": np.arange(60) // 3 % 2, "g": np.arange(60) // 4})
    local = weald.RandomForestClassifier(3, random_state=0).fit(table[["x"]], table["y"], groups=table["g"])
    for ends in ([20, 21], [7]):
        parted = partitioned(table, ends)
        model = weald.RandomForestClassifier(3, random_state=0)
        model.fit(parted[["x"]], parted["y"], groups=parted["g"])
        assert model.forest_.origins == local.forest_.origins
        assert model.forest_.fingerprint() == local.forest_.fingerprint()


CUT = {
    "two classes": ("RandomForestClassifier", "y", {}),
    "hard votes": ("RandomForestClassifier", "y", {"voting": "hard"}),
    "numbers": ("RandomForestRegressor", "z", {}),
    "until it has converged": ("RandomForestClassifier", "y", {"n_estimators": "auto", "max_estimators": 96}),
    "going on": ("RandomForestRegressor", "z", {"warm_start": True}),
}


@pytest.mark.parametrize(("kind", "target", "kwargs"), CUT.values(), ids=CUT)
@pytest.mark.parametrize("ends", PARTITIONS.values(), ids=PARTITIONS)
def test_where_codes_stand_for_several_values_trees_say_the_same_of_rows_outside(client, kind, target, kwargs, ends):
    """If a node has not seen a code, its values may lie on both sides of a threshold."""
    table = frame()
    kwargs = {"n_estimators": 6, "random_state": 1, "max_bins": 8, "oob_score": True, **kwargs}
    local, there, sent = (getattr(weald, kind)(**kwargs) for _ in range(3))
    sent.set_params(engine="dask")
    parted = partitioned(table, ends)
    for n_trees in (6, 9) if "warm_start" in kwargs else [kwargs["n_estimators"]]:
        for model, data in ((local, table), (there, parted), (sent, table)):
            model.set_params(n_estimators=n_trees).fit(data[COLUMNS], data[target], data["w"])
        for model in (there, sent):
            assert model.forest_.fingerprint() == local.forest_.fingerprint()
            assert_same_out_of_bag(model, local)


def test_a_sparse_table_is_sent_with_its_values(client):
    rng = np.random.default_rng(2)
    X = sparse.random_array((900, 12), density=0.3, rng=rng, format="csr")
    y = np.asarray(X.sum(axis=1)).ravel() + rng.normal(size=900)
    kwargs = {"n_estimators": 6, "random_state": 1, "max_bins": 8, "oob_score": True}
    local = weald.RandomForestRegressor(**kwargs).fit(X, y)
    sent = weald.RandomForestRegressor(**kwargs, engine="dask").fit(X, y)
    assert sent.forest_.fingerprint() == local.forest_.fingerprint()
    assert_same_out_of_bag(sent, local)


def test_values_that_are_kept_for_rows_outside_bags_count_as_memory(client, monkeypatch):
    asked = []
    require = cluster.Cluster.require_memory
    monkeypatch.setattr(
        cluster.Cluster, "require_memory", lambda *args: asked.append(sum(args[4].values())) or require(*args)
    )
    table = frame()
    for data in (table, partitioned(table, [500])):
        for how in ({}, {"max_bins": 8}, {"max_bins": 8, "oob_score": True}):
            weald.RandomForestClassifier(3, engine="dask", **how).fit(data[COLUMNS], data["y"])
    assert asked == [0, 0, 8 * len(COLUMNS) * len(table)] * 2


def count_tables(dask_scheduler):
    """Count the parts of a table that workers hold as values."""
    return sum("read_parts" in key and task.state == "memory" for key, task in dask_scheduler.tasks.items())


def test_values_leave_the_workers_before_trees_grow(client):
    held = []
    parted = partitioned(frame(), [500])
    with progress.listening(lambda _: held.append(client.run_on_scheduler(count_tables))):
        on_cluster.RandomForestClassifier(n_estimators=64, random_state=0).fit(parted[COLUMNS], parted["y"])
    assert held[-1] == 0


def test_progress_tells_the_error_so_far(client, capsys):
    parted = partitioned(frame(), [500])
    heard = []
    with progress.listening(heard.append):
        model = weald.RandomForestClassifier(n_estimators=12, random_state=0, oob_score=True, verbose=1)
        model.fit(parted[COLUMNS], parted["y"])
    assert heard[-1][:2] == (12, 12)
    assert f"out-of-bag error {model.oob_error_:.4g}" in capsys.readouterr().err


def test_codes_that_do_not_fit_a_worker_are_refused(client, monkeypatch):
    monkeypatch.setattr(cluster, "SHARE_OF_MEMORY", 1e-6)
    parted = partitioned(frame(), [500])
    with pytest.raises(ClusterError, match=r"need about .* on each worker, but .* may use"):
        weald.RandomForestClassifier().fit(parted[COLUMNS], parted["y"])


def test_what_cannot_be_had_is_refused(client):
    table = frame()
    parted = partitioned(table, [500])
    with pytest.raises(ParameterError, match="resampling='arcing' grows one tree after the other"):
        weald.RandomForestClassifier(resampling="arcing").fit(parted[COLUMNS], parted["y"])
    with pytest.raises(ParameterError, match="shrinkage='oob' needs the training rows in this process"):
        weald.RandomForestClassifier(shrinkage="oob").fit(parted[COLUMNS], parted["y"])
    with pytest.raises(DataError, match="X is a Dask collection"):
        weald.DecisionTreeClassifier().fit(parted[COLUMNS], table["y"])
    with pytest.raises(DataError, match="y is not"):
        on_cluster.RandomForestClassifier().fit(parted[COLUMNS], table["y"])
    with pytest.raises(DataError, match="differ in number"):
        on_cluster.RandomForestClassifier().fit(parted[COLUMNS], partitioned(table, [2, 3])["y"])
    with pytest.raises(DataError, match=r"Row .* of y .* This is partition [01]; partitions and rows"):
        on_cluster.RandomForestRegressor().fit(parted[COLUMNS], parted["number"])
    X = da.from_array(np.arange(4.0).reshape(4, 1), chunks=(2, 1))
    y = da.from_array(np.array([1, 2, "a", "b"], dtype=object), chunks=2)
    with pytest.raises(DataTypeError, match=r"y holds numbers in partition 0, such as 1, and text in partition 1"):
        on_cluster.RandomForestClassifier().fit(X, y)


def find_no_client():
    msg = "No global client found and no address provided"
    raise ValueError(msg)


def test_without_a_client(monkeypatch):
    parted = partitioned(frame(), [500])
    monkeypatch.setattr(distributed, "get_client", find_no_client)
    with pytest.raises(ClusterError, match="no Dask client"):
        on_cluster.RandomForestClassifier().fit(parted[COLUMNS], parted["y"])


# ------------------------------------------------------------------------------------------------------------ faults


def kill_one_after(local, seconds):
    """Kill a worker's process, as the system does if memory is exhausted."""

    def kill():
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError, TypeError):  # it is just being replaced
            os.kill(next(iter(local.workers.values())).pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


HOW = {"n_estimators": 40, "random_state": 0}


def test_a_worker_that_dies_while_pieces_of_a_tree_grow(monkeypatch):
    monkeypatch.setattr(work_split, "ROWS_PER_PIECE", 1000)
    table = frame(100_000)
    table["many"] += np.random.default_rng(1).normal(size=len(table))
    how = {"n_estimators": 1, "random_state": 0, "max_features": None}
    expected = weald.RandomForestClassifier(**how).fit(table[COLUMNS], table["y"])
    for seconds in (0.1, 0.3, 0.5):
        with start(2) as local, distributed.Client(local):
            parts = partitioned(table, [20_000, 45_000])
            killer = kill_one_after(local, seconds)
            model = on_cluster.RandomForestClassifier(**how).fit(parts[COLUMNS], parts["y"])
            killer.join()
            assert model.forest_.fingerprint() == expected.forest_.fingerprint()


@pytest.mark.parametrize("is_sent", [False, True])
@pytest.mark.parametrize("how", [HOW, HOW | {"oob_score": True, "max_bins": 8}], ids=["codes", "values, too"])
def test_a_worker_that_dies_costs_nothing_but_time(how, is_sent):
    table = frame(10_000)
    expected = weald.RandomForestClassifier(**how).fit(table[COLUMNS], table["y"])
    for seconds in (0.05, 0.3, 0.8):  # each needs its own cluster: Dask may not replace a worker that is killed twice
        with start(2) as local, distributed.Client(local):
            data = table if is_sent else partitioned(table, [2000, 4500, 7500])
            killer = kill_one_after(local, seconds)
            model = on_cluster.RandomForestClassifier(**how).fit(data[COLUMNS], data["y"])
            killer.join()
            assert model.forest_.fingerprint() == expected.forest_.fingerprint()
            if how is not HOW:
                assert_same_out_of_bag(model, expected)


def test_a_worker_that_dies_while_a_forest_settles_costs_nothing_but_time(monkeypatch):
    """Trees that were sent cannot be computed again: they must stay."""
    table, looks = frame(3000), []
    how = {"n_estimators": "auto", "max_estimators": 96, "random_state": 0, "max_bins": 8}
    expected = weald.RandomForestClassifier(**how).fit(table[COLUMNS], table["y"])
    look = scheduler.Scheduler.sum_votes
    with start(2) as local, distributed.Client(local):

        def look_and_kill(*args, **kwargs):
            looks.append(look(*args, **kwargs))
            if len(looks) == 2:
                kill_one_after(local, 0).join()
            return looks[-1]

        monkeypatch.setattr(scheduler.Scheduler, "sum_votes", look_and_kill)
        parted = partitioned(table, [900, 1700])
        model = on_cluster.RandomForestClassifier(**how).fit(parted[COLUMNS], parted["y"])
    assert len(looks) > 2
    assert model.forest_.fingerprint() == expected.forest_.fingerprint()
    assert_same_out_of_bag(model, expected)


def pause(dask_worker):
    dask_worker.status = distributed.core.Status.paused


def test_a_worker_that_is_paused_is_sent_nothing(monkeypatch):
    table, how = frame(), {"n_estimators": 4, "random_state": 0, "max_bins": 8, "oob_score": True}
    expected = weald.RandomForestClassifier(**how).fit(table[COLUMNS], table["y"])
    with start(2, memory_limit=0) as local, distributed.Client(local) as client:  # otherwise it would soon be resumed
        client.run(pause, workers=[next(iter(client.scheduler_info()["workers"]))])
        wait_until(lambda: len(cluster.Cluster().slots()) == 1)
        monkeypatch.setattr(cluster.Cluster, "_scatter", scatter_in_time(cluster.Cluster._scatter))
        model = on_cluster.RandomForestClassifier(**how).fit(table[COLUMNS], table["y"])
    assert_same_out_of_bag(model, expected)


def scatter_in_time(scatter):
    """Disable waiting for a worker that accepts no tasks."""
    return lambda *args, **kwargs: scatter(*args, **kwargs | {"timeout": 2})


def fit_until_the_first_trees(do, **how):
    """Start a long fit, and do something when the first trees have arrived."""
    parted = partitioned(frame(10_000), [2000, 4500, 7500])
    with progress.listening(lambda _: do()):
        on_cluster.RandomForestClassifier(n_estimators=400, random_state=0, **how).fit(parted[COLUMNS], parted["y"])


def interrupt():
    raise KeyboardInterrupt


def wait_until(is_so, seconds=60):
    """Wait for an asynchronous change: the client informs the scheduler, and the scheduler the workers."""
    deadline = time.monotonic() + seconds
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert is_so()


def wait_until_free(client):
    wait_until(lambda: not any(client.processing().values()))


def tasks_of_fits(dask_scheduler):
    """List the tasks and data that a fit has left on the cluster."""
    kinds = ("grow_trees", "grow_piece", "join_pieces", "code_part", "read_parts")
    return [str(key) for key in dask_scheduler.tasks if any(kind in str(key) for kind in kinds)]


@pytest.mark.parametrize("oob_score", [False, True])  # in that case other tasks need the trees
def test_cancelling_frees_the_cluster_and_leaves_what_the_user_has_there(client, oob_score):
    own = client.scatter("kept")
    with pytest.raises(KeyboardInterrupt) as held:  # the traceback refers to the data, as in notebooks
        fit_until_the_first_trees(interrupt, oob_score=oob_score)
    wait_until_free(client)
    wait_until(lambda: not client.run_on_scheduler(tasks_of_fits))
    assert held.tb
    assert own.key in client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
    assert own.result() == "kept"


@pytest.mark.parametrize("oob_score", [False, True])
def test_a_client_that_is_closed_is_named(oob_score):
    for _ in range(3):  # the closed client can be noticed at different points
        named = pytest.raises(ClusterError, match="the forest will be the same")
        with start(1) as local, distributed.Client(local) as client, named:
            fit_until_the_first_trees(client.close, oob_score=oob_score)


def test_a_fit_goes_on_while_the_thread_that_tells_of_tasks_is_busy(client):
    table, busy = frame(), threading.Event()
    expected = weald.RandomForestClassifier(n_estimators=40, random_state=0).fit(table[COLUMNS], table["y"])
    client.submit(len, "done").add_done_callback(lambda _: busy.wait(60))
    parts = partitioned(table, [700])
    grown = on_cluster.RandomForestClassifier(n_estimators=40, random_state=0).fit(parts[COLUMNS], parts["y"])
    busy.set()
    assert grown.forest_.fingerprint() == expected.forest_.fingerprint()


def test_what_is_said_of_tasks_is_said_of_all_of_them(client, monkeypatch):
    heard, submit = [], client.submit
    parts = partitioned(frame(), [700])

    def note(*args, **how):
        heard.append((threading.current_thread().name, dask.get_annotations()))
        return submit(*args, **how)

    monkeypatch.setattr(client, "submit", note)
    with dask.annotate(retries=7):
        on_cluster.RandomForestClassifier(n_estimators=40, random_state=0).fit(parts[COLUMNS], parts["y"])
    assert len({thread for thread, _ in heard}) > 1  # the first tasks are submitted here, later ones by Dask's thread
    assert all(predicted == {"retries": 7} for _, predicted in heard)


@contextlib.contextmanager
def scheduler_by_itself(folder):
    """Start a scheduler and a worker in separate processes: those of a local cluster run in this one."""
    file = ["--scheduler-file", str(folder / "scheduler.json"), "--no-dashboard"]
    run = [sys.executable, "-m"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*run, "distributed.cli.dask_scheduler", "--port", "0", *file], **quiet)
    worker = subprocess.Popen([*run, "distributed.cli.dask_worker", "--nthreads", "1", *file], **quiet)
    try:
        deadline = time.monotonic() + 60
        while not (folder / "scheduler.json").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        with distributed.Client(scheduler_file=file[1], timeout=60) as client:
            client.wait_for_workers(1, timeout=60)
            yield scheduler
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


def test_a_scheduler_that_dies_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 2.0)
    with scheduler_by_itself(tmp_path) as scheduler, pytest.raises(ClusterError, match="scheduler"):
        fit_until_the_first_trees(scheduler.kill)


LONG_FIT = """
import sys
import dask.array as da
import distributed
import numpy as np
import weald
from weald.engines import progress

client = distributed.Client(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 5))
lazy = da.from_array(X, chunks=(5000, 5)), da.from_array((X[:, 0] > rng.normal(size=20_000)).astype(int), chunks=5000)
with progress.listening(lambda growing: print("trees", growing.n_done, flush=True)):
    weald.RandomForestClassifier(n_estimators=5000, random_state=0).fit(*lazy)
"""


def test_a_client_that_is_killed_leaves_the_cluster_free():
    with start(1) as local, distributed.Client(local) as client:
        fitting = subprocess.Popen([sys.executable, "-c", LONG_FIT, local.scheduler_address], stdout=subprocess.PIPE)
        with fitting:
            assert fitting.stdout.readline().startswith(b"trees")
            assert any(client.processing().values())
            fitting.kill()
        wait_until_free(client)


def test_all_workers_die_and_one_is_added():
    table = frame(10_000)
    expected = weald.RandomForestClassifier(n_estimators=60, random_state=0).fit(table[COLUMNS], table["y"])
    parted, killed = partitioned(table, [2000, 4500, 7500]), []
    with start(2) as local, distributed.Client(local):

        def kill_all(_):
            if not killed:
                killed.extend(worker.pid for worker in local.workers.values())
                local.scale(3)
                for process in killed:
                    os.kill(process, signal.SIGKILL)

        with progress.listening(kill_all):
            model = on_cluster.RandomForestClassifier(n_estimators=60, random_state=0)
            model.fit(parted[COLUMNS], parted["y"])
    assert len(killed) == 2
    assert model.forest_.fingerprint() == expected.forest_.fingerprint()


def count_trees(dask_scheduler):
    """Count the trees that workers hold."""
    kinds = ("grow_trees", "grow_piece", "join_pieces")
    held = [str(key) for key, task in dask_scheduler.tasks.items() if task.state == "memory"]
    return sum(any(kind in key for kind in kinds) for key in held)


@pytest.mark.parametrize("n_trees", [64, 65])  # the last of 65 is grown in pieces
def test_trees_leave_the_workers_when_they_are_here(client, monkeypatch, n_trees):
    """Otherwise a worker would store all of its trees until the end of the fit."""
    monkeypatch.setattr(work_split, "ROWS_PER_PIECE", 100)
    monkeypatch.setattr(work_split, "ROWS_PER_TASK", (1000, 1000))
    held = []

    def look(growing):
        deadline = time.monotonic() + 30
        while growing.n_done == n_trees and time.monotonic() < deadline:
            held.append(client.run_on_scheduler(count_trees))
            if held[-1] == 0:
                return
            time.sleep(0.05)

    parted = partitioned(frame(), [500])
    with progress.listening(look):
        on_cluster.RandomForestClassifier(n_estimators=n_trees, random_state=0).fit(parted[COLUMNS], parted["y"])
    assert held[-1] == 0


def test_a_cluster_without_workers_is_named(monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    with start(0) as local, distributed.Client(local):
        parted = partitioned(frame(), [500])
        with pytest.raises(ClusterError, match="no workers for 1 seconds"):
            on_cluster.RandomForestClassifier().fit(parted[COLUMNS], parted["y"])


def test_a_checkpoint_on_a_cluster_has_the_same_trees(client, tmp_path):
    table = frame(600)
    parted = partitioned(table, [200, 400])
    expected = weald.RandomForestClassifier(8, random_state=0).fit(table[COLUMNS], table["y"])
    for n_files in (0, 4):  # a second fit reuses the existing trees
        assert len(list(tmp_path.glob("*.weald"))) == n_files
        model = weald.RandomForestClassifier(8, random_state=0)  # Dask collections go to the workers
        model.fit(parted[COLUMNS], parted["y"], checkpoint=tmp_path, every=2)
        assert model.forest_.fingerprint() == expected.forest_.fingerprint()
