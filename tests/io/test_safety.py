"""No file can run code, crash, hang or exhaust the reader."""

import json
import pickle
import tracemalloc
import zlib

import numpy as np
import pytest

import weald
from tests.io.cases import models, table
from tests.io.mutate import SIGNATURES, UNSIGNED, Mutator, sign, try_to_use, unsigned
from weald.errors import FormatError
from weald.io import container, files

OPTIONS = ({}, {"compress": False}, {"mappable": True}, {"tree_hashes": True})


def small(n_trees=2, **options) -> bytes:
    model = weald.RandomForestClassifier(n_trees, max_depth=2, random_state=0).fit(
        [[1.0], [2.0], [3.0]] * 3, list("aab") * 3
    )
    return b"".join(files.write(model, **options))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_byte_counts(options):
    """A change of any byte is refused."""
    whole = small(**options)
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        with pytest.raises(FormatError):
            files.read(bytes(changed))


@pytest.mark.slow
def test_every_value_of_every_byte_counts():
    whole = small()
    for place in range(len(whole)):
        for value in set(range(256)) - {whole[place]}:
            with pytest.raises(FormatError):
                files.read(whole[:place] + bytes([value]) + whole[place + 1 :])


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_truncation_is_refused(options):
    whole = small(**options)
    for length in range(len(whole)):
        with pytest.raises(FormatError):
            files.read(whole[:length])
    with pytest.raises(FormatError):
        files.read(whole + b"\0")


def draw_and_use(n_cases: int, names) -> dict[str, int]:
    counts = {"refused": 0, "used": 0}
    with unsigned():
        mutators = [Mutator(b"".join(files.write(models()[name][0], **o))) for name in names for o in OPTIONS]
        for seed in range(n_cases):
            counts[try_to_use(mutators[seed % len(mutators)].draw(seed))] += 1
    return counts


@pytest.mark.sanitize
@pytest.mark.filterwarnings("ignore")
def test_a_wrong_file_that_is_signed_is_refused_or_harmless():
    counts = draw_and_use(240, ["RandomForestRegressor, missing values", "categories", "bound shares", "out of bag"])
    assert min(counts.values()) > 24


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_many_wrong_files_are_refused_or_harmless():
    counts = draw_and_use(4000, models())
    assert min(counts.values()) > 400


def test_starts_whose_differences_wrap_around_are_refused():
    mutator = Mutator(small(n_trees=4, mappable=True))
    start = mutator.arrays["forest.tree_start"].copy()
    n_nodes, least = int(start[-1]), -(2**63)
    assert len(start) > 3
    start[1], start[2:-1] = 2**63 - 1, range(least + 1 + n_nodes, least + n_nodes + len(start) - 2)
    assert (np.diff(start) > 0).all()
    wrong = sign({**mutator.texts, "weald.notes": mutator.written}, {**mutator.arrays, "forest.tree_start": start})
    with pytest.raises(FormatError, match="is not in ascending order"):
        files.read(wrong)


@pytest.mark.parametrize(
    "numbers", [3, [3, 2.0], [{"array": {"dtype": "O", "shape": [2], "items": [1, 2]}}, 3], {"tuple": [3, 3]}], ids=str
)
def test_numbers_of_classes_are_a_list_of_whole_numbers(numbers):
    X, y, _ = table()
    model = weald.RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, np.column_stack([y, y]))
    mutator = Mutator(b"".join(files.write(model)))
    notes = mutator.notes
    notes["learnt"]["n_classes_"] = numbers
    with pytest.raises(FormatError, match=r"The number of classes is inconsistent|The fitted attribute"):
        files.read(sign({**mutator.texts, "weald.notes": json.dumps(notes)}, mutator.arrays))


# ------------------------------------------------------------------------------------------------------------- bombs


def taken_apart():
    mutator = Mutator(small())
    return mutator.texts, mutator.notes, dict(mutator.arrays)


def refuse_cheaply(texts, notes, arrays, match) -> None:
    """Refused, before more than a few megabytes are allocated."""
    whole = sign({**texts, "weald.notes": json.dumps(notes)}, arrays)
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=match):
            files.read(whole)
        assert tracemalloc.get_traced_memory()[1] < 2**24 + 4 * len(whole)
    finally:
        tracemalloc.stop()


def head_of(notes):
    return notes["head"]["record"][1]


def test_a_forest_that_claims_too_many_nodes_is_refused():
    texts, notes, arrays = taken_apart()
    head_of(notes)["n_nodes"] = 2**39
    refuse_cheaply(texts, notes, arrays, "are allowed")


def test_a_forest_that_claims_too_many_trees_features_or_classes_is_refused():
    for name in ("n_trees", "n_features", "n_classes"):
        texts, notes, arrays = taken_apart()
        head_of(notes)[name] = 2**29
        refuse_cheaply(texts, notes, arrays, "[.]")


