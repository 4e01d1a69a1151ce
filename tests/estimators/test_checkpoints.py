"""A fit that is killed continues from its checkpoint, and ends with the same forest."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris

import weald
from tests import scripts
from weald import DataError, FormatError, ParameterError

X, y = load_iris(return_X_y=True)


def fingerprint(model, *data, **how):
    return model.fit(*data, **how).forest_.fingerprint()


@pytest.mark.parametrize("every", [1, 3, 100])
@pytest.mark.parametrize("kind", [weald.RandomForestClassifier, weald.ExtraTreesRegressor])
def test_a_checkpoint_changes_nothing(kind, every, tmp_path):
    model = kind(7, random_state=3, ccp_alpha=0.001)
    assert fingerprint(model, X, y, checkpoint=tmp_path, every=every) == fingerprint(model, X, y)
    assert len(list(tmp_path.glob("trees-*.weald"))) == -(-7 // every)


FIT = """
    import json, os, pathlib, signal, sys
    import weald
    from sklearn.datasets import load_iris

    events, moment = 0, 0
    replace = pathlib.Path.replace

    def happen():
        global events
        events += 1
        if events == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def replace_and_happen(path, target):
        happen()
        found = replace(path, target)
        happen()
        return found

    pathlib.Path.replace = replace_and_happen
    X, y = load_iris(return_X_y=True)

    def fit(folder, when, seed):  # in a process of its own
        global moment
        reader, writer = os.pipe()
        if os.fork() == 0:
            moment = when
            model = weald.RandomForestClassifier(10, random_state=seed, n_jobs=1).fit(X, y, checkpoint=folder, every=2)
            os.write(writer, model.forest_.fingerprint().encode())
            os._exit(0)
        os.close(writer)
        _, status = os.wait()
        return os.WTERMSIG(status), os.read(reader, 999).decode(), len(list(pathlib.Path(folder).glob("trees-*")))

    print(json.dumps([fit(*order) for order in json.loads(sys.argv[1])]))
