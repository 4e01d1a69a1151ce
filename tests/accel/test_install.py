"""install() replaces scikit-learn's names in this process, and can be undone; scripts run under it."""

import subprocess
import sys

import sklearn.ensemble
import sklearn.tree

from weald import accel
from weald.accel import estimators

SCRIPT = """
import sys
from sklearn.datasets import load_iris
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
import beside

X, y = load_iris(return_X_y=True)
print(sys.argv[1:], __name__, beside.WORD)
print(type(RandomForestClassifier(5).fit(X, y).weald_).__module__)
print(hasattr(ExtraTreesRegressor(2, max_depth=2).fit(X, y, [-1] + [1] * 149), "weald_"))
"""


def run(*arguments, cwd):
    command = [sys.executable, "-m", "weald.accel", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=cwd, check=False)


def test_installing_twice_is_installing_once():
    theirs = sklearn.ensemble.RandomForestClassifier
    accel.install()
    accel.install()
    assert accel.is_installed()
    assert sklearn.ensemble.RandomForestClassifier is estimators.RandomForestClassifier
    assert len(accel.summary().replaced) == 8
    accel.uninstall()
    assert sklearn.ensemble.RandomForestClassifier is theirs
    assert not accel.is_installed()
    assert str(accel.summary()).startswith("weald.accel is not installed")


def test_names_that_were_imported_before_stay_what_they_were():
    from sklearn.tree import DecisionTreeClassifier as Before

    accel.install()
    try:
        from sklearn.tree import DecisionTreeClassifier as After
    finally:
        accel.uninstall()
    assert Before is estimators.THEIRS["DecisionTreeClassifier"]
    assert After is estimators.DecisionTreeClassifier


def test_the_module_itself_is_light():
    code = "import sys, weald.accel; sys.exit(bool({'numpy', 'sklearn', 'weald._core'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=240).returncode == 0


def test_a_script_runs_with_its_arguments_and_neighbors(tmp_path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "script.py").write_text(SCRIPT)
    (tmp_path / "scripts" / "beside.py").write_text("WORD = 'found'\n")
    result = run("--report", "scripts/script.py", "--report", "b", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["['--report', 'b'] __main__ found", "weald.estimators.forests", "False"]
    assert "RandomForestClassifier: 1 fit by weald" in result.stderr
    assert "ExtraTreesRegressor: 1 fit by scikit-learn, because sample_weight has negative weights" in result.stderr
    as_module = run("-m", "script", "c", cwd=tmp_path / "scripts")
    assert as_module.stdout.splitlines()[0] == "['c'] __main__ found"
    assert as_module.stderr == ""


def test_the_status_of_a_script_is_that_of_the_command(tmp_path):
    (tmp_path / "fails.py").write_text("import sys; sys.exit(5)")
    assert run("fails.py", cwd=tmp_path).returncode == 5
    (tmp_path / "raises.py").write_text("1 / 0")
    result = run("--report", "raises.py", cwd=tmp_path)
    assert "ZeroDivisionError" in result.stderr
    assert "Nothing was fitted" in result.stderr


def test_what_is_no_script_is_refused(tmp_path):
    for arguments, words in {
        (): "no script was given",
        ("-m",): "no module was given",
        ("--fast",): "unknown option --fast",
        ("nothing.py",): "script 'nothing.py' does not exist",
    }.items():
        result = run(*arguments, cwd=tmp_path)
        assert result.returncode == 2
        assert words in result.stderr
    assert run("--help", cwd=tmp_path).stdout.startswith("usage")
