"""A code store gives the same forest as its rows in memory, even if the process that makes it is killed."""

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import weald
from tests import scripts
from weald import DataError, DataTypeError, FormatError, ParameterError, codes
from weald.codes import bins, partitioned_table, writer
from weald.codes import store as code_store
from weald.inspection import importance

FEATURES = ["number", "label", "rank", "flag"]


def frame(n_rows=90, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "number": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows).round(1)),
            "label": rng.choice(np.array(["ash", "elm", "oak", None], dtype=object), n_rows),
            "rank": pd.Categorical(rng.choice(["low", "high"], n_rows), categories=["low", "high"], ordered=True),
            "flag": rng.random(n_rows) < 0.5,
        }
    )
    noise = rng.normal(size=n_rows)
    table["y"] = np.where(table["number"].fillna(0) + table["flag"] + noise > 0.5, "yes", "no")
    table["amount"] = table["number"].fillna(0) + noise
    table["whole"] = rng.integers(0, 3, n_rows)
    table["share"] = rng.random(n_rows) + 0.01
    return table


def cut(table, ends):
    return [table.iloc[a:b] for a, b in pairwise([0, *sorted(ends), len(table)])]


def fingerprint(model, *data):
    return model.fit(*data).forest_.fingerprint()


@pytest.mark.parametrize("max_bins", [None, 3])
def test_a_store_does_as_the_table_with_columns_of_many_categories(tmp_path, max_bins):
    """Columns are cut in order, by the rows of the whole table, and each category has a code."""
    table = frame(n_rows=300)
    table["name"] = [f"name {i:02}" for i in np.random.default_rng(1).integers(0, 40, 300)]
    chosen = [*FEATURES, "name"]
    for category_penalty in ("auto", 0):
        model = weald.RandomForestClassifier(3, random_state=1, max_bins=max_bins, category_penalty=category_penalty)
        expected = fingerprint(model, table[chosen], table["y"])
        folder = tmp_path / str(category_penalty)
        store = codes.from_chunks(
            [(c[chosen], c["y"]) for c in cut(table, [80, 100])], folder=folder, max_bins=max_bins
        )
        assert fingerprint(clone(model), store) == expected
    assert len(model.forest_.category_sets)


@settings(max_examples=25)
@given(
    st.lists(st.integers(0, 90), max_size=5),
    st.sampled_from([None, 3, 255]),
    st.sampled_from([None, "whole", "share"]),
    st.sampled_from(["y", "amount"]),
)
def test_a_store_gives_the_forest_of_the_table(tmp_path_factory, ends, max_bins, weight, target):
    table = frame()
    kind = weald.RandomForestClassifier if target == "y" else weald.RandomForestRegressor
    model = kind(5, random_state=1, max_bins=max_bins)
    store = codes.from_chunks(
        cut(table, ends),
        folder=tmp_path_factory.mktemp("store"),
        target=target,
        features=FEATURES,
        weight=weight,
        max_bins=max_bins,
    )
    whole = (table[FEATURES], table[target], None if weight is None else table[weight])
    assert fingerprint(model, store) == fingerprint(model, *whole)
    assert model.fit(store).forest_.origins == model.fit(*whole).forest_.origins  # with both fingerprints of the data
    assert store.fingerprint == model.forest_.origins[0].data


@settings(max_examples=25)
@given(st.lists(st.integers(0, 90), max_size=5), st.sampled_from([None, 3]), st.booleans())
def test_a_store_knows_the_classes_of_rows_of_zero_weight(tmp_path_factory, ends, max_bins, backwards):
    table = frame().sort_values("y")
    table["w"] = np.where(table["y"] == "no", 0, 1 + table["whole"])
    table.loc[table.index[45:60], "w"] = 0
    table = table[::-1] if backwards else table
    columns = {"target": "y", "features": FEATURES, "weight": "w", "max_bins": max_bins}
    store = codes.from_chunks(cut(table, ends), folder=tmp_path_factory.mktemp("store"), **columns)
    model = weald.RandomForestClassifier(5, random_state=1, max_bins=max_bins, class_weight={"yes": 1, "no": 3})
    whole = table[FEATURES], table["y"], table["w"]
    assert fingerprint(model, store) == fingerprint(model, *whole)
    assert model.fit(store).forest_.origins == model.fit(*whole).forest_.origins
    assert model.classes_.tolist() == store.classes.tolist() == ["no", "yes"]


