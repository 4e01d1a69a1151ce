"""Damaged and forged files: every truncation and single-byte change, and changes with valid digests.

Small files of each kind: the golden model files, plain, mappable and hashed ones, JSON, pickled forests, checkpoints
and code stores. A reader must refuse a damaged file, or what it accepts must predict without an error. The cases are in
a random order, so a run of any length is a sample of all.
"""

import itertools
import json
import pickle
import tempfile
from pathlib import Path

import numpy as np

import weald
from tests.campaigns.campaign import Budget, FaultError, Figures, main, run_cases, told
from tests.codes.wrong_stores import try_to_fit, whole_stores
from tests.io.mutate import GOLDEN, Mutator, try_to_use, unsigned, wholes
from weald.errors import FormatError, WealdError
from weald.forest.forest import Forest
from weald.io import files

X = np.arange(9.0).reshape(9, 1) % 4
Y = ["a", "b", "b"] * 3


def small_model():
    return weald.RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, Y)


def small_files() -> dict[str, bytes]:
    """Small model files of each kind."""
    model = small_model()
    ways = {"plain": {"compress": False}, "zipped": {}, "mappable": {"mappable": True}, "hashed": {"tree_hashes": True}}
    found = {name: b"".join(files.write(model, **way)) for name, way in ways.items()}
    return found | {f"golden {p.stem}": p.read_bytes() for p in sorted(GOLDEN.glob("*/*.weald"))}


def places(sizes: dict[str, int], budget: Budget, n_changes: int):
    """Yield (name, place, change) of all files in a random order, without an end."""
    dice, total = budget.dice("places"), sum(sizes.values()) * n_changes
    names, ends = list(sizes), list(itertools.accumulate(sizes.values()))
    for number in iter(lambda: dice.randrange(total), None):
        at, change = divmod(number, n_changes)
        which = next(i for i, end in enumerate(ends) if at < end)
        yield names[which], at - (ends[which] - sizes[names[which]]), change


def refused(read) -> str:
    """Read something that must be refused."""
    try:
        read()
    except FormatError:
        return "refused"
    raise FaultError("a damaged file was accepted")


def truncate(budget: Budget) -> Figures:
    """Every truncation of every file."""
    wholes_of = small_files()
    cases = [(name, length) for name, whole in wholes_of.items() for length in range(len(whole))]
    budget.dice("lengths").shuffle(cases)
    counts = run_cases(cases, lambda c: refused(lambda: files.read(wholes_of[c[0]][: c[1]])), budget)
    return [("truncated model files", f"{counts.total():,} of {len(cases):,}", told(counts))]


def change_bytes(budget: Budget) -> Figures:
    """Single bytes with each other value."""
    wholes_of = small_files()
    sizes = {name: len(whole) for name, whole in wholes_of.items()}

    def check(case) -> str:
        name, place, change = case
        changed = bytearray(wholes_of[name])
        changed[place] ^= change + 1
        return refused(lambda: files.read(bytes(changed)))

    counts = run_cases(places(sizes, budget, 255), check, budget)
    return [("model files with one changed byte", f"{counts.total():,} of {255 * sum(sizes.values()):,}", told(counts))]


def change_mapped(budget: Budget) -> Figures:
    """A mapped file is not checked before use: what is accepted must not crash."""
    whole = small_files()["mappable"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "m.weald")

        def check(case) -> str:
            _, place, change = case
            changed = bytearray(whole)
            changed[place] ^= change + 1
            file.write_bytes(changed)
            try:
                model = weald.load(file, mmap=True)
                model.predict(X)
                model.apply(X)
            except (WealdError, ValueError) as error:
                return "refused" if isinstance(error, WealdError) else f"{type(error).__name__}"
            return "accepted and used"

        counts = run_cases(places({"mapped": len(whole)}, budget, 255), check, budget)
    return [("mapped files with one changed byte", f"{counts.total():,} of {255 * len(whole):,}", told(counts))]


