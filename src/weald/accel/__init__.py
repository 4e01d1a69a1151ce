"""scikit-learn's trees and forests, grown by weald: scripts stay as they are.

    install, uninstall    put weald's classes in the place of scikit-learn's, and take them back
    summary               what was replaced, which fits weald made, which it did not, and why

    python -m weald.accel [--report] script.py [arguments]

Install first: a name that was imported before stays what it was. The modules:

    estimators    the classes: scikit-learn's own, with another `fit`
    records       what was fitted in this process, and by whom
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
_before: dict[tuple[str, str], object] = {}  # what stood in their place


def install() -> None:
    """Put weald's classes in the place of scikit-learn's trees and forests, for all later imports of this process.

    They are subclasses of scikit-learn's, with its parameters and defaults: `max_features=1.0` in regression, one
    thread unless `n_jobs` says more. Parts of scikit-learn that are made of trees (AdaBoost, gradient boosting,
    isolation forests) keep its own. The summary counts the fits since then.

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
    """Put back what `install` replaced. Estimators that exist stay as they are."""
    while _before:
        (module, name), original = _before.popitem()
        setattr(import_module(module), name, original)


def is_installed() -> bool:
    """Return whether weald's classes stand in the place of scikit-learn's."""
    return bool(_before)


def summary() -> Summary:
    """Say which fits of this process weald made, and which it left to scikit-learn, and why.

    Returns
    -------
    Summary
        `replaced`: names of the classes; `fits`: how often which class was fitted, by whom, and the reason. Print it.

    Examples
    --------
    >>> import weald.accel
    >>> print(weald.accel.summary())  # doctest: +SKIP
    weald stands in the place of 8 classes of sklearn.ensemble and sklearn.tree.
    RandomForestRegressor: 3 fits by weald
    RandomForestRegressor: 1 fit by scikit-learn, since weald has no criterion 'absolute_error'
    """
    return summarize(tuple(sorted(f"{module}.{name}" for module, name in _before)))
