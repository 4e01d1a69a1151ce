"""libFuzzer on the reader of model files: a C++ target without Python, under the sanitizers.

Coverage guides the changes: an input that reaches new code is kept and changed further. The first inputs are the golden
files, whose arrays have no checksums here. Needs clang with its runtime (Debian: clang, libclang-rt-14-dev); without
it, the campaign is skipped, and says so.
"""

import os
import re
import shutil
import struct
import subprocess

import numpy as np

from benchmarks.measure import ROOT
from tests.campaigns.campaign import Budget, FaultError, Figures, main
from tests.io.mutate import Mutator, wholes
from weald.io import words

SOURCES = [
    "tests/campaigns/decode_fuzzer.cpp",
    "core/files/*.cpp",
    "core/tree/forest_view.cpp",
    "core/base/threads.cpp",
]
FLAGS = [
    *("-std=c++20", "-O2", "-g1", "-Icore", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all"),
    *("-ffp-contract=off", "-pthread"),
]
RULES = ("none", "gini", "entropy", "misclassification", "squared_error")
KINDS = {"u": 0, "i": 1, "f": 2}
CUT = 3
MOST_NODES = 1024  # as in the target
FOLDER = ROOT / "build" / "fuzz"


def input_of(mutator: Mutator) -> bytes:
    """Write the arrays of a file in the form of the target."""
    head = mutator.head
    numbers = (head.n_features - 1, head.n_classes, head.n_trees, head.n_nodes, head.target_center)
    rest = (head.target_exponent, RULES.index(head.decrease), head.is_bound)
    parts = [struct.pack("<HHHHdhBB", *numbers, *rest)]
    for name, array in mutator.plain.items():
        kind = CUT if array.ndim == 2 else KINDS[array.dtype.kind]
        width = array.shape[1] - 1 if kind == CUT else int(np.log2(array.dtype.itemsize))
        width = int(array.dtype.itemsize == 8) if kind == KINDS["f"] else width
        parts += [bytes([len(name)]), name.encode(), struct.pack("<BBH", kind, width, len(array)), array.tobytes()]
    return b"".join(parts)


def write_corpus() -> int:
    """Write the first inputs, and the names of arrays as a dictionary; return how many inputs."""
    corpus = FOLDER / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    names, n = set(), 0
    for stem, whole in wholes(many=False).items():
        mutator = Mutator(whole)
        if words.MAPPABLE in mutator.texts["weald.requires"] or mutator.head.n_nodes > MOST_NODES:
            continue
        (corpus / stem).write_bytes(input_of(mutator))
        names |= set(mutator.plain)
        n += 1
    (FOLDER / "names").write_text("".join(f'"\\x{len(name):02x}{name}"\n' for name in sorted(names)))
    return n


def compile_target(compiler: str) -> str | None:
    """Compile the target; return why it cannot be."""
    sources = [str(path) for pattern in SOURCES for path in sorted(ROOT.glob(pattern))]
    done = subprocess.run(
        [compiler, *FLAGS, *sources, "-o", str(FOLDER / "decode")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if done.returncode == 0:
        return None
    if "libclang_rt" in done.stderr:
        return "clang has no runtime for libFuzzer here"
    raise FaultError(f"the target does not compile:\n{done.stderr[-2000:]}")


def work(budget: Budget) -> Figures:
    what = "inputs of libFuzzer for the reader of model files"
    compiler = shutil.which("clang++")
    if compiler is None:
        return [(what, "skipped", "there is no clang++ here")]
    n_first = write_corpus()
    if why := compile_target(compiler):
        return [(what, "skipped", why)]
    options = [f"-max_total_time={max(1, int(budget.seconds))}", f"-seed={budget.seed + 1}", "-max_len=8192"]
    options += ["-timeout=10", "-rss_limit_mb=4096", "-print_final_stats=1", f"-dict={FOLDER / 'names'}"]
    done = subprocess.run(
        [str(FOLDER / "decode"), *options, f"-artifact_prefix={FOLDER}/", str(FOLDER / "corpus")],
        env=os.environ | {"ASAN_OPTIONS": "allocator_may_return_null=1"},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=budget.seconds + 300,
    )
    if done.returncode:
        raise FaultError(done.stderr[-4000:])
    stats = dict(re.findall(r"stat::(\w+):\s+(\d+)", done.stderr))
    covered = re.findall(r"cov: (\d+)", done.stderr)
    runs = int(stats["number_of_executed_units"])
    kept = len(list((FOLDER / "corpus").iterdir()))
    outcome = f"refused or walked; {covered[-1]} places of the code reached, {kept} inputs kept of {n_first} first ones"
    return [(what, f"{runs:,}", outcome)]


if __name__ == "__main__":
    main("fuzz", __doc__ or "", work)