def change_json(budget: Budget) -> Figures:
    """One changed character of the JSON of a model."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "m.json")
        small_model().to_json(file)
        text = file.read_bytes()

        def check(case) -> str:
            _, place, change = case
            changed = bytearray(text)
            changed[place] = change if change < text[place] else change + 1
            file.write_bytes(changed)
            try:
                weald.from_json(file).predict(X)
            except WealdError:
                return "refused"
            except (UnicodeDecodeError, json.JSONDecodeError) as error:
                raise FaultError(f"{type(error).__name__} instead of FormatError") from error
            return "accepted and used"

        counts = run_cases(places({"json": len(text)}, budget, 127), check, budget)
    return [("JSON with one changed character", f"{counts.total():,} of {127 * len(text):,}", told(counts))]


def change_pickles(budget: Budget) -> Figures:
    """One changed byte of the forest inside a pickle."""
    read, (payload,) = small_model().forest_.__reduce__()
    assert isinstance(pickle.loads(pickle.dumps(small_model().forest_)), Forest)

    def check(case) -> str:
        _, place, change = case
        changed = bytearray(payload)
        changed[place] ^= change + 1
        return refused(lambda: read(bytes(changed)))

    counts = run_cases(places({"pickle": len(payload)}, budget, 255), check, budget)
    return [("pickled forests with one changed byte", f"{counts.total():,} of {255 * len(payload):,}", told(counts))]


def change_checkpoints(budget: Budget) -> Figures:
    """One changed byte of a checkpoint: the fit names it, or gives the forest of an uninterrupted fit."""
    with tempfile.TemporaryDirectory() as folder:
        model = weald.RandomForestClassifier(4, max_depth=2, random_state=0)
        wanted = model.fit(X, Y, checkpoint=folder, every=2).forest_.fingerprint()
        file = min(Path(folder).iterdir())
        whole = file.read_bytes()

        def check(case) -> str:
            _, place, change = case
            changed = bytearray(whole)
            changed[place] ^= change + 1
            file.write_bytes(changed)
            try:
                found = model.fit(X, Y, checkpoint=folder, every=2).forest_.fingerprint()
            except WealdError:
                return "refused"
            if found != wanted:
                raise FaultError("another forest")
            return "grown again"

        counts = run_cases(places({"checkpoint": len(whole)}, budget, 255), check, budget)
    return [("checkpoints with one changed byte", f"{counts.total():,} of {255 * len(whole):,}", told(counts))]


def change_stores(budget: Budget) -> Figures:
    """One changed byte of a code store, and changes with valid digests."""
    wholes_of = whole_stores()
    sizes = {name: len(whole) for name, whole in wholes_of.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "codes.weald")

        def check(case) -> str:
            name, place, change = case
            changed = bytearray(wholes_of[name])
            changed[place] ^= change + 1
            path.write_bytes(changed)
            return refused(lambda: weald.codes.load(folder))

        counts = run_cases(places(sizes, budget, 255), check, budget.part(0.5))
        mutators = [Mutator(whole) for whole in wholes_of.values()]
        seeds = iter(itertools.count(budget.seed * 10**9))

        def fit(seed) -> str:
            return try_to_fit(mutators[seed % len(mutators)].draw(seed), Path(folder))

        forged = run_cases(seeds, fit, budget.part(0.5))
    return [
        ("code stores with one changed byte", f"{counts.total():,} of {255 * sum(sizes.values()):,}", told(counts)),
        ("code stores with valid digests and wrong contents", f"{forged.total():,}", told(forged)),
    ]


def forge(budget: Budget) -> Figures:
    """Model files with valid digests and wrong contents; what is accepted is used in every way."""
    mutators = [Mutator(whole) for whole in wholes(many=False).values()]

    def check(seed) -> str:
        return try_to_use(mutators[seed % len(mutators)].draw(seed), in_every_way=seed % 4 == 0)

    with unsigned():
        counts = run_cases(itertools.count(budget.seed * 10**9), check, budget)
    return [("model files with valid digests and wrong contents", f"{counts.total():,}", told(counts))]


STEPS = {
    truncate: 0.15,
    change_bytes: 0.2,
    change_mapped: 0.1,
    change_json: 0.1,
    change_pickles: 0.05,
    change_checkpoints: 0.05,
    change_stores: 0.15,
    forge: 0.2,
}


def work(budget: Budget) -> Figures:
    return [line for step, share in STEPS.items() for line in step(budget.part(share))]


if __name__ == "__main__":
    main("files", __doc__ or "", work)
