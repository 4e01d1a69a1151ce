"""Predictions into given arrays, in single precision, and in chunks."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris

import weald
from weald.errors import DataError, ParameterError
from weald.estimators.chunked_prediction import RowProgress

ENGINES = ("native", "reference")


def classifier(engine="native"):
    X, y = load_iris(return_X_y=True)
    return weald.RandomForestClassifier(5, random_state=0, engine=engine).fit(X, y), X


def regressor(engine="native"):
    X, y = load_diabetes(return_X_y=True)
    return weald.RandomForestRegressor(5, random_state=0, engine=engine, max_depth=4).fit(X[:90], y[:90]), X


# --------------------------------------------------------------------------------------------------- out and dtype


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_shares_are_written_where_they_should_be(engine, order, dtype):
    model, X = classifier(engine)
    out = np.full((len(X), 3), 7.0, dtype=dtype, order=order)
    assert model.predict_proba(X, out=out) is out
    assert out.tobytes() == model.predict_proba(X).astype(dtype).tobytes()


@pytest.mark.parametrize("engine", ENGINES)
def test_means_are_written_where_they_should_be(engine):
    model, X = regressor(engine)
    wide = np.zeros((len(X), 3), dtype=np.float32)
    model.predict(X, out=wide[:, 1])
    assert wide[:, 1].tobytes() == model.predict(X).astype(np.float32).tobytes()
    assert not wide[:, [0, 2]].any()


def test_single_precision_is_rounded_once():
    for model, X, method in ((*classifier(), "predict_proba"), (*regressor(), "predict")):
        single = getattr(model, method)(X, dtype="float32")
        assert single.dtype == np.float32
        assert single.tobytes() == getattr(model, method)(X).astype(np.float32).tobytes()


def test_means_of_huge_numbers_are_finite_in_any_array():
    model = weald.RandomForestRegressor(20, random_state=0).fit([[0.0], [1.0]], [1.7e308, 1.6e308])
    out = np.empty(2)
    assert np.isfinite(model.predict([[0.0], [1.0]], out=out)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(model.predict([[0.0], [1.0]], dtype=np.float32)).all()


@pytest.mark.parametrize(
    ("out", "dtype", "words"),
    [
        (np.empty((149, 3)), None, "shape"),
        (np.empty((150, 3), dtype=np.int64), None, "float32 or float64"),
        ([[0.0] * 3] * 150, None, "NumPy array"),
        (np.empty((150, 3)), "float32", "was given"),
        (None, "float16", "neither"),
        (np.broadcast_to(np.zeros(3), (150, 3)), None, "read-only"),
    ],
)
def test_arrays_that_do_not_suit_are_refused(out, dtype, words):
    model, X = classifier()
    with pytest.raises(DataError, match=words):
        model.predict_proba(X, out=out, dtype=dtype)


# ---------------------------------------------------------------------------------------------------------- few rows


def test_a_quick_look_refuses_what_a_slow_one_refuses():
    model, X = classifier()
    with pytest.raises(DataError, match="features"):
        model.predict_proba(X[:1, :3])
    with pytest.raises(DataError, match="sample"):
        model.predict_proba(X[:0])
    with pytest.raises(DataError, match="2D"):
        model.predict_proba(X[0])
    X = X.copy()
    X[0, 0] = np.nan
    strict = weald.RandomForestClassifier(3, missing="error").fit(X[1:], np.arange(149) % 2)
    with pytest.raises(DataError, match="missing"):
        strict.predict_proba(X[:1])
    swapped = X[1:2].astype(X.dtype.newbyteorder())
    assert model.predict_proba(swapped).tobytes() == model.predict_proba(X[1:2]).tobytes()


def test_a_fit_with_names_still_minds_them():
    pd = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = weald.RandomForestClassifier(3, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="feature names"):
        model.predict_proba(X.to_numpy()[:1])
    assert isinstance(X, pd.DataFrame)


# ------------------------------------------------------------------------------------------------------------ pieces


def test_pieces_add_up_to_the_whole():
    model, X = classifier()
    expected = model.predict_proba(X)
    assert np.concatenate(list(model.predict_chunks(X, rows=17))).tobytes() == expected.tobytes()
    pieces = (X[begin : begin + 40].tolist() for begin in range(0, 150, 40))
    assert np.concatenate(list(model.predict_chunks(pieces))).tobytes() == expected.tobytes()
    labels = np.concatenate(list(model.predict_chunks(X, rows=50, method="predict")))
    assert (labels == model.predict(X)).all()
    single = np.concatenate(list(model.predict_chunks(X, rows=50, dtype="float32")))
    assert single.tobytes() == expected.astype(np.float32).tobytes()


def test_from_one_memory_map_to_another(tmp_path):
    model, X = regressor()
    np.save(tmp_path / "X.npy", X)
    out = np.lib.format.open_memmap(tmp_path / "means.npy", mode="w+", dtype=np.float64, shape=(len(X),))
    for part in model.predict_chunks(np.load(tmp_path / "X.npy", mmap_mode="r"), rows=100, out=out):
        assert np.shares_memory(part, out)
    assert np.load(tmp_path / "means.npy").tobytes() == model.predict(X).tobytes()


def test_pieces_are_read_when_they_are_asked_for():
    model, X = classifier()
    read = []

    def pieces():
        for begin in range(0, 150, 50):
            read.append(begin)
            yield X[begin : begin + 50]

    predictions = model.predict_chunks(pieces())
    assert not read
    next(predictions)
    assert read == [0]


def test_room_that_is_too_small_is_refused():
    model, X = classifier()
    with pytest.raises(DataError, match="one entry per row"):
        list(model.predict_chunks(X, rows=100, out=np.empty((149, 3))))
    with pytest.raises(ParameterError, match="method"):
        model.predict_chunks(X, method="score")


def test_progress_counts_rows():
    stream = io.StringIO()
    progress = RowProgress(2_000_000, stream=stream, clock=iter([0.0, 3.0, 6.0]).__next__)
    progress(0.5)
    progress(1.0)
    assert stream.getvalue().splitlines() == [
        "weald  50%  1,000,000 of 2,000,000 rows  3.0 s, 3.0 s left",
        "weald 100%  2,000,000 of 2,000,000 rows  6.0 s",
    ]


def test_progress_is_shown_on_request(capsys):
    model, X = classifier()
    list(model.predict_chunks(X, rows=50, verbose=1))
    assert "150 of 150 rows" in capsys.readouterr().err


NOTHING = {
    "array": np.empty((0, 2)),
    "frame": pd.DataFrame(np.empty((0, 2))),
    "list": [],
    "sparse": sparse.csr_array((0, 2)),
}


@pytest.mark.parametrize("empty", NOTHING.values(), ids=NOTHING)
@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_votes"])
@pytest.mark.parametrize("kind", [weald.RandomForestClassifier, weald.RandomForestRegressor])
def test_a_piece_without_rows_gives_an_array_without_rows(kind, method, empty):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = kind(2, random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    if not hasattr(model, method):
        pytest.skip("regressors predict means")
    first, nothing, last = model.predict_chunks([X[:2], empty, X[2:5]], method=method)
    assert nothing.shape == (0, *first.shape[1:])
    assert nothing.dtype == first.dtype
    assert (np.concatenate([first, nothing, last]) == getattr(model, method)(X[:5])).all()


def test_pieces_without_rows_are_written_nowhere():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = weald.RandomForestRegressor(2, random_state=0).fit(X, X[:, 0])
    out = np.full(5, np.nan, dtype=np.float32)
    pieces = model.predict_chunks([X[:0], X[:2], X[:0], X[2:5]], out=out, dtype=np.float32)
    assert [(len(piece), piece.dtype) for piece in pieces] == [(n, np.float32) for n in (0, 2, 0, 3)]
    assert (out == model.predict(X[:5], dtype=np.float32)).all()


@pytest.mark.parametrize("dtype", ["nonsense", np.int32, 3, [1]])
def test_types_that_are_not_floats_are_refused(dtype):
    model = weald.DecisionTreeRegressor().fit([[1.0], [2.0]], [1.0, 2.0])
    for ask in (lambda: model.predict([[1.0]], dtype=dtype), lambda: model.predict_chunks([[[1.0]]], dtype=dtype)):
        with pytest.raises(DataError, match="is neither float32 nor float64"):
            ask()


@pytest.mark.parametrize("method", ["predict", "predict_votes"])
def test_a_type_is_refused_where_a_method_has_one_of_its_own(method):
    model = weald.DecisionTreeClassifier().fit([[1.0], [2.0]], [1, 2])
    with pytest.raises(ParameterError, match=f"dtype=.* cannot be used with method='{method}'"):
        model.predict_chunks([[[1.0]]], method=method, dtype=np.float32)