"""


def fit_and_kill(*orders):
    """Fit in separate processes, one after the other: (folder, time of the kill or 0, seed)."""
    arguments = json.dumps([[str(folder), moment, seed] for folder, moment, seed in orders])
    done = scripts.run(FIT, arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_fit_that_is_killed_at_any_moment_ends_with_the_same_forest(tmp_path):
    expected = fingerprint(weald.RandomForestClassifier(10, random_state=4), X, y)
    moments = (1, 2, 3, 6, 10)  # before and after a file exists
    orders = [(tmp_path / str(moment), when, 4) for moment in moments for when in (moment, 0)]
    found = fit_and_kill(*orders)
    assert found[::2] == [[9, "", moment // 2] for moment in moments]
    assert found[1::2] == [[0, expected, 5]] * len(moments)


@pytest.mark.slow
def test_a_fit_that_is_killed_again_and_again_gets_there(tmp_path):
    expected = fingerprint(weald.RandomForestClassifier(10, random_state=4), X, y)
    found = fit_and_kill(*[(tmp_path, 3, 4)] * 5)
    assert found == [[9, "", 1], [9, "", 2], [9, "", 3], [9, "", 4], [0, expected, 5]]


def test_without_a_seed_a_fit_goes_on_with_the_seed_that_was_drawn(tmp_path):
    _, (_, found, _) = fit_and_kill((tmp_path, 4, None), (tmp_path, 0, None))
    seed = weald.load(next(tmp_path.glob("trees-*.weald"))).seed_
    assert found == fingerprint(weald.RandomForestClassifier(10, random_state=seed), X, y)


def test_each_file_is_a_model(tmp_path):
    model = weald.RandomForestClassifier(6, random_state=0).fit(X, y, checkpoint=tmp_path, every=2)
    parts = [weald.load(path) for path in sorted(tmp_path.glob("*.weald"))]
    assert [part.n_estimators for part in parts] == [2, 2, 2]
    assert weald.merge(parts).forest_.fingerprint() == model.forest_.fingerprint()


def test_more_or_fewer_trees_and_warm_start(tmp_path):
    model = weald.RandomForestClassifier(6, random_state=0).fit(X, y, checkpoint=tmp_path, every=4)
    for n in (5, 12):
        model.set_params(n_estimators=n)
        assert fingerprint(model, X, y, checkpoint=tmp_path, every=3) == fingerprint(model, X, y)
    grown = weald.RandomForestClassifier(4, random_state=0, warm_start=True).fit(X, y)
    grown.set_params(n_estimators=12).fit(X, y, checkpoint=tmp_path / "more", every=5)
    assert grown.forest_.fingerprint() == model.forest_.fingerprint()


def test_a_store_and_a_checkpoint(tmp_path):
    store = weald.codes.from_chunks([(X[::2], y[::2]), (X[1::2], y[1::2])], folder=tmp_path / "store")
    model = weald.RandomForestClassifier(30, random_state=0, oob_score=True)
    model.fit(store, checkpoint=tmp_path / "trees", every=11)
    assert model.forest_.fingerprint() == fingerprint(model, X, y)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"random_state": 1}, "the seed"),
        ({"min_samples_leaf": 2}, "a parameter"),
        ({"ccp_alpha": 0.1}, "ccp_alpha"),
        ({"max_bins": 3}, "the table"),
    ],
)
def test_trees_of_another_fit_are_refused(change, words, tmp_path):
    model = weald.RandomForestClassifier(4, random_state=0).fit(X, y, checkpoint=tmp_path, every=2)
    with pytest.raises(FormatError, match=words):
        model.set_params(**change).fit(X, y, checkpoint=tmp_path)


def test_trees_of_another_contract_are_refused(tmp_path, monkeypatch):
    model = weald.RandomForestClassifier(4, random_state=0).fit(X, y, checkpoint=tmp_path, every=2)
    monkeypatch.setattr("weald.estimators.checkpoints.CONTRACT_VERSION", model.forest_.contract + 1)
    with pytest.raises(FormatError, match="the version of the contract"):
        model.fit(X, y, checkpoint=tmp_path)


def test_other_labels_and_kinds_are_refused(tmp_path):
    weald.RandomForestClassifier(4, random_state=0).fit(X, y, checkpoint=tmp_path, every=2)
    with pytest.raises(FormatError, match="a class"):
        weald.RandomForestClassifier(4, random_state=0).fit(X, np.array(list("abc"))[y], checkpoint=tmp_path)
    with pytest.raises(FormatError, match="the estimator"):
        weald.ExtraTreesClassifier(4, random_state=0).fit(X, y, checkpoint=tmp_path)
    next(tmp_path.glob("trees-000000*")).write_bytes(b"nothing")
    with pytest.raises(FormatError, match="trees-000000"):
        weald.RandomForestClassifier(4, random_state=0).fit(X, y, checkpoint=tmp_path)


def test_what_cannot_be_kept_is_refused(tmp_path):
    for model in (weald.RandomForestClassifier("auto"), weald.RandomForestClassifier(resampling="boosting")):
        with pytest.raises(ParameterError, match="checkpoint"):
            model.fit(X, y, checkpoint=tmp_path)
    with pytest.raises(DataError, match="several"):
        weald.RandomForestRegressor().fit(X, X[:, :2], checkpoint=tmp_path)
    with pytest.raises(ParameterError, match="every=0"):
        weald.RandomForestRegressor().fit(X, y, checkpoint=tmp_path, every=0)


def test_progress_counts_all_trees(tmp_path, capsys):
    weald.RandomForestClassifier(4, random_state=0, verbose=1).fit(X, y, checkpoint=tmp_path, every=2)
    assert "4 of 4 trees" in capsys.readouterr().err
