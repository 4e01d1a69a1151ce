"""The parameters and attributes of kernel forests.

WORDS           allowed values of each parameter
KernelParams    their types, defaults and documentation
"""

from typing import Annotated, TypedDict

from weald.data import arguments
from weald.estimators.kernel.kernels import DISTANCES, KERNELS
from weald.estimators.parameters import Attribute, BagClassifierParams, BagParams, Doc, GrowthParams, PruningParams

OWN = arguments.Satisfies(callable, ("a function of two samples",))
WORDS: dict[str, tuple[arguments.ArgumentConstraint, ...]] = {
    "kernel": (arguments.OneOf(KERNELS), OWN),
    "distance": (arguments.OneOf(DISTANCES), OWN),
    "gamma": (arguments.OneOf(("median", "scale")), arguments.RealNumber(5e-324)),
    "degree": (arguments.WholeNumber(1, 64),),
    "coef0": (arguments.RealNumber(-1e300),),
    "band": (arguments.RealNumber(0, 1), arguments.NOTHING),
    "n_prototypes": (arguments.WholeNumber(1), arguments.Fraction(), arguments.OneOf(("auto", "all"))),
    "contrast": (arguments.FLAG,),
    "mix": (arguments.FLAG, arguments.OneOf(("auto",))),
}


class KernelOnlyParams(TypedDict, total=False):
    """Parameters of the kernel."""

    kernel: Annotated[
        object,
        Doc(
            "str or function",
            "gaussian",
            '"gaussian" exp(-gamma·d²) of a distance d, "poly" (gamma·x·y)^degree, '
            '"poly_inhomogeneous" (gamma·x·y + 1)^degree, "tanh" tanh(gamma·x·y + coef0), '
            '"precomputed" (X is the kernel of all samples with the training samples), or a function '
            'of two samples that returns a number. "auto" chooses by out-of-bag error.',
        ),
    ]
    distance: Annotated[
        object,
        Doc(
            "str or function",
            "l2",
            'For the Gaussian kernel. "l2" of vectors and curves, "derivative" of the differences of '
            'neighboring values, "dtw" dynamic time warping, "correlation" of shape only: curves '
            "scaled to mean 0 and length 1. Or a function of two samples that returns a number.",
        ),
    ]
    gamma: Annotated[
        float | str,
        Doc(
            'float, "median" or "scale"',
            "median",
            '"median": 1 over the median squared distance of pairs (or of x·x). "scale": 1 over the '
            "number of columns times the variance of all values. It moves thresholds between two "
            "training samples, but does not change which splits there are.",
        ),
    ]
    degree: Annotated[
        int,
        Doc(
            "int",
            3,
            "For the polynomial kernels.",
        ),
    ]
    coef0: Annotated[
        float,
        Doc(
            "float",
            0.0,
            "For the tanh kernel.",
        ),
    ]
    band: Annotated[
        float | None,
        Doc(
            "float or None",
            0.1,
            "For dynamic time warping: the maximum distance of a path from the diagonal, as a fraction of the "
            "longer curve. None: no limit.",
        ),
    ]
    n_prototypes: Annotated[
        float | str,
        Doc(
            'int, float, "auto" or "all"',
            "auto",
            "Number of prototypes: distinct training samples to compare with. A float is a fraction. "
            '"auto": all up to 500, else a sample of 500, drawn from the seed.',
        ),
    ]
    prototypes: Annotated[
        object,
        Doc(
            "samples or None",
            None,
            "Samples to compare with instead of training samples; for a precomputed kernel, column numbers.",
        ),
    ]
    contrast: Annotated[
        bool,
        Doc(
            "bool",
            True,
            "Whether three of four columns compare two prototypes a and b, where b is the nearest one "
            'of another class or of another target: "is x more similar to a than to b?" Such a '
            "column is K(a, x) - K(b, x), or for the Gaussian kernel the logarithm of K(a, x) / K(b, "
            "x). False: each column is the kernel with one prototype.",
        ),
    ]
    mix: Annotated[
        bool | str,
        Doc(
            'bool or "auto"',
            "auto",
            "Whether the columns of X, also categorical ones, are used in addition to the kernel. Half of the "
            'draws of features are then columns of X. "auto": if samples are rows of a table and '
            "the kernel is one of weald's, the out-of-bag error of a few trees decides whether trees "
            "use both, columns only, or alternate between the two; `mix_` has the "
            "choice. With repeated rows or weights, the out-of-bag error is biased: then trees that use "
            "both alternate with trees that use columns only.",
        ),
    ]


class KernelParams(KernelOnlyParams, BagParams, GrowthParams, PruningParams, total=False):
    """A kernel forest. There are no parameters for single columns of X, because features are prototypes."""


class KernelClassifierParams(KernelParams, BagClassifierParams, total=False):
    """A kernel forest that predicts classes."""


ATTRIBUTES = (
    Attribute(
        "kernel_",
        "weald.estimators.kernel.kernels.Kernel",
        "The kernel that was used, with gamma as a number.",
    ),
    Attribute(
        "choice_",
        "weald.estimators.kernel.kernel_selection.Choice",
        'With `kernel="auto"`: the kernels that were tried, the choice, and its reason.',
    ),
    Attribute(
        "mix_",
        "weald.estimators.kernel.tree_mix.MixChoice",
        'With `mix="auto"` and samples that are rows of a table: the choice of columns, and its reason.',
    ),
    Attribute(
        "sample_kind_",
        "str",
        'Kind of the samples: "vectors", "curves" or "things".',
    ),
    Attribute(
        "prototypes_",
        "weald.estimators.kernel.prototypes.UsedPrototypes",
        "The prototypes that the trees use: `samples`, `importances`, `column_names`, `kernel_matrix(X)`, `prune`, and "
        "`plain_forest()` for export to other programs.",
    ),
    Attribute(
        "prototype_rows_",
        "array of int",
        "Rows of the prototypes in the training data; -1 if they were given.",
    ),
)
