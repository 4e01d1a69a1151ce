"""Use weald in scripts for scikit-learn without changes: trees and forests are replaced.

    install, uninstall    replace scikit-learn's classes by weald's, and restore them
    summary               the replaced classes, and the fits by weald and by scikit-learn, with the reasons

    python -m weald.accel [--report] script.py [arguments]

Call `install` before importing from scikit-learn: names imported earlier do not change. The modules:

    estimators    the classes: scikit-learn's own, with another `fit`
    records       fits in this process, by library
    __main__      the command line
"""

from importlib import import_module

from weald.accel.records import Summary, forget, summarize

__all__ = ["install", "is_installed", "summary", "uninstall"]

REPLACED = {
    "sklearn.ensemble": (
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
    ),
    "sklearn.tree": ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"),
}
_before: dict[tuple[str, str], object] = {}  # the replaced classes


def install() -> None:
    """Replace scikit-learn's trees and forests by weald's classes, for all later imports in this process.

    They are subclasses of scikit-learn's, with its parameters and defaults: `max_features=1.0` in regression, one
    thread unless `n_jobs` is set. Other parts of scikit-learn that contain trees (AdaBoost, gradient boosting,
    isolation forests) are not changed. The summary counts the fits since then.

    Examples
    --------
    >>> import weald.accel
    >>> weald.accel.install()
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> model = RandomForestClassifier(20, random_state=0).fit([[1.0], [2.0], [3.0]], ["a", "b", "b"])
    >>> model.weald_
    RandomForestClassifier(n_estimators=20, n_jobs=1, random_state=0)
    >>> weald.accel.uninstall()
    """
    ours = import_module("weald.accel.estimators")
    if not _before:
        forget()
    for module, names in REPLACED.items():
        theirs = import_module(module)
        for name in names:
            if getattr(theirs, name) is not getattr(ours, name):
                _before[module, name] = getattr(theirs, name)
                setattr(theirs, name, getattr(ours, name))


def uninstall() -> None:
    """Restore the classes that `install` replaced. Existing estimators do not change."""
    while _before:
        (module, name), original = _before.popitem()
        setattr(import_module(module), name, original)


def is_installed() -> bool:
    """Return whether scikit-learn's classes are replaced by weald's."""
    return bool(_before)


def summary() -> Summary:
    """Return the fits of this process by weald and by scikit-learn, with the reasons for the latter.

    Returns
    -------
    Summary
        `replaced`: names of the classes; `fits`: number of fits by class, library and reason. Print it.

    Examples
    --------
    >>> import weald.accel
    >>> print(weald.accel.summary())  # doctest: +SKIP
    weald replaces 8 classes of sklearn.ensemble and sklearn.tree.
    RandomForestRegressor: 3 fits by weald
    ExtraTreesRegressor: 1 fit by scikit-learn, because sample_weight has negative weights
    """
    return summarize(tuple(sorted(f"{module}.{name}" for module, name in _before)))
