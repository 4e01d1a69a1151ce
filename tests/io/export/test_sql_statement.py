"""Databases predict the same bits from a statement, and hostile names and labels stay names and labels."""

import re
import struct

import numpy as np
import pandas as pd
import pytest

import weald
from tests.io.export.databases import connect
from tests.io.export.models import MODELS, fitted, make_frame
from weald.io.export import sql_statement
from weald.io.export.parity import answer
from weald.io.export.sql_dialects import DIALECTS

EVERY = pytest.mark.parametrize("dialect", DIALECTS)
TYPES = {"duckdb": "DOUBLE", "sqlite": "REAL", "postgresql": "double precision"}
HOSTILE = [
    "it's",
    'say "hi"',
    "back\\slash",
    "\\'; DROP TABLE t; --",
    "'); --",
    "/* c",
    "%s ? $1 :x",
    "größe",
    "",
    "a\nb",
    "x'y\\",
]


def export_of(model, dialect, **options):
    connection = connect(dialect) if options.get("check", True) else None
    return model.to_sql(dialect, connection=connection, **{"table": "t", **options})


@EVERY
@pytest.mark.parametrize("name", MODELS)
def test_the_statement_predicts_the_same_bits_at_the_edges_of_leaves(name, dialect, tmp_path):
    export = export_of(fitted(name), dialect, path=tmp_path / "forest.sql", keep=["id"])
    assert export.parity.is_exact, str(export)
    assert export.parity.n_rows == 1000
    assert (tmp_path / "forest.sql").read_text(encoding="utf-8") == export.model


def tell(dialect, *columns):
    """Quote names for the tests' own statements."""
    return ", ".join('"' + c.replace('"', '""') + '"' for c in columns)


def fill(dialect, table, columns, rows):
    """Make a table: columns with their types, and rows."""
    cursor, name = connect(dialect).cursor(), tell(dialect, table)
    cursor.execute(f"DROP TABLE IF EXISTS {name}")
    cursor.execute(f"CREATE TABLE {name} ({', '.join(f'{tell(dialect, c)} {t}' for c, t in columns.items())})")
    mark = "%s" if dialect == "postgresql" else "?"
    cursor.executemany(f"INSERT INTO {name} VALUES ({', '.join([mark] * len(columns))})", rows)  # noqa: S608
    return cursor


def hostile_model():
    rng = np.random.default_rng(1)
    labels = HOSTILE
    columns = ['col"umn', "it's", "back\\slash", "; DROP TABLE t; --", "order", "q0"]
    frame = pd.DataFrame({c: rng.normal(size=300) for c in columns})
    frame["kind"] = pd.Categorical([labels[i] for i in rng.integers(0, len(labels), 300)])
    score = frame["kind"].cat.codes + (frame['col"umn'] > 0)
    y = np.array(labels, dtype=object)[(score % len(labels)).to_numpy()]
    return frame, weald.RandomForestClassifier(12, max_features=None, random_state=0).fit(frame, y)


@EVERY
@pytest.mark.parametrize("table", ["q0", 'ta"ble', "select", "it's; --"])
def test_hostile_names_and_labels_are_quoted(dialect, table):
    frame, model = hostile_model()
    types = dict.fromkeys(frame.columns[:-1], TYPES[dialect]) | {"kind": "TEXT", 'i"d': "INTEGER"}
    rows = [(*row, i) for i, row in enumerate(frame.itertuples(index=False, name=None))]
    cursor = fill(dialect, table, types, rows)
    export = export_of(model, dialect, table=table, keep='i"d', X=frame)
    assert export.parity.is_exact
    cursor.execute(export.model)
    found = sorted(cursor.fetchall())
    assert [row[1] for row in found] == model.predict(frame).tolist()
    assert np.array_equal([row[2:] for row in found], model.predict_proba(frame))