@given(st.lists(st.integers(0, 24), max_size=4), st.booleans())
def test_a_store_of_one_column_sees_every_row(tmp_path_factory, ends, classify):
    table = pd.DataFrame({"x": np.arange(24) % 2 * 1.0, "y": np.arange(24) // 3 % 2 * (1 if classify else 1.0)})

    def prints(rows):
        store = codes.from_chunks(cut(rows, ends), folder=tmp_path_factory.mktemp("store"), target="y")
        model = weald.RandomForestClassifier(1) if classify else weald.RandomForestRegressor(1)
        (of_store,), (of_table,) = (model.fit(*data).forest_.origins for data in ((store,), (rows[["x"]], rows["y"])))
        assert (of_store.data, of_store.values) == (of_table.data, of_table.values)
        return of_table.data, of_table.values

    for one, other in zip(prints(table), prints(table[1:]), strict=True):
        assert one != other


@pytest.mark.parametrize(("weights", "classify"), [("none", True), ("whole", True), ("any", False)])
def test_columns_cut_by_a_sample_of_the_rows(weights, classify, tmp_path):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300_000, 3)), rng.normal(size=300_000)
    X[:, 1] = X[:, 1].round(2)
    if classify:
        y = np.where(np.arange(len(y)) < 250_000, "b", np.where(y > 0, "a", "c"))  # later chunks change the numbers
    weight = {"none": None, "whole": rng.integers(1, 3, len(y)).astype(float), "any": rng.random(len(y)) + 0.1}[weights]
    ends = [0, 90_000, 91_000, 260_000, len(y)]
    chunks = [(X[a:b], y[a:b], None if weight is None else weight[a:b]) for a, b in pairwise(ends)]
    store = codes.from_chunks(chunks, folder=tmp_path, max_bins=500)
    kind = weald.RandomForestClassifier if classify else weald.RandomForestRegressor
    model = kind(2, random_state=1, max_bins=500, max_depth=6)
    assert fingerprint(model, store) == fingerprint(model, X, y, weight)
    assert model.fit(store).forest_.origins == model.fit(X, y, weight).forest_.origins


def test_many_copies_of_few_rows_are_sampled_like_each_by_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(bins, "SAMPLE_SIZE", 64)
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 9, (2_000, 2)).astype(float), rng.integers(0, 2, 2_000)
    for weight in (None, rng.integers(1, 4, 2_000).astype(float)):
        given = [
            partitioned_table.Part(X[i], y[i], None if weight is None else weight[i])
            for i in np.split(np.arange(2_000), 4)
        ]
        model = weald.RandomForestClassifier()
        labels = partitioned_table.merge_part_labels([partitioned_table.read_labels(model, part) for part in given])
        tables = [partitioned_table.read_parts(model, [part], labels) for part in given]
        limit = bins.NO_LIMIT
        found = [bins.survey_part(t, labels, 5, limit) for t in tables]
        highest = bins.find_highest_hash(found, labels, 5, limit)
        sampled = [bins.sample_values(t, labels, highest) for t in tables]
        cuts = bins.join_cuts([bins.cut_columns(sampled, [0, 1], labels, 5)], labels)
        monkeypatch.setattr("weald.codes.survey.SAMPLE_SIZE", 64)
        mine = writer.Survey(5)
        for number, part in enumerate(given):
            mine = mine.add(number, *partitioned_table.read_alone(model, part))
        assert len(mine.sampled.hashes) <= 64 * 3
        assert [s.tolist() for s in mine.cuts().starts] == [s.tolist() for s in cuts.starts]


