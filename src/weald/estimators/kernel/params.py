"""The parameters and attributes of kernel forests.

WORDS           which values each parameter may have
KernelParams    their types, defaults and documentation
"""

from typing import Annotated, TypedDict

from weald.data import arguments
from weald.estimators.kernel.kernels import DISTANCES, KERNELS
from weald.estimators.parameters import Attribute, BagClassifierParams, BagParams, Doc, GrowthParams

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
    """What kernels add."""

    kernel: Annotated[
        object,
        Doc(
            "str or function",
            "gaussian",
            '"gaussian" exp(-gamma·d²) of a distance d, "poly" (gamma·x·y)^degree, '
            '"poly_inhomogeneous" (gamma·x·y + 1)^degree, "tanh" tanh(gamma·x·y + coef0), '
            '"precomputed" (X is the kernel of all samples with the training samples), or a function '
            'of two samples that gives a number. "auto" chooses by out-of-bag error.',
        ),
    ]
    distance: Annotated[
        object,
        Doc(
            "str or function",
            "l2",
            'Of the Gaussian kernel. "l2" of vectors and curves, "derivative" of the differences of '
            'neighboring values, "dtw" dynamic time warping, "correlation" of shape alone: curves '
            "brought to mean 0 and length 1. Or a function of two samples that gives a number.",
        ),
    ]
    gamma: Annotated[
        float | str,
        Doc(
            'float, "median" or "scale"',
            "median",
            '"median": 1 over the median squared distance of pairs (or of x·x). "scale": 1 over the '
            "number of places times the variance of all values. It moves thresholds between two "
            "training samples, and chooses no cut.",
        ),
    ]
    degree: Annotated[
        int,
        Doc(
            "int",
            3,
            "Of the polynomial kernels.",
        ),
    ]
    coef0: Annotated[
        float,
        Doc(
            "float",
            0.0,
            "Of the tanh kernel.",
        ),
    ]
    band: Annotated[
        float | None,
        Doc(
            "float or None",
            0.1,
            "Of dynamic time warping: how far a path may stray from the diagonal, as a share of the "
            "longer curve. None: as far as it likes.",
        ),
    ]
    n_prototypes: Annotated[
        float | str,
        Doc(
            'int, float, "auto" or "all"',
            "auto",
            "How many of the distinct training samples others are compared with; a float is a share. "
            '"auto": all up to 500, else a sample of 500, drawn from the seed.',
        ),
    ]
    prototypes: Annotated[
        object,
        Doc(
            "samples or None",
            None,
            "Samples to compare with instead of training samples; of a precomputed kernel, numbers of columns.",
        ),
    ]
    contrast: Annotated[
        bool,
        Doc(
            "bool",
            True,
            "Whether three of four columns set their prototype a against another one b, the nearest "
            'one of another class or of another target: "is x rather like a than like b?" Such a '
            "column is K(a, x) - K(b, x), or of the Gaussian kernel the logarithm of K(a, x) / K(b, "
            "x). False: each column is the kernel with one prototype.",
        ),
    ]
    mix: Annotated[
        bool | str,
        Doc(
            'bool or "auto"',
            "auto",
            "Whether the columns of X, categories too, stand beside those of the kernel. Half of the "
            'draws of features are then columns of X. "auto": where samples are rows of a table and '
            "the kernel is one of weald's, the out-of-bag error of a few trees decides whether trees "
            "look at both, at columns alone, or some of them at both and some at columns alone; "
            "`mix_` says what it chose. Rows that stand there twice or weigh other than 1 cannot be "
            "judged so: then trees look at both and at columns alone in turn.",
        ),
    ]


class KernelParams(KernelOnlyParams, BagParams, GrowthParams, total=False):
    """A kernel forest. Parameters for single columns of X mean nothing where features are prototypes."""


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
        'With `kernel="auto"`: what was tried, what was chosen, and why.',
    ),
    Attribute(
        "mix_",
        "weald.estimators.kernel.tree_mix.MixChoice",
        'With `mix="auto"` and samples that are rows of a table: what trees look at, and why.',
    ),
    Attribute(
        "sample_kind_",
        "str",
        'What samples are: "vectors", "curves" or "things".',
    ),
    Attribute(
        "prototypes_",
        "samples",
        "The prototypes that the trees use.",
    ),
    Attribute(
        "prototype_rows_",
        "array of int",
        "Their rows in the training data; -1 where prototypes were given.",
    ),
    Attribute(
        "prototype_importances_",
        "array of float",
        "How much each of them matters.",
    ),
    Attribute(
        "column_names_",
        "list of str",
        "A name for each column that the trees use: the row of one prototype or two, or the name of a raw column.",
    ),
)