@EVERY
def test_missing_values_unknown_labels_and_views(dialect):
    frame, signal = make_frame()
    model = weald.RandomForestRegressor(5, min_samples_leaf=3, random_state=12).fit(frame, signal)
    texts = {"sqlite": "INTEGER"}
    types = {"number": TYPES[dialect], "few": "TEXT", "many": "TEXT", "grade": "TEXT"}
    types |= {"flag": texts.get(dialect, "BOOLEAN"), "id": "INTEGER"}
    rows = [
        (None, None, None, None, None, 0),
        (float("nan"), "unknown", "place 3", "high", True, 1),
        (float("inf"), "größe", "unknown", "low", False, 2),
        (-0.0, "", "place 149", "unknown", None, 3),
    ]
    cursor = fill(dialect, "rows", types, rows)
    text = export_of(model, dialect, table="rows", keep=["id"], check=False).model
    cursor.execute("DROP VIEW IF EXISTS predicted")
    cursor.execute(f"CREATE VIEW predicted AS {text}")
    cursor.execute("SELECT prediction FROM predicted ORDER BY id")
    table = pd.DataFrame([row[:-1] for row in rows], columns=frame.columns)
    with pytest.warns(UserWarning, match="category that does not occur"):
        expected = model.predict(table)
    assert [row[0] for row in cursor.fetchall()] == expected.tolist()


@EVERY
def test_columns_of_other_number_types_are_read_as_doubles(dialect):
    X = np.arange(40.0).reshape(-1, 2)
    model = weald.RandomForestRegressor(3, random_state=0).fit(X, X[:, 0])
    cursor = fill(dialect, "whole", {"a": "INTEGER", "b": "BIGINT"}, X.astype(int).tolist())
    cursor.execute(export_of(model, dialect, table="whole", columns=["a", "b"], keep=["a"]).model)
    assert [row[1] for row in sorted(cursor.fetchall())] == model.predict(X).tolist()


@EVERY
def test_a_table_of_a_schema_has_two_names(dialect):
    schema = {"sqlite": "main", "duckdb": "main", "postgresql": "public"}[dialect]
    model = fitted("one regression tree")
    cursor = fill(dialect, "of schema", {f"x{f}": TYPES[dialect] for f in range(6)}, [(0.0,) * 6])
    cursor.execute(export_of(model, dialect, table=(schema, "of schema")).model)
    assert cursor.fetchall() == [(model.predict(np.zeros((1, 6)))[0],)]


CLASSES = {
    "booleans": [False, True, True],
    "whole numbers": [-3, 7, 2**40],
    "numbers": [0.0, -3.0, 1e300],
    "text": ["é", "\U0001f333", "x"],
}


@EVERY
@pytest.mark.parametrize("kind", CLASSES)
def test_labels_keep_their_type(kind, dialect):
    y = np.array(CLASSES[kind], dtype=object if kind == "text" else None)
    model = weald.DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], y)
    cursor = fill(dialect, "typed", {"x0": TYPES[dialect]}, [(1.0,), (2.0,), (3.0,)])
    cursor.execute(export_of(model, dialect, table="typed", keep="x0").model)
    assert [row[1] for row in sorted(cursor.fetchall())] == CLASSES[kind]


@EVERY
def test_doubles_are_written_exactly(dialect):
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**64, 600, dtype=np.uint64).tolist()
    doubles = [struct.unpack("d", struct.pack("Q", b))[0] for b in bits]
    doubles += [
        *rng.normal(size=300),
        5e-324,
        -5e-324,
        2.0**-1022,
        2.0**53 - 1,
        2.0**63,
        1.7976931348623157e308,
        0.1,
        -0.5,
    ]
    doubles = [float(d) for d in doubles if d == d] + [float("inf"), -float("inf")]
    spoken, cursor = DIALECTS[dialect], connect(dialect).cursor()
    cursor.execute(f"SELECT {', '.join(map(spoken.double, doubles))}")
    assert list(cursor.fetchone()) == doubles
    null = "CAST(NULL AS REAL)" if spoken.null else "1"
    listed = " AND ".join(f"{spoken.double(d)} <= {spoken.threshold(d)}" for d in doubles[-20:])
    cursor.execute(f"SELECT {listed} FROM (SELECT {null} AS n) AS q")  # noqa: S608
    assert cursor.fetchone()[0]