@pytest.mark.parametrize(
    "model",
    [
        weald.DecisionTreeClassifier(random_state=0),
        weald.ExtraTreesClassifier(4, random_state=0),
        weald.RandomForestClassifier(4, random_state=0, class_weight="balanced_subsample", bootstrap="balanced"),
        weald.RandomForestClassifier(4, random_state=0, ccp_alpha=0.01, max_samples=0.5, n_jobs=3),
        weald.RandomForestClassifier("auto", max_estimators=70, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore:The out-of-bag error has not converged")
def test_every_estimator_fits_to_a_store(model, tmp_path):
    table = frame()
    store = codes.from_chunks(cut(table, [40]), folder=tmp_path, target="y", features=FEATURES)
    assert fingerprint(model, store) == fingerprint(model, table[FEATURES], table["y"])


def test_out_of_bag_estimates_are_those_of_the_table(tmp_path):
    table = frame(200)
    store = codes.from_chunks(cut(table, [77]), folder=tmp_path, target="y", features=FEATURES, weight="share")
    model = weald.RandomForestClassifier(20, random_state=0, oob_score=True)
    mine, again = model.fit(store).oob_, model.out_of_bag(store, None)
    theirs = model.fit(table[FEATURES], table["y"], table["share"]).oob_
    for found in (mine, again):
        assert found.error == theirs.error
        np.testing.assert_array_equal(found.probabilities, theirs.probabilities)


def assert_same_out_of_bag(mine, theirs):
    assert (mine.error, mine.share) == (theirs.error, theirs.share)
    for name in ("error", "share"):
        np.testing.assert_array_equal(getattr(mine.curve, name), getattr(theirs.curve, name))
    np.testing.assert_array_equal(mine.counts, theirs.counts)
    np.testing.assert_array_equal(mine.predictions, theirs.predictions)


KEPT = {
    "two classes": (weald.RandomForestClassifier(20), "y", None),
    "hard votes, more trees than bags are drawn at once": (
        weald.RandomForestClassifier(70, voting="hard"),
        "y",
        "whole",
    ),
    "numbers": (weald.RandomForestRegressor(20), "amount", "share"),
    "until it has converged": (weald.RandomForestClassifier("auto", max_estimators=96), "y", "share"),
}


@pytest.mark.filterwarnings("ignore:The out-of-bag error has not converged")
@pytest.mark.parametrize(("model", "target", "weight"), KEPT.values(), ids=KEPT)
@pytest.mark.parametrize(("cells_at_once", "n_jobs"), [(1, 1), (100, 2), (1 << 23, 1)])
def test_out_of_bag_estimates_of_values_that_are_kept_are_those_of_the_table(
    model, target, weight, cells_at_once, n_jobs, tmp_path, monkeypatch
):
    monkeypatch.setattr(code_store, "CELLS_AT_ONCE", cells_at_once)
    table = frame(200)
    columns = {"target": target, "features": FEATURES, "weight": weight}
    store = codes.from_chunks(cut(table, [77]), folder=tmp_path, max_bins=4, keep_values=True, **columns)
    assert list(store.values) == [0]  # the other columns have few values
    model = clone(model).set_params(random_state=0, oob_score=True, max_bins=4, n_jobs=n_jobs)
    mine, again = model.fit(store).oob_, model.out_of_bag(store, None)
    theirs = model.fit(table[FEATURES], table[target], None if weight is None else table[weight]).oob_
    if weight == "whole":  # a store leaves out rows of zero weight
        counted = table["whole"].to_numpy() > 0
        assert mine.error == theirs.error
        np.testing.assert_array_equal(mine.probabilities, theirs.probabilities[counted])
        return
    assert_same_out_of_bag(mine, theirs)
    assert_same_out_of_bag(again, theirs)


KINDS = [kind for kind in importance.KINDS if kind != "drop_column"]
ASKED = {kind: lambda model, *data, kind=kind: weald.importance(model, *data, kind=kind).values for kind in KINDS}
ASKED |= {
    "new rows": lambda model, *data: weald.importance(model, *data, kind="permutation").values,
    "strength": lambda model, *data: weald.strength(model, *data).strength,
    "neighbors": lambda model, *data: model.neighbors(*data).proximity().toarray(),
    "tuning": lambda model, *data: weald.tune(model, *data, budget=3).best_params,
    "a split": lambda model, *data: model.estimators_[0].explain_split(0, *data).cuts["threshold"],
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_what_needs_values_has_them_from_the_store(ask, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)).round(2), rng.integers(0, 2, 300)
    store = codes.from_chunks([(X[:100], y[:100]), (X[100:], y[100:])], folder=tmp_path, max_bins=9, keep_values=True)
    model = weald.RandomForestClassifier(40, random_state=0, max_bins=9).fit(X, y)
    np.testing.assert_array_equal(ask(model, store, None), ask(model, X, y))


def test_columns_cannot_be_taken_out_of_a_store(tmp_path):
    store = codes.from_chunks([frame()], folder=tmp_path, target="y", features=FEATURES)
    model = weald.RandomForestClassifier(5, random_state=0).fit(store)
    with pytest.raises(DataTypeError, match=r"Give a table *for everything else"):
        weald.importance(model, store, None, kind="drop_column")
    with pytest.raises(DataError, match="Give X and y"):
        weald.importance(model, store, None, kind="mdi", n_null=2)


@pytest.mark.parametrize(("types", "kept"), [(("f4", "f4"), "f4"), (("f4", "f8"), "f8"), (("f8", "f4"), "f8")])
def test_kept_values_are_as_wide_as_they_have_to_be(types, kept, tmp_path):
    rng = np.random.default_rng(0)
    given = [(rng.normal(size=(100, 2)).astype(dtype), rng.normal(size=100)) for dtype in types]
    store = codes.from_chunks(given, folder=tmp_path, max_bins=9, keep_values=True)
    X = np.concatenate([values for values, _ in given])
    for f in range(2):
        assert store.values[f].dtype == kept
        np.testing.assert_array_equal(store.values[f], X[store.positions, f])  # codes in rank order
    np.testing.assert_array_equal(np.asarray(code_store.Values(store)), X)


def test_out_of_bag_estimates_of_values_that_share_codes_come_with_a_warning(tmp_path):
    table = frame(200)
    store = codes.from_chunks([table], folder=tmp_path, target="y", features=FEATURES, max_bins=4)
    model = weald.RandomForestClassifier(70, random_state=0, oob_score=True, max_bins=4)
    with pytest.warns(UserWarning, match="1 of 4 features") as warned:
        model.fit(store)
    assert len(warned) == 1
    theirs = model.oob_, model.fit(table[FEATURES], table["y"]).oob_
    assert theirs[0].error == pytest.approx(theirs[1].error, abs=0.02)
    assert not np.array_equal(theirs[0].probabilities, theirs[1].probabilities)


def test_values_are_refused_where_they_need_too_much_memory(tmp_path, monkeypatch):
    store = codes.from_chunks(cut(frame(), [40]), folder=tmp_path, target="y", features=FEATURES)
    monkeypatch.setattr(code_store.os, "sysconf", lambda _: 10)
    with pytest.raises(DataError, match="more than half of the memory"):
        np.asarray(code_store.Values(store))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_trees_of_a_long_table_grow_one_after_the_other(n_threads, tmp_path, monkeypatch):
    table = frame()
    store = codes.from_chunks(cut(table, [40]), folder=tmp_path, target="y", features=FEATURES)
    model = weald.RandomForestClassifier(5, random_state=0, n_jobs=n_threads)
    there = model.fit(table[FEATURES], table["y"]).forest_
    monkeypatch.setattr(code_store, "ROOM", 1)
    here = model.fit(store).forest_
    assert (here.fingerprint(), here.origins) == (there.fingerprint(), there.origins)


# ------------------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_parquet_files(rows, tmp_path):
    features = ["number", "label", "flag"]
    table = frame()[[*features, "y"]]
    for i, part in enumerate(cut(table, [31, 60])):
        pl.from_pandas(part).write_parquet(tmp_path / f"{i}.parquet", row_group_size=8)
    store = codes.from_parquet(tmp_path / "*.parquet", target="y", folder=tmp_path / "store", rows=rows)
    model = weald.RandomForestClassifier(5, random_state=1)
    assert fingerprint(model, store) == fingerprint(model, table[features], table["y"])
    assert store.feature_names == features


def test_csv_files(tmp_path):
    table = frame()[["number", "label", "flag", "amount", "share"]]
    for i, part in enumerate(cut(table, [31, 60])):
        part.to_csv(tmp_path / f"{i}.csv", index=False)
    store = codes.from_csv(tmp_path / "*.csv", target="amount", weight="share", folder=tmp_path / "store")
    model = weald.RandomForestRegressor(5, random_state=1)
    X = table[["number", "label", "flag"]]
    assert fingerprint(model, store) == fingerprint(model, X, table["amount"], table["share"])


def test_whole_numbers_of_a_csv_file_may_turn_into_others_later(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,b\n")
    (tmp_path / "b.csv").write_text("x,y\n2.5,a\n,b\n")
    store = codes.from_csv([tmp_path / "a.csv", tmp_path / "b.csv"], target="y", folder=tmp_path)
    assert store.columns[0][1].tolist() == [1.0, 2.0, 2.5]
    (tmp_path / "b.csv").write_text("x,y\nmany,a\n")
    with pytest.raises(DataError, match="types="):
        codes.from_csv([tmp_path / "a.csv", tmp_path / "b.csv"], target="y", folder=tmp_path / "other")


def test_floats_are_numbers_to_be_learned_and_all_else_is_classes(tmp_path):
    X = np.arange(4.0)[:, np.newaxis]
    for y, classes in ((X[:, 0], None), (np.arange(4) % 2, [0, 1]), (list("abab"), ["a", "b"])):
        store = codes.from_chunks([(X, y)], folder=tmp_path / str(type(y[0])))
        assert classes == (None if store.classes is None else store.classes.tolist())
    store = codes.from_chunks([(X, np.arange(4))], folder=tmp_path / "asked", task="regression")
    assert store.classes is None


# ---------------------------------------------------------------------------------------------------------- refusals


def test_what_does_not_suit_a_store_is_refused(tmp_path):
    table = frame()
    store = codes.from_chunks([table], folder=tmp_path, target="y", features=FEATURES, max_bins=7)
    for model, error, words in [
        (weald.RandomForestClassifier(), ParameterError, "max_bins=7"),
        (weald.RandomForestRegressor(max_bins=7), DataError, "made for classification"),
        (weald.RandomForestClassifier(max_bins=7, engine="reference"), ParameterError, "reference"),
        (weald.RandomForestClassifier(max_bins=7, missing="error"), ParameterError, "missing='learn'"),
        (weald.RandomForestClassifier(max_bins=7, resampling="arcing"), ParameterError, "arcing"),
    ]:
        with pytest.raises(error, match=words):
            model.fit(store)
    model = weald.RandomForestClassifier(max_bins=7)
    with pytest.raises(DataError, match="Give only the store"):
        model.fit(store, table["y"])
    with pytest.raises(DataError, match="groups"):
        model.fit(store, groups=np.arange(90))
    for ask in (model.fit(store).predict, model.apply, lambda store: weald.KernelForestClassifier().fit(store)):
        with pytest.raises(DataError, match="can be used to fit trees and forests"):
            ask(store)


def test_chunks_that_cannot_be_read_twice_are_refused(tmp_path):
    with pytest.raises(DataTypeError, match="lambda"):
        codes.from_chunks(iter([frame()]), folder=tmp_path, target="y")
    with pytest.raises(DataTypeError, match="tuples"):
        codes.from_chunks([np.eye(3)], folder=tmp_path, task="regression")
    with pytest.raises(DataError, match="no column 'z'"):
        codes.from_chunks([frame()], folder=tmp_path, target="z")
    with pytest.raises(DataError, match="at least one"):
        codes.from_chunks([], folder=tmp_path, target="z")


def test_chunks_that_change_are_noticed(tmp_path):
    rng = np.random.default_rng(0)
    with pytest.raises(DataError, match="Chunk 0 differs from the chunk"):
        codes.from_chunks(lambda: [(rng.normal(size=(9, 2)), list("ababababa"))], folder=tmp_path)


def test_a_finished_store_is_opened_and_never_taken_for_another(tmp_path):
    table = frame()
    arguments = {"folder": tmp_path, "target": "y", "features": FEATURES}
    store = codes.from_chunks([table], **arguments)
    assert codes.from_chunks([table], **arguments).fingerprint == store.fingerprint
    assert codes.load(tmp_path).fingerprint == store.fingerprint
    for chunks, more in (
        ([table[::-1]], {}),
        ([table], {"max_bins": 3}),
        ([table], {"keep_values": True}),
        ([table[:20], table[20:]], {}),
    ):
        with pytest.raises(FormatError, match="other rows"):
            codes.from_chunks(chunks, **arguments | more)


def test_a_damaged_store_is_refused(tmp_path):
    codes.from_chunks([frame()], folder=tmp_path, target="y", features=FEATURES)
    path = tmp_path / code_store.FILE
    whole = path.read_bytes()
    for place in range(0, len(whole), 997):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(FormatError):
            codes.load(tmp_path)
    for short in (0, 100, len(whole) - 1):
        path.write_bytes(whole[:short])
        with pytest.raises(FormatError):
            codes.load(tmp_path)
    weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [1.0, 2.0]).save(path)
    with pytest.raises(FormatError, match=r"weald\.load"):
        codes.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="no code store"):
        codes.load(tmp_path / "nowhere")


# -------------------------------------------------------------------------------------------------------------- kill

MAKER = """
    import json, os, pathlib, signal, sys
    import numpy as np
    from weald import codes
    from weald.codes import writer

    writer.SAVE_EVERY = 0.0
    events, moment = 0, 0

    def happen():
        global events
        events += 1
        if events == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def chunks():
        rng = np.random.default_rng(5)
        for i in range(4):
            happen()
            X = rng.normal(size=(50, 2)).round(1)
            yield X, np.array(["b", "c", "a", "d"])[: i + 1][rng.integers(0, i + 1, 50)]

    replace = pathlib.Path.replace

    def replace_and_happen(path, target):
        happen()
        found = replace(path, target)
        happen()
        return found

    pathlib.Path.replace = replace_and_happen

    def make(folder, when):  # a process of its own
        global moment
        reader, writer = os.pipe()
        if os.fork() == 0:
            moment = when
            codes.from_chunks(chunks, folder=folder, task="classification", max_bins=20, keep_values=True, n_jobs=1)
            os.write(writer, str(events).encode())
            os._exit(0)
        os.close(writer)
        _, status = os.wait()
        return os.WTERMSIG(status), int(os.read(reader, 99) or 0)

    found = [[int(when), make(folder, int(when))] for folder, when in zip(sys.argv[1::2], sys.argv[2::2])]
    print(json.dumps(found))
"""


def make_and_kill(*folders_and_moments):
    """Make a store in each folder, one after the other, in processes that are killed; 0: not killed."""
    done = scripts.run(MAKER, *map(str, folders_and_moments))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_store_whose_maker_is_killed_at_any_moment_is_made_to_the_end(tmp_path):
    ((_, (_, n_events)),) = make_and_kill(tmp_path / "calm", 0)
    calm = (tmp_path / "calm" / code_store.FILE).read_bytes()
    assert n_events > 30
    moments = range(1, n_events, 5)
    orders = [[(tmp_path / str(moment), moment), (tmp_path / str(moment), 0)] for moment in moments]
    found = make_and_kill(*(word for order in orders for step in order for word in step))
    assert [killed_by for _, (killed_by, _) in found] == [9, 0] * len(moments)
    assert max(events for moment, (_, events) in found if moment == 0) <= n_events
    for moment in moments:
        assert (tmp_path / str(moment) / code_store.FILE).read_bytes() == calm
        assert not (tmp_path / str(moment) / writer.MAKING).exists()


def test_what_was_begun_otherwise_is_refused(tmp_path):
    make_and_kill(tmp_path, 12)
    with pytest.raises(FileNotFoundError, match="continues it"):
        codes.load(tmp_path)
    with pytest.raises(FormatError, match="unfinished store"):
        codes.from_chunks([(np.eye(3), list("abc"))], folder=tmp_path, max_bins=9)
    with pytest.raises(DataError, match="differs from the chunk"):
        codes.from_chunks(
            [(np.eye(3)[:, :2], list("abc"))] * 9, folder=tmp_path, task="classification", max_bins=20, keep_values=True
        )


# ---------------------------------------------------------------------------------------------------------- progress


def test_progress_is_shown_if_it_is_asked_for(tmp_path, capsys):
    chunks = cut(frame(), [30, 60])
    codes.from_chunks(chunks, folder=tmp_path / "a", target="y", features=FEATURES, n_rows=90, verbose=1)
    shown = capsys.readouterr().err
    assert "60 of 90 rows" in shown
    assert [step in shown for step in ("surveyed", "coded", "ranked", "sorted")] == [True] * 4
    codes.from_chunks(chunks, folder=tmp_path / "b", target="y", features=FEATURES, verbose=1)
    assert "90 rows" in capsys.readouterr().err
    codes.from_chunks(chunks, folder=tmp_path / "c", target="y", features=FEATURES)
    assert capsys.readouterr().err == ""


def test_a_csv_file_with_lines_longer_than_a_megabyte_is_read_and_an_error_names_the_file(tmp_path):
    wide, broken = tmp_path / "wide.csv", tmp_path / "broken.csv"
    wide.write_text("x,text,y\n" + "".join(f"{i},{'r' * 1_500_000 * (i == 3)},{i % 2}\n" for i in range(9)))
    assert codes.from_csv(wide, target="y", folder=tmp_path / "store").n_rows == 9
    broken.write_text("x,y\n1,2,3\n")
    with pytest.raises(DataError, match=r"broken\.csv cannot be read"):
        codes.from_csv(broken, target="y", folder=tmp_path / "other")


def test_an_unknown_argument_is_refused_by_name(tmp_path):
    with pytest.raises(TypeError, match=r"from_chunks\(\) got an unexpected keyword argument 'max_bin'"):
        codes.from_chunks([(np.eye(3), list("abc"))], folder=tmp_path, max_bin=9)
