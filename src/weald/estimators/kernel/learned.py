"""The attributes in which a kernel forest stores its table. Their names are defined only here.

Trees are grown from all columns; the forest keeps the columns that they use.
"""

from typing import TYPE_CHECKING, Generic, Self, TypeVar, cast, overload

from weald.data.types import IntArray
from weald.estimators.kernel.kernel_selection import Choice
from weald.estimators.kernel.kernels import Kernel
from weald.estimators.kernel.table import Prototypes
from weald.estimators.kernel.tree_mix import MixChoice

if TYPE_CHECKING:
    from weald.estimators.base import TreeModel

Value = TypeVar("Value")


class StoredAttribute(Generic[Value]):
    """A value stored as an attribute of the estimator, and in its file, under its own name."""

    def __init__(self, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, owner: None, kind: type) -> Self: ...

    @overload
    def __get__(self, owner: "LearnedColumns", kind: type) -> Value: ...

    def __get__(self, owner: "LearnedColumns | None", kind: type) -> Self | Value:
        if owner is None:
            return self
        return cast("Value", getattr(owner.model, self.name))

    def __set__(self, owner: "LearnedColumns", value: Value) -> None:
        setattr(owner.model, self.name, value)

    def __delete__(self, owner: "LearnedColumns") -> None:
        delattr(owner.model, self.name)


class LearnedColumns:
    """The columns of a kernel forest: all columns in the fit, and the columns that trees use."""

    kernel = StoredAttribute[Kernel]("kernel_")
    choice = StoredAttribute[Choice]("choice_")  # with `kernel="auto"`
    mix = StoredAttribute[MixChoice]("mix_")  # with `mix="auto"`
    sample_kind = StoredAttribute[str]("sample_kind_")
    prototype_rows = StoredAttribute[IntArray]("prototype_rows_")  # training rows of the prototypes that trees use
    seed = StoredAttribute[int]("_prototype_seed_")  # seed for drawing prototypes
    rows = StoredAttribute[IntArray]("_rows_")  # by prototype, during growth: the row of X
    n_columns = StoredAttribute[int]("_n_columns_")  # columns that the trees were grown from
    n_prototypes = StoredAttribute[int]("_n_prototypes_")  # kernel columns among them
    used = StoredAttribute[IntArray]("_columns_")  # columns that the trees use
    prototypes = StoredAttribute[Prototypes]("_kept_")  # prototypes that the trees use

    def __init__(self, model: "TreeModel") -> None:
        self.model = model