@pytest.mark.slow
@EVERY
def test_many_trees_need_no_deep_expressions(dialect):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = weald.RandomForestClassifier(1100, max_depth=2, random_state=0).fit(X, np.arange(60) % 3)
    assert export_of(model, dialect).parity.is_exact


@EVERY
def test_a_tree_that_is_a_chain_is_not_nested(dialect):
    X = 2.0 ** np.arange(1000)
    model = weald.DecisionTreeRegressor().fit(X[:, np.newaxis], np.log2(X) ** 4)
    text = export_of(model, dialect).model
    assert text.count("CASE WHEN") < 600 < text.count("WHEN")


@EVERY
def test_large_statements_are_refused_with_the_reason(dialect, monkeypatch):
    small = dict.__getitem__(DIALECTS, dialect)
    monkeypatch.setitem(DIALECTS, dialect, type(small)(most_bytes=5000))
    with pytest.raises(weald.ExportError, match=r"larger than 5,000 bytes.*7 trees and [\d,]+ nodes.*max_leaf_nodes"):
        fitted("regression").to_sql(dialect, table="t", check=False)
    monkeypatch.setitem(DIALECTS, dialect, type(small)(most_columns=10))
    with pytest.raises(weald.ExportError, match=r"needs \d+ columns at once: 6 features"):
        fitted("regression").to_sql(dialect, table="t", check=False)


BAD = {
    "dialect": ({"dialect": "mysql"}, "dialect='mysql' is unknown. Give one of 'duckdb', 'sqlite', 'postgresql'"),
    "dialect, type": ({"dialect": ["sqlite"]}, "is unknown"),
    "table, type": ({"table": 3}, "table=3 is not a list of names"),
    "table, empty": ({"table": ""}, "table has '', which is not a name"),
    "table, parts": ({"table": ("a", "b", "c", "d")}, "is not the name of a table"),
    "columns, text": ({"columns": "x0"}, "columns='x0' is not a list of names"),
    "columns, number": ({"columns": ["a", "b", "c", "d", "e"]}, "columns has 5 names, but the model has 6 features"),
    "columns, type": ({"columns": [1, 2, 3, 4, 5, 6]}, "columns has 1, which is not a name"),
    "columns, twins": ({"columns": ["a", "b", "A", "d", "e", "f"]}, "'a' and 'A', which are one name in SQLite"),
    "keep, type": ({"keep": None}, "keep=None is not a list of names"),
    "keep, result": ({"keep": ["Prediction"]}, "that is the name of a result"),
    "keep, probability": ({"keep": ["probability_0"]}, "that is the name of a result"),
    "check": ({"check": 1}, "check="),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_refused_in_words(case):
    given, words = BAD[case]
    options = {"dialect": "sqlite", "table": "t", **given}
    with pytest.raises(weald.ParameterError, match=re.escape(words)):
        fitted("small regression").to_sql(options.pop("dialect"), **options)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a\0b", "c"], "contains NUL"),
        (["\ud800", "b"], "half a character"),
        ([2**60, 1], "which is not exact as a double"),
        ([(1, 2), (3, 4)], "of type tuple, which cannot be exported"),
    ],
)
def test_labels_that_no_database_holds_are_refused(labels, words):
    y = np.empty(20, dtype=object)
    y[:] = [labels[i % 2] for i in range(20)]
    y = y.astype(np.int64) if isinstance(labels[0], int) else y
    model = weald.DecisionTreeClassifier().fit(np.arange(20.0)[:, np.newaxis], y)
    with pytest.raises(weald.ExportError, match=words):
        model.to_sql("sqlite", table="t", check=False)


