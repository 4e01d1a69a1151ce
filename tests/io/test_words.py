"""A reader understands every word of a header, or names the version of weald that does."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import weald
from tests.io.mutate import Mutator, sign
from tests.io.test_safety import refuse_cheaply, small, taken_apart
from weald.errors import FormatError
from weald.io import container, files, words

GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "files").glob("*/*.weald"))


def refuse(match, **texts) -> None:
    """Refuse a file whose header has other texts."""
    found, notes, arrays = taken_apart()
    refuse_cheaply({**found, **{f"weald.{name}": text for name, text in texts.items()}}, notes, arrays, match)


def test_a_file_has_the_words_that_it_needs():
    ways = {"zlib": {}, "mappable": {"mappable": True}}
    found = {way: container.read(small(**options)).metadata["weald.requires"] for way, options in ways.items()}
    assert found == {way: f"estimator contract {way}" for way in ways}


def test_every_word_is_readable_or_specified_and_never_both():
    assert not words.READABLE & words.SPECIFIED
    assert all(words.WORD.fullmatch(word) for word in words.READABLE | words.SPECIFIED)


def test_the_specification_has_every_word():
    page = (Path(__file__).parents[2] / "docs" / "deployment" / "model-files.md").read_text()
    assert [word for word in words.READABLE | words.SPECIFIED if f"| `{word}` |" not in page] == []


def test_an_unknown_word_is_refused_and_the_version_that_reads_it_is_named():
    refuse(
        r"needs 'oblique', which is unknown to weald .*weald 3\.2: install that version or a later one",
        requires="estimator contract oblique",
        writer="3.2",
    )


@pytest.mark.parametrize("word", sorted(words.SPECIFIED))
def test_a_word_that_is_only_specified_is_refused_and_never_left_aside(word):
    refuse(f"needs '{word}', which is specified, but not readable by weald", requires=f"estimator contract zlib {word}")


@pytest.mark.parametrize("writer", ["", "x", "1.0\nrm -rf", "9" * 99, "<b>"])
def test_a_writer_that_is_no_version_of_weald_is_not_quoted(writer):
    refuse(r"unknown to weald [^ ]+ Install a later version of weald\.$", requires="estimator oblique", writer=writer)


@pytest.mark.parametrize(
    ("requires", "match"),
    [
        ("estimator zlib zlib", "contains the word 'zlib' twice"),
        ("estimator zlib estimator", "contains the word 'estimator' twice"),
        ("", "not a list of words: it contains ''"),
        ("estimator  zlib", "not a list of words: it contains ''"),
        (" estimator zlib", "not a list of words"),
        ("estimator zlib ", "not a list of words"),
        ("estimator\tzlib", "not a list of words"),
        ("Estimator zlib", "not a list of words"),
        ("estimator zlib x\u0131", "not a list of words"),
        ("estimator " + "z" * 41, "not a list of words"),
        ('["estimator"]', "not a list of words"),
        ("zlib", "either an estimator or a forest"),
        ("estimator forest", "either an estimator or a forest"),
        ("forest zlib", "contains no estimator"),
    ],
)
def test_words_that_are_not_as_they_should_be_are_refused(requires, match):
    refuse(match, requires=requires)


def test_a_file_without_words_is_refused():
    texts, notes, arrays = taken_apart()
    del texts["weald.requires"]
    refuse_cheaply(texts, notes, arrays, "not a list of words")


@pytest.mark.parametrize("given", [["estimator", "zlib"], 1, None, {"estimator": True}], ids=str)
def test_words_of_another_type_are_refused(given):
    texts, notes, arrays = taken_apart()
    refuse_cheaply({**texts, "weald.requires": given}, notes, arrays, "metadata must be texts")


@pytest.mark.parametrize("version", ["2.0", "0.9", "11.0"])
def test_another_format_is_refused_and_the_version_that_reads_it_is_named(version):
    refuse(rf"of format {version}; weald .* reads 1\.x.*weald 5\.0: install that", format=version, writer="5.0")


@pytest.mark.parametrize("version", ["", "1", "1.", ".1", "1.x", "1.-1", "one", "\u0661.0", "1." + "9" * 5000])
def test_a_format_that_is_none_is_refused(version):
    refuse("does not state its format", format=version)


# ---------------------------------------------------------------------------------------------------------- contracts


def with_contract(number):
    texts, notes, arrays = taken_apart()
    head = notes["head"]["record"][1]
    assert head["contract"] >= 1
    head["contract"] = number
    return texts, notes, arrays


def test_a_later_contract_is_refused_and_the_version_that_knows_it_is_named():
    texts, notes, arrays = with_contract(files.CONTRACT_VERSION + 1)
    match = r"under version \d+ of the contract, but weald .* knows versions up to \d+\. It was written by weald 4\.4"
    refuse_cheaply({**texts, "weald.writer": "4.4"}, notes, arrays, match)


@pytest.mark.parametrize("number", [0, -1, 10**30, 1.0, "1", None, True, {"float": "nan"}, [1]], ids=str)
def test_a_contract_that_is_no_version_is_refused(number):
    refuse_cheaply(*with_contract(number), "contract")


def test_a_contract_without_its_word_is_refused(monkeypatch):
    for module in ("weald.io.files", "weald.io.packing"):
        monkeypatch.setattr(f"{module}.CONTRACT_VERSION", 9)
    texts, notes, arrays = with_contract(9)
    words_of_1_0 = texts["weald.requires"].replace("contract ", "")
    refuse_cheaply({**texts, "weald.requires": words_of_1_0}, notes, arrays, "lacks 'contract'")


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_trees_stay_of_the_contract_that_they_were_grown_under(file, tmp_path, monkeypatch):
    """Fingerprints do not change with later versions of the contract, also if a forest is saved again."""
    told = json.loads(file.with_suffix(".json").read_text())["fingerprint"]
    for module in ("weald.io.files", "weald.io.packing"):
        monkeypatch.setattr(f"{module}.CONTRACT_VERSION", 9)
    model = weald.load(file)
    model.save(tmp_path / "again.weald")
    model.save(tmp_path / "mappable.weald", mappable=True)
    for one in (model, *(weald.load(tmp_path / name) for name in ("again.weald", "mappable.weald"))):
        forests = getattr(one, "forests_", None) or (one.forest_,)
        found = [forest.fingerprint() for forest in forests]
        assert (found[0] if isinstance(told, str) else found) == told
        if file.parent.name == "1.0":
            assert {forest.contract for forest in forests} == {1}


def test_a_file_of_1_0_says_no_contract():
    notes = Mutator(next(f for f in GOLDEN if f.parent.name == "1.0").read_bytes()).notes
    assert "contract" not in notes["head"]["record"][1]


# ------------------------------------------------------------------------------------------------- what is optional


def test_optional_notes_and_arrays_that_are_unknown_are_left_aside():
    mutator = Mutator(small())
    notes = mutator.notes | {"optional": {**mutator.notes["optional"], "curvature": {"of": [1, None]}}}
    arrays = {**mutator.arrays, "optional.curvature": mutator.arrays["tree.nodes"].reshape(1, -1)}
    whole = sign({**mutator.texts, "weald.notes": json.dumps(notes)}, arrays)
    model, same = files.read(whole), files.read(small())
    assert model.forest_.fingerprint() == same.forest_.fingerprint()
    assert b"".join(files.write(model)) == small()


@pytest.mark.parametrize("given", [[], 1, "x", None, [{}]], ids=str)
def test_optional_notes_have_names(given):
    texts, notes, arrays = taken_apart()
    refuse_cheaply(texts, {**notes, "optional": given}, arrays, "The optional notes are invalid")


@pytest.mark.parametrize("name", ["optional", "optionally.x", "1/optional.x", "x.optional.y"])
def test_an_array_that_is_not_optional_by_name_is_refused(name):
    texts, notes, arrays = taken_apart()
    whole = sign({**texts, "weald.notes": json.dumps(notes)}, {**arrays, name: arrays["tree.nodes"]})
    with pytest.raises(FormatError):
        files.read(whole)


def test_parts_of_forests_have_their_words_and_words_their_parts():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    scaled = weald.DecisionTreeClassifier().fit(X, y, rng.random(40))
    empty = weald.RandomForestClassifier(20, max_samples=1, class_weight={0: 1, 1: 0}, random_state=0).fit(X, y)
    shrunk = weald.DecisionTreeClassifier(shrinkage=2.0).fit(X, y)
    for model, word in ((scaled, words.WEIGHT_SCALE), (empty, words.ZERO_VOTES), (shrunk, words.SHRINKAGE)):
        contents = container.read(b"".join(files.write(model)))
        needed = contents.metadata[words.REQUIRES].split(" ")
        assert word in needed
        more = sorted({*needed, *words.PARTS})
        for other in ([w for w in needed if w != word], *([more] if len(more) > len(needed) else [])):
            texts = {**contents.metadata, words.REQUIRES: " ".join(other)}
            content = b"".join(bytes(part) for part in container.write(texts, contents.arrays))
            with pytest.raises(FormatError, match="and the trees do not agree on"):
                files.read(content)


# ----------------------------------------------------------------------------------------- what a fit knew of its table


def test_a_file_keeps_the_number_of_rows_and_the_name_of_the_target():
    y = pd.Series(["a", "b", "a", "b"], name="species")
    model = weald.RandomForestClassifier(3, random_state=0).fit([[1.0], [2.0], [3.0], [4.0]], y)
    for again in (files.read(b"".join(files.write(model))), weald.from_json(model.to_json().model)):
        assert (again.n_samples_fit_, again.target_name_) == (4, "species")
        assert again.forest_.fingerprint() == model.forest_.fingerprint()
    model.fit([[1.0], [2.0], [3.0]], ["a", "b", "a"])
    assert not hasattr(model, "target_name_")
    assert files.read(b"".join(files.write(model))).n_samples_fit_ == 3


@pytest.mark.parametrize(
    "wrong", [[], {"rows": "4"}, {"rows": -1}, {"rows": True}, {"rows": 2**63}, {"target": 1}], ids=str
)
def test_wrong_notes_on_the_training_are_refused(wrong):
    texts, notes, arrays = taken_apart()
    refuse_cheaply(texts, {**notes, "optional": {"training": wrong}}, arrays, "notes on the training")


def test_files_without_notes_on_the_training_are_read():
    texts, notes, arrays = taken_apart()
    model = files.read(
        sign({**texts, "weald.notes": json.dumps({k: v for k, v in notes.items() if k != "optional"})}, arrays)
    )
    assert not hasattr(model, "n_samples_fit_")


# ------------------------------------------------------------------------------------------------------------ shrinkage


@pytest.mark.parametrize(
    "wrong",
    [None, 1.0, {}, {"lambda": 1}, {"lambda": -1.0}, {"lambda": "1"}, {"lambda": True}, {"lambda": 1.0, "a": 1}],
)
def test_a_wrong_note_on_shrinkage_is_refused(wrong):
    model = weald.DecisionTreeRegressor(shrinkage=2.0).fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 4.0])
    contents = container.read(b"".join(files.write(model)))
    notes = json.loads(contents.metadata["weald.notes"])
    assert notes["shrinkage"] == {"lambda": 2.0}
    whole = sign({**contents.metadata, "weald.notes": json.dumps({**notes, "shrinkage": wrong})}, contents.arrays)
    with pytest.raises(FormatError, match="The note on shrinkage is invalid"):
        files.read(whole)


def test_constrained_trees_cannot_be_shrunk_by_a_file():
    model = weald.DecisionTreeClassifier(monotonic_cst=[1]).fit([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1])
    contents = container.read(b"".join(files.write(model)))
    notes = {**json.loads(contents.metadata["weald.notes"]), "shrinkage": {"lambda": 2.0}}
    texts = {
        **contents.metadata,
        words.REQUIRES: contents.metadata[words.REQUIRES] + " shrinkage",
        "weald.notes": json.dumps(notes),
    }
    with pytest.raises(FormatError, match="Trees with monotonic constraints cannot be shrunk"):
        files.read(sign(texts, contents.arrays))
