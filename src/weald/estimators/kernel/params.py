"""The parameters of kernel forests: what may be said, and what it means.

WORDS           which values each may have
with_kernels    gives an estimator the parameters and the documentation of the forest below it, and those of kernels
"""

import inspect
import re
from typing import Any, TypeVar

from weald.data import arguments
from weald.estimators.docstrings import take_over
from weald.estimators.kernel.kernels import DISTANCES, KERNELS

Kind = TypeVar("Kind", bound=type)

OWN = arguments.Such(callable, ("a function of two samples",))
WORDS: dict[str, tuple[arguments.Kind, ...]] = {
    "kernel": (arguments.Name(KERNELS), OWN),
    "distance": (arguments.Name(DISTANCES), OWN),
    "gamma": (arguments.Name(("median", "scale")), arguments.Number(5e-324)),
    "degree": (arguments.Whole(1, 64),),
    "coef0": (arguments.Number(-1e300),),
    "band": (arguments.Number(0, 1), arguments.NOTHING),
    "n_prototypes": (arguments.Whole(1), arguments.Share(), arguments.Name(("auto", "all"))),
    "contrast": (arguments.FLAG,),
    "mix": (arguments.FLAG, arguments.Name(("auto",))),
}

# What a forest's parameters say of single features means nothing where features are prototypes.
DROPPED = ("monotonic_cst", "interaction_cst", "feature_weights", "category_penalty", "missing")
ADDED: dict[str, tuple[Any, str]] = {
    "kernel": (
        "gaussian",
        """kernel : str or function, default="gaussian"
        "gaussian" exp(-gamma·d²) of a distance d, "poly" (gamma·x·y)^degree, "poly_inhomogeneous" (gamma·x·y +
        1)^degree, "tanh" tanh(gamma·x·y + coef0), "precomputed" (X is the kernel of all samples with the training
        samples), or a function of two samples that gives a number. "auto" chooses by out-of-bag error.""",
    ),
    "distance": (
        "l2",
        """distance : str or function, default="l2"
        Of the Gaussian kernel. "l2" of vectors and curves, "derivative" of the differences of neighboring values,
        "dtw" dynamic time warping, "correlation" of shape alone: curves brought to mean 0 and length 1. Or a function
        of two samples that gives a number.""",
    ),
    "gamma": (
        "median",
        """gamma : float, "median" or "scale", default="median"
        "median": 1 over the median squared distance of pairs (or of x·x). "scale": 1 over the number of places times
        the variance of all values. It moves thresholds between two training samples, and chooses no cut.""",
    ),
    "degree": (
        3,
        """degree : int, default=3
        Of the polynomial kernels.""",
    ),
    "coef0": (
        0.0,
        """coef0 : float, default=0.0
        Of the tanh kernel.""",
    ),
    "band": (
        0.1,
        """band : float or None, default=0.1
        Of dynamic time warping: how far a path may stray from the diagonal, as a share of the longer curve. None: as
        far as it likes.""",
    ),
    "n_prototypes": (
        "auto",
        """n_prototypes : int, float, "auto" or "all", default="auto"
        How many of the distinct training samples others are compared with; a float is a share. "auto": all up to 500,
        else a sample of 500, drawn from the seed.""",
    ),
    "prototypes": (
        None,
        """prototypes : samples or None, default=None
        Samples to compare with instead of training samples; of a precomputed kernel, numbers of columns.""",
    ),
    "contrast": (
        True,
        """contrast : bool, default=True
        Whether three of four columns set their prototype a against another one b, the nearest one of another class or
        of another target: "is x rather like a than like b?" Such a column is K(a, x) - K(b, x), or of the Gaussian
        kernel the logarithm of K(a, x) / K(b, x). False: each column is the kernel with one prototype.""",
    ),
    "mix": (
        "auto",
        """mix : bool or "auto", default="auto"
        Whether the columns of X, categories too, stand beside those of the kernel. Half of the draws of features are
        then columns of X. "auto": where samples are rows of a table and the kernel is one of weald's, the out-of-bag
        error of a few trees decides whether trees look at both, at columns alone, or some of them at both and some at
        columns alone; `mix_` says what it chose. Rows that stand there twice or weigh other than 1 cannot be judged so:
        then trees look at both and at columns alone in turn.""",
    ),
}


def with_kernels(kind: Kind) -> Kind:
    """Give a kernel forest the parameters and the documentation of the forest below it, and those of kernels."""
    above: Any = kind.__bases__[1]
    own = list(inspect.signature(above.__init__).parameters.values())
    own = [parameter for parameter in own if parameter.name not in DROPPED]
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [inspect.Parameter(name, keyword, default=default) for name, (default, _) in ADDED.items()]
    signature = inspect.Signature([*own[:2], *added, *own[2:]])

    def init(self: Any, *args: Any, **given: Any) -> None:
        bound = signature.bind(self, *args, **given)
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    vars(init)["__signature__"] = signature  # where scikit-learn looks for the names of parameters
    setattr(kind, "__init__", init)  # noqa: B010  (mypy allows no other way)
    take_over(kind, above, _with_kernels)
    return kind


def _with_kernels(shared: str) -> str:
    """Tell of the parameters and attributes of a forest, and of those of kernels."""
    for name in DROPPED:
        shared = re.sub(rf"\n    {name} : .*(?:\n        .*)*", "", shared)
    first = re.search(r"\n    n_estimators : .*(?:\n        .*)*", shared)
    assert first  # noqa: S101  (for the type checker: forests have trees)
    texts = "".join(f"\n    {text}" for _, text in ADDED.values())
    shared = shared[: first.end()] + texts + shared[first.end() :]
    return shared.rstrip() + ATTRIBUTES + "\n"


ATTRIBUTES = """
    kernel_ : weald.estimators.kernel.kernels.Kernel
        The kernel that was used, with gamma as a number.
    choice_ : weald.estimators.kernel.kernel_selection.Choice
        With `kernel="auto"`: what was tried, what was chosen, and why.
    mix_ : weald.estimators.kernel.tree_mix.MixChoice
        With `mix="auto"` and samples that are rows of a table: what trees look at, and why.
    sample_kind_ : str
        What samples are: "vectors", "curves" or "things".
    prototypes_ : samples
        The prototypes that the trees use.
    prototype_rows_ : array of int
        Their rows in the training data; -1 where prototypes were given.
    prototype_importances_ : array of float
        How much each of them matters.
    column_names_ : list of str
        A name for each column that the trees use: the row of one prototype or two, or the name of a raw column.
"""