def test_names_with_nul_are_refused():
    with pytest.raises(weald.ExportError, match="NUL"):
        fitted("small regression").to_sql("sqlite", table="a\0b", check=False)


def test_names_that_differ_in_case_are_columns_of_postgresql():
    names = ["a", "A", "b", "B", "c", "C"]
    text = fitted("regression").to_sql("postgresql", table="t", columns=names, check=False).model
    assert 'd."a"' in text
    assert 'd."A"' in text


@EVERY
def test_text_and_missing_columns_are_errors_of_the_database_and_not_zeros(dialect):
    text = fitted("one regression tree").to_sql(dialect, table="wrong", check=False).model
    cursor = fill(dialect, "wrong", {f"x{f}": "TEXT" for f in range(6)}, [("abc",) * 6])
    with pytest.raises(Exception, match=r"(?i)abc|number"):
        cursor.execute(text).fetchall()
    cursor = fill(dialect, "wrong", {"y": TYPES[dialect]}, [(1.0,)])
    with pytest.raises(Exception, match=r"x[0-9]"):
        cursor.execute(text).fetchall()


def test_postgresql_needs_a_connection_for_the_check():
    with pytest.raises(weald.ExportError, match=r"connection=psycopg.connect.*check=False"):
        fitted("one leaf").to_sql("postgresql", table="t")


def test_a_wrong_answer_is_found(monkeypatch):
    model = fitted("two classes")
    monkeypatch.setattr(sql_statement, "answer", lambda model, rows: answer(model, rows) + np.eye(len(rows), 2))
    with pytest.raises(weald.ExportError, match="does not predict the same as weald: 2 of 2000 probabilities"):
        model.to_sql("sqlite", table="t")
    monkeypatch.setattr(sql_statement, "sum_votes", lambda *given: np.eye(len(given[2]), 2))
    with pytest.raises(weald.ExportError, match="does not predict the same labels"):
        model.to_sql("sqlite", table="t")


def test_what_databases_do_not_refuse_is_reported():
    frame, signal = make_frame()
    frame = frame.dropna()
    model = weald.RandomForestRegressor(2, max_depth=3, missing="error", unknown_category="error", random_state=0)
    lost = model.fit(frame, signal[frame.index]).to_sql("sqlite", table="t").parity.lost
    assert [word.partition("=")[0] for word in lost[2:]] == ["missing", "unknown_category"]


def test_only_columns_that_trees_use_are_read():
    X = np.zeros((20, 3))
    X[:, 1] = np.arange(20)
    text = weald.DecisionTreeRegressor().fit(X, X[:, 1]).to_sql("sqlite", table="t").model
    assert 'd."x1"' in text
    assert '"x0"' not in text
    assert '"x2"' not in text


def test_models_that_are_not_one_forest_of_columns_are_refused():
    X = np.arange(20.0).reshape(-1, 2)
    two = weald.RandomForestRegressor(2, random_state=0).fit(X, X)
    with pytest.raises(weald.ExportError, match=re.escape("model.of_target(0).to_sql(...)")):
        two.to_sql("sqlite", table="t")
    assert two.of_target(0).to_sql("sqlite", table="t").parity.is_exact
    huge = weald.RandomForestRegressor(5, random_state=0).fit([[1.0], [2.0]], [1.7e308, -1.7e308])
    with pytest.raises(weald.ExportError, match="range of doubles"):
        huge.to_sql("sqlite", table="t")


@pytest.mark.parametrize("criterion", ["absolute_error", "poisson"])
def test_medians_and_counts_are_exported(criterion):
    X = np.random.default_rng(0).normal(size=(80, 3))
    model = weald.RandomForestRegressor(3, criterion=criterion, random_state=0).fit(X, np.arange(80) % 7)
    assert model.to_sql("sqlite", table="t").parity.is_exact


def test_one_class_is_a_constant():
    model = weald.DecisionTreeClassifier().fit([[1.0], [2.0]], ["only", "only"])
    assert model.to_sql("sqlite", table="t").parity.is_exact
