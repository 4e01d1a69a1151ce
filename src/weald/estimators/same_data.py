"""Whether data is that which trees were grown from, by the fingerprints that every tree remembers.

require_same_data        refuse codes of data that a tree was not grown from
refuse_other_values      refuse to add trees from data of the same ranks but other values
refuse_other_contract    refuse to add trees to those of another version of the contract
"""

from weald.data.table import Reading
from weald.engines.interface import Codes
from weald.errors import DataError
from weald.forest.forest import CONTRACT_VERSION, Forest, Origin

OTHER_DATA = "the fingerprint of X, y, sample_weight and max_bins is another"
OTHER_DESIGN = "groups or stratify are others"
OTHER_VALUES = "X has the same ranks, but other values; columns may be in other units"


def require_same_data(forest: Forest, codes: Codes, reading: Reading) -> None:
    """Refuse data that a tree was not grown from, as far as fingerprints tell."""
    if not forest.origins:
        raise DataError(
            "These trees were not grown by weald, so it is not known which data they were grown from. Ask the library "
            "that grew them, evaluate them on other rows, or fit a forest of weald."
        )
    if forest.contract != CONTRACT_VERSION:
        raise DataError(
            f"These trees were grown under version {forest.contract} of the contract, and this weald draws bags by "
            f"version {CONTRACT_VERSION}. Use the weald that grew them, evaluate them on other rows, or fit anew."
        )
    differences = [(origin.n_trees, _difference(origin, codes, reading)) for origin in forest.origins]
    found = [words for _, words in differences if words]
    if found:
        raise other_data(sum(n for n, words in differences if words), forest.n_trees, found[0])


def refuse_other_values(forest: Forest, data: int, values: int | None) -> None:
    """Refuse to add trees from data of the same ranks but other values: it can only be a mistake."""
    same_ranks = [origin for origin in forest.origins if origin.data == data]
    if any(_differ(origin.values, values) for origin in same_ranks):
        raise DataError(
            f"{OTHER_VALUES}. The trees that warm_start=True keeps have thresholds in the old ones. Give X as in the "
            "first fit, or set warm_start=False to start anew."
        )


def refuse_other_contract(forest: Forest) -> None:
    """Refuse to add trees to those of another version of the contract: no single fit gives such a forest."""
    if forest.contract != CONTRACT_VERSION:
        raise DataError(
            f"The trees that warm_start=True keeps were grown under version {forest.contract} of the contract, and "
            f"this weald grows trees by version {CONTRACT_VERSION}. Set warm_start=False to start anew."
        )


def values_of(codes: Codes, reading: Reading) -> int | None:
    """Give the fingerprint of the values of a table, with those of all its targets; None: unknown."""
    targets = reading.table.targets
    values: int | None = codes.values if targets is None else targets.add_to(codes.values)
    return values


def _difference(origin: Origin, codes: Codes, reading: Reading) -> str | None:
    """Name the first thing in which data differs from that of an origin."""
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
    some = " Or take the trees that were grown from this data, for example forest[:10]." * (n_strange < n_trees)
    return DataError(
        f"{these} grown from other data: {words}. Give X, y, sample_weight, groups and stratify as to fit, rows in any "
        f"order.{some}"
    )