def bags_of(notes):
    return head_of(notes)["origins"]["tuple"][0]["record"][1]["bags"]["record"][1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_draws": 2**31 - 1},  # bags have nine draws
        {"n_draws": 10},
        {"n_draws": 8},
        {"n_draws": 2**40},
        {"n_draws": 0},
        {"draws": {"tuple": [2**31, 2**40]}},
        {"n_draws": 2**31 - 1, "draws": {"tuple": [2**31 - 1]}},
        {"strata": "some"},
        {"design": 2**64},
    ],
    ids=str,
)
def test_bags_that_claim_other_draws_than_their_trees_have_are_refused(wrong):
    """Access to out-of-bag results would take very long."""
    texts, notes, arrays = taken_apart()
    assert bags_of(notes)["n_draws"] == 9
    bags_of(notes).update(wrong)
    refuse_cheaply(texts, notes, arrays, "bag|origin")


def test_what_unzips_to_very_much_is_refused():
    texts, notes, arrays = taken_apart()
    texts["weald.requires"] = "estimator zlib"
    bomb = zlib.compress(bytes(2**26), 9)
    arrays["split.feature"] = np.frombuffer(bomb, dtype=np.uint8)
    notes["zipped"] = {"split.feature": ["|u1", [2**26]]}
    refuse_cheaply(texts, notes, arrays, "compressed bytes")
    notes["zipped"] = {"split.feature": ["|u1", [60 * len(bomb)]]}
    refuse_cheaply(texts, notes, arrays, "has the wrong length")


def test_what_unzips_to_more_than_is_allowed_is_refused():
    model, _ = models()["RandomForestClassifier"]
    with pytest.raises(FormatError, match="are allowed"):
        files.read(b"".join(files.write(model)), max_bytes=1000)


def test_lists_inside_lists_are_refused():
    texts, notes, arrays = taken_apart()
    deep: object = 1
    for _ in range(400):
        deep = [deep]
    notes["parameters"]["n_jobs"] = deep
    refuse_cheaply(texts, notes, arrays, "too deeply")


def test_wide_texts_are_refused():
    texts, notes, arrays = taken_apart()
    notes["parameters"]["n_jobs"] = {"scalar": ["<U99999999", "x"]}
    refuse_cheaply(texts, notes, arrays, "longer than the text")
    notes["parameters"]["n_jobs"] = {"array": {"dtype": "<U99999999", "shape": [1], "items": ["x"]}}
    refuse_cheaply(texts, notes, arrays, "texts")


def test_a_tree_deeper_than_allowed_is_refused(monkeypatch):
    monkeypatch.setattr("weald.io.packing.MOST_DEPTH", 0)
    with pytest.raises(FormatError, match="deeper than 0"):
        files.read(small())


def test_a_whole_number_of_any_size_where_a_double_stands_is_harmless():
    for center in (3, 10**30, -(10**38)):
        texts, notes, arrays = taken_apart()
        head_of(notes)["target_center"] = center
        whole = sign({**texts, "weald.notes": json.dumps({**notes, "fingerprint": UNSIGNED})}, arrays)
        with unsigned():
            assert files.read(whole).forest_.target_center == float(center)


def test_a_later_minor_version_is_read():
    texts, notes, arrays = taken_apart()
    whole = sign({**texts, "weald.format": "1.9", "weald.notes": json.dumps(notes)}, arrays)
    assert files.read(whole).forest_.n_trees == 2


# -------------------------------------------------------------------------------------------------------------- code


class Evil:
    """An object whose pickle executes code."""

    def __reduce__(self):
        return (pytest.fail, ("code was run",))


@pytest.mark.parametrize("make", [lambda: pickle.dumps(Evil()), lambda: b"#!/bin/sh\nfalse\n", lambda: b""])
def test_what_is_no_weald_file_is_refused_and_not_run(make, tmp_path):
    (tmp_path / "m.weald").write_bytes(make())
    with pytest.raises(FormatError, match=r"not a \.weald file"):
        weald.load(tmp_path / "m.weald")


def test_a_file_names_what_is_wrong_with_it(tmp_path):
    whole = bytearray(small())
    whole[-1] ^= 1
    (tmp_path / "m.weald").write_bytes(whole)
    with pytest.raises(FormatError, match=r"m\.weald cannot be read\. The arrays are damaged"):
        weald.load(tmp_path / "m.weald")


def test_no_estimator_is_made_but_those_of_weald():
    for name in ("Pipeline", "load", "os.system", "TreeModel", "__version__"):
        texts, notes, arrays = taken_apart()
        notes["estimator"] = name
        refuse_cheaply(texts, notes, arrays, "is not an estimator")


def test_signatures_are_those_of_the_container():
    assert set(SIGNATURES) <= container.read(small()).metadata.keys()
