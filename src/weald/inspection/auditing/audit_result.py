"""The result of an audit.

Finding    something that is not as the model states: the data, a parameter, a tree
Audit      what was checked and found, and how likely altered trees go unnoticed
"""

from dataclasses import dataclass
from typing import Literal

from weald.data.arguments import Satisfies, check_argument, is_real, is_whole
from weald.data.short_repr import short_repr

SHOWN = 8  # findings that are printed
FRACTIONS = (0.01, 0.1, 0.5)  # fractions of altered trees for which the probability is printed
FRACTION = Satisfies(lambda value: (is_real(value) or is_whole(value)) and 0 <= value <= 1, ("a fraction from 0 to 1",))


@dataclass(frozen=True)
class Finding:
    """Something that is not as the model states."""

    kind: Literal["data", "parameter", "tree"]
    name: str  # what of the data, the name of the parameter, the number of the tree
    text: str
    node: int | None = None  # the first node of the tree that differs

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class Audit:
    """What an audit checked and found. Print it.

    Attributes
    ----------
    passed : bool
        Whether nothing was found.
    findings : tuple of Finding
        Each has `kind` ("data", "parameter" or "tree"), `name`, `text` and, of a tree, `node`.
    trees : tuple of int
        The trees that were grown again.
    n_trees : int
        Trees of the model.
    data_hash : str or None
        The cryptographic hash of the data; None: the model keeps none, so the data was compared by fingerprints of 64
        bits, which find mistakes but not forgeries.
    """

    findings: tuple[Finding, ...]
    trees: tuple[int, ...]
    n_trees: int
    data_hash: str | None

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def chance_unnoticed(self, fraction: float) -> float:
        """Return the chance that this many random trees show nothing although a fraction of all trees was altered.

        Parameters
        ----------
        fraction : float
            The fraction f of altered trees.

        Returns
        -------
        float
            `(1 - f) ** k` for k trees; 0 if all trees were grown again.

        Examples
        --------
        >>> import weald
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["a", "a", "b", "b"]
        >>> model = weald.RandomForestClassifier(100, random_state=0).fit(X, y)
        >>> round(weald.audit(model, X, y, trees=10).chance_unnoticed(0.1), 3)
        0.349
        """
        check_argument("fraction", fraction, (FRACTION,))
        if self.is_complete:
            return float(fraction == 0)
        return float((1 - fraction) ** len(self.trees))

    @property
    def is_complete(self) -> bool:
        """Whether all trees were grown again."""
        return len(self.trees) == self.n_trees

    def __repr__(self) -> str:
        return short_repr(self)

    def __str__(self) -> str:
        return "\n".join([*self._describe_data(), *self._describe_trees(), *self._list_findings()])

    def _describe_data(self) -> list[str]:
        if any(finding.kind == "data" for finding in self.findings):
            return ["data: not that of the fit"]
        if self.data_hash is None:
            return ["data: the fingerprints of 64 bits agree; the model keeps no cryptographic hash"]
        return [f"data: the cryptographic hash agrees, {self.data_hash[:16]}…"]

    def _describe_trees(self) -> list[str]:
        if not self.trees:
            return ["trees: none was grown again"]
        wrong = sum(finding.kind == "tree" for finding in self.findings)
        which = (
            f"all {self.n_trees:,}" if self.is_complete else f"{len(self.trees):,} of {self.n_trees:,}, drawn at random"
        )
        lines = [f"trees: {which}: {f'{wrong:,} differ' if wrong else 'they grow again, bit for bit'}"]
        if self.is_complete or wrong:
            return lines
        first, *others = (f"{self.chance_unnoticed(f):.2g}" for f in FRACTIONS)
        more = "; ".join(f"if {100 * f:g} %, {chance}" for f, chance in zip(FRACTIONS[1:], others, strict=True))
        lines.append(
            f"       if {100 * FRACTIONS[0]:g} % of the trees were altered, the chance to miss them is {first}; {more}"
        )
        return lines

    def _list_findings(self) -> list[str]:
        if self.passed:
            return ["passed: the trees are those of this data, these parameters and this seed"]
        lines = ["FAILED:", *(f"  {finding.kind}: {finding.text}" for finding in self.findings[:SHOWN])]
        if len(self.findings) > SHOWN:
            lines.append(f"  … {len(self.findings) - SHOWN:,} more")
        return lines
