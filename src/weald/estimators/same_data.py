"""Check that data is that of the fit, by the fingerprint stored with each tree.

require_same_data        refuse data that a tree was not grown from
find_other_data          count the trees that were grown from other data
refuse_other_values      refuse to add trees from data of the same ranks but other values
refuse_other_contract    refuse to add trees to trees of another contract version
"""

from weald.data.table import Reading
from weald.engines.interface import Codes
from weald.errors import DataError
from weald.forest.forest import CONTRACT_VERSION, Forest, Origin

OTHER_DATA = "X, y, sample_weight or max_bins differ from those of the fit"
OTHER_DESIGN = "groups or stratify differ from those of the fit"
OTHER_VALUES = "X has the same ranks, but other values; columns may be in other units"


def require_same_data(forest: Forest, codes: Codes, reading: Reading) -> None:
    """Refuse data that a tree was not grown from, as far as fingerprints can tell."""
    if not forest.origins:
        raise DataError(
            "These trees were not grown by weald, so their training data is unknown. Use the library that grew them, "
            "evaluate them on other rows, or fit a forest with weald."
        )
    if forest.contract != CONTRACT_VERSION:
        raise DataError(
            f"These trees were grown under version {forest.contract} of the contract, but this version of weald draws "
            f"bags by version {CONTRACT_VERSION}. Use the weald that grew them, evaluate them on other rows, or fit "
            "again."
        )
    found = find_other_data(forest, codes, reading)
    if found:
        raise other_data(sum(found.values()), forest.n_trees, next(iter(found)))


def find_other_data(forest: Forest, codes: Codes, reading: Reading) -> dict[str, int]:
    """Count the trees that were not grown from this data, by what differs."""
    found: dict[str, int] = {}
    for origin in forest.origins:
        words = _difference(origin, codes, reading)
        if words:
            found[words] = found.get(words, 0) + origin.n_trees
    return found


def refuse_other_values(forest: Forest, data: int, values: int | None) -> None:
    """Refuse to add trees from data of the same ranks but other values, which can only be a mistake."""
    same_ranks = [origin for origin in forest.origins if origin.data == data]
    if any(_differ(origin.values, values) for origin in same_ranks):
        raise DataError(
            f"{OTHER_VALUES}. The thresholds of the trees that warm_start=True keeps are in the old values. Give the "
            "X of the first fit, or set warm_start=False to start over."
        )


def refuse_other_contract(forest: Forest) -> None:
    """Refuse to add trees to trees of another contract version: no single fit gives such a forest."""
    if forest.contract != CONTRACT_VERSION:
        raise DataError(
            f"The trees that warm_start=True keeps were grown under version {forest.contract} of the contract, and "
            f"this one uses version {CONTRACT_VERSION}. Set warm_start=False to start over."
        )


def values_of(codes: Codes, reading: Reading) -> int | None:
    """Return the fingerprint of the values of a table and of all its targets; None: unknown."""
    targets = reading.table.targets
    values: int | None = codes.values if targets is None else targets.add_to(codes.values)
    return values


def _difference(origin: Origin, codes: Codes, reading: Reading) -> str | None:
    """Name the first difference between data and that of an origin."""
    if origin.data != codes.fingerprint:
        return OTHER_DATA
    if origin.bags.design != codes.design:
        return OTHER_DESIGN
    return OTHER_VALUES if _differ(origin.values, values_of(codes, reading)) else None


def _differ(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one != other


def other_data(n_strange: int, n_trees: int, words: str) -> DataError:
    """Make the error for data that trees were not grown from."""
    these = "This tree was" if n_trees == 1 else f"{n_strange} of the {n_trees} trees were"
    some = " Or select the trees that were grown from this data, for example forest[:10]." * (n_strange < n_trees)
    return DataError(
        f"{these} grown from other data: {words}. Give the X, y, sample_weight, groups and stratify of the fit, rows "
        f"in any order.{some}"
    )
