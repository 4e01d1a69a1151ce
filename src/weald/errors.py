"""What weald raises.

    WealdError
    ├── ParameterError (ValueError)    a parameter of an estimator is out of its range, or does not suit the table
    ├── DataError (ValueError)         X, y or sample_weight cannot be used: shapes, values, names
    └── DataTypeError (TypeError)      X, y or sample_weight hold something that is no number or label

A message says what is wrong, what was found, and what to do; it names the parameter, the argument or the column. An
estimator that was not fitted raises scikit-learn's `NotFittedError`, since code that looks for it knows that name.
"""


class WealdError(Exception):
    """The root of all errors that weald raises on purpose.

    Examples
    --------
    >>> import weald
    >>> try:
    ...     weald.DecisionTreeClassifier(max_depth=0).fit([[1.0], [2.0]], [0, 1])
    ... except weald.WealdError as error:
    ...     print(error)
    max_depth=0 is not allowed. Give a whole number from 1, "sqrt" or None.
    """


class ParameterError(WealdError, ValueError):
    """A parameter is out of its range, or does not suit the table."""


class DataError(WealdError, ValueError):
    """X, y or sample_weight cannot be used as they are."""


class DataTypeError(WealdError, TypeError):
    """X, y or sample_weight hold something that is no number or label."""
