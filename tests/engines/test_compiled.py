"""A compiled forest: the same bits as the estimator, shared by threads and processes."""

import multiprocessing
import pickle
import threading

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

import weald
from weald.engines.compiled import DTYPES
from weald.errors import DataError, DataTypeError, ParameterError


def fitted(kind="classes", **parameters):
    if kind == "classes":
        X, y = load_iris(return_X_y=True)
        return weald.RandomForestClassifier(20, random_state=0, **parameters).fit(X, y), X
    X, y = load_diabetes(return_X_y=True)
    return weald.RandomForestRegressor(20, random_state=0, **parameters).fit(X, y), X


def say(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_compiled_forest_says_what_the_estimator_says(kind):
    model, X = fitted(kind)
    expected, compiled = say(model, X), model.compile()
    assert compiled(X).tobytes() == expected.tobytes()
    assert compiled(X, threads=3).tobytes() == expected.tobytes()
    assert all(np.asarray(compiled(row)).tobytes() == of_row.tobytes() for row, of_row in zip(X, expected, strict=True))


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_small_nodes_say_the_same_of_floats(kind):
    model, X = fitted(kind)
    X = X.astype(np.float32)
    compiled = model.compile(dtype="float32")
    assert compiled(X).tobytes() == say(model, X).tobytes()
    assert len(compiled.buffer()) < len(model.compile().buffer())


def test_hard_votes_and_missing_values_are_kept():
    model, X = fitted(voting="hard")
    X = X.copy()
    X[::3, 1] = np.nan
    assert model.compile()(X).tobytes() == model.predict_proba(X).tobytes()


def test_rows_that_are_no_rows_are_refused():
    compiled = fitted()[0].compile()
    with pytest.raises(ValueError, match="features"):
        compiled(np.zeros(3))
    with pytest.raises(ValueError, match="row"):
        compiled(np.zeros((2, 2, 4)))
    with pytest.raises(DataTypeError, match="text"):
        compiled(np.array([["a", "b", "c", "d"]]))
    with pytest.raises(ValueError, match="floats"):
        fitted()[0].compile(dtype="float32")(np.full(4, 0.1))


@pytest.mark.parametrize("n_categories", [3, 50, 2000])  # a word of small nodes, of large ones, and no word at all
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_categories_are_compiled_as_their_numbers(n_categories, dtype):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(n_categories, size=3000), rng.normal(size=3000)]).astype(dtype)
    y = (rng.permutation(n_categories)[X[:, 0].astype(int)] % 2 == 0) ^ (X[:, 1] > 1)
    model = weald.RandomForestClassifier(5, random_state=0, categorical_features=[0], category_penalty=0.0).fit(X, y)
    assert len(model.forest_.category_sets) > 0
    numbers = X.copy()
    numbers[:, 0] = np.searchsorted(model.categories_[0], X[:, 0])
    numbers[::7, 0] = X[::7, 0] = np.nan
    assert model.compile(dtype=dtype)(numbers).tobytes() == model.predict_proba(X).tobytes()


def test_boosted_forests_are_compiled_with_their_weights():
    model, X = fitted(resampling="boosting")
    assert model.compile()(X).tobytes() == model.predict_proba(X).tobytes()


def test_what_cannot_be_compiled_says_so():
    huge = weald.RandomForestRegressor(20, random_state=0).fit([[0.0], [1.0]], [1.7e308, -1.7e308])
    with pytest.raises(DataError, match="large"):
        huge.compile()
    with pytest.raises(ParameterError, match="dtype"):
        fitted()[0].compile(dtype="float16")


def test_threads_share_a_compiled_forest():
    model, X = fitted()
    compiled, expected, found = model.compile(), model.predict_proba(X), {}

    def predict(number):
        found[number] = np.array([compiled(row) for row in X])

    threads = [threading.Thread(target=predict, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(of.tobytes() == expected.tobytes() for of in found.values())


def predict_from(path, X):
    return weald.open_compiled(path)(X)


def test_processes_share_one_file(tmp_path):
    model, X = fitted()
    path = tmp_path / "forest"
    model.compile().buffer().tofile(path)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply_async(predict_from, (path, X)).get(60).tobytes() == model.predict_proba(X).tobytes()


def test_a_compiled_forest_is_found_in_memory_and_pickled():
    model, X = fitted()
    compiled = model.compile()
    as_bytes = compiled.buffer().tobytes()
    assert weald.open_compiled(as_bytes)(X).tobytes() == model.predict_proba(X).tobytes()
    unaligned = bytearray(b"x" + as_bytes)
    assert weald.open_compiled(memoryview(unaligned)[1:])(X).tobytes() == model.predict_proba(X).tobytes()
    assert pickle.loads(pickle.dumps(compiled))(X).tobytes() == model.predict_proba(X).tobytes()
    with pytest.raises(ValueError, match="read-only"):
        compiled.buffer()[0] = 0


def test_a_file_that_is_something_else_is_refused(tmp_path):
    path = tmp_path / "forest"
    path.write_bytes(b"something else" * 20)
    with pytest.raises(DataError, match="not a compiled forest"):
        weald.open_compiled(path)


def test_the_same_forest_is_compiled_to_the_same_bytes():
    assert fitted()[0].compile().buffer().tobytes() == fitted()[0].compile().buffer().tobytes()


# ------------------------------------------------------------------------------------------------------ wrong buffers


def test_a_short_buffer_cannot_claim_many_classes():
    """Predictions allocate memory for every class."""
    buffer = fitted()[0].compile().buffer().copy()
    at = np.flatnonzero(buffer.view(np.uint32) == 3)[0]  # the number of classes
    buffer.view(np.uint32)[at] = 2**31 - 1
    with pytest.raises(DataError, match="lengths are out of range"):
        weald.open_compiled(buffer)


def change(buffer, dice):
    """Change some numbers of a buffer, mostly of its header, or truncate it."""
    buffer = buffer.copy()
    for _ in range(dice.integers(1, 4)):
        numbers = buffer.view(dice.choice(["u4", "u8"]))
        at = dice.integers(0, 20 if dice.random() < 0.5 else len(numbers))
        odd = numbers.dtype.type(dice.choice(np.array([0, 1, 7, 2**16, 2**31 - 1, 2**32 - 1])))
        numbers[at] = odd if dice.random() < 0.5 else numbers[at] ^ numbers.dtype.type(1 << dice.integers(0, 32))
    return buffer if dice.random() < 0.95 else buffer[: dice.integers(0, len(buffer))]


@pytest.mark.sanitize
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_wrong_buffer_is_refused_or_walked_without_harm(kind):
    model, X = fitted(kind, max_depth=4)
    dice, n_refused = np.random.default_rng(0), 0
    buffers = [np.resize(b, len(b) + -len(b) % 8) for b in (model.compile(dtype=d).buffer() for d in DTYPES)]
    for _ in range(300):
        try:
            compiled = weald.open_compiled(change(buffers[dice.integers(2)], dice))
        except DataError:
            n_refused += 1
            continue
        if compiled.n_features == X.shape[1]:
            compiled(X[:9].astype(np.float32))
    assert 30 < n_refused < 300
