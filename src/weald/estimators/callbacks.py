"""scikit-learn's callbacks: functions that a fit calls for each tree (scikit-learn 1.9 and later).

CallbackSupportMixin    `set_callbacks`; empty where scikit-learn has no callbacks
CALLBACKS               attributes of an estimator that has callbacks
fit_with_callbacks      a fit that calls their hooks
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from weald.data.table import TrainingArguments
from weald.engines import progress
from weald.engines.progress import Growing
from weald.estimators.checkpoints import Checkpoint
from weald.estimators.fit import LEARNED, fit

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """An empty mixin: this version of scikit-learn has no callbacks."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method unchanged."""
        return method


__all__ = ["CALLBACKS", "CallbackSupportMixin", "fit_with_callbacks"]

if TYPE_CHECKING:
    from weald.estimators.forest_base import RandomForest

# Attributes of an estimator that has callbacks itself or through a pipeline or search.
CALLBACKS = frozenset({"_skl_callbacks", "_parent_callback_ctx"})


@with_callbacks  # type: ignore[untyped-decorator]
def fit_with_callbacks(model: "RandomForest", data: TrainingArguments, checkpoint: Checkpoint | None) -> None:
    """Fit a forest. The hooks of a tree are called once it has been grown: trees are grown in up to 20 steps.

    Hooks of a tree get the number of trees so far and their out-of-bag error as metadata. If one returns True, no more
    trees are grown.
    """
    n_trees = model.max_estimators if model.n_estimators == "auto" else model.n_estimators
    weight = {} if data.sample_weight is None else {"sample_weight": data.sample_weight}
    about = {"estimator": model, "X": data.X, "y": data.y}
    root = model._init_callback_context(max_subtasks=n_trees)  # noqa: SLF001  (how scikit-learn's own fits begin)
    root.call_on_fit_task_begin(**about, metadata=weight)
    outer, n_known = progress.listener(), 0

    def tell(growing: Growing) -> bool:
        nonlocal n_known
        wants_stop = outer is not None and bool(outer(growing))
        state = {"n_trees": growing.n_done, "oob_error": growing.error}
        for _ in range(n_known, growing.n_done):
            tree = root.subcontext(task_name="tree")
            tree.call_on_fit_task_begin(**about, metadata=state)
            wants_stop |= tree.call_on_fit_task_end(**about, metadata=state)
        n_known = growing.n_done
        return wants_stop

    with progress.listening(tell):
        fit(model, data, checkpoint)
    root.call_on_fit_task_end(
        **about,
        metadata=weight,
        reconstruction_attributes=lambda: {name: value for name, value in vars(model).items() if name in LEARNED},
    )
