"""Databases for tests: DuckDB and SQLite in memory, and PostgreSQL as a temporary cluster on a Unix socket.

connect       dialect -> an open connection, one per process; skips where the database is not installed
"""

import atexit
import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

USER = "postgres"


def _programs():
    """Return the folder of PostgreSQL's programs; Debian keeps them out of PATH."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return folders[-1] if folders and (folders[-1] / "initdb").exists() else None


def _may_run():
    """Return whether a server can be started: it refuses to run as root, so root needs another user."""
    if os.getuid():
        return True
    return USER in {entry.pw_name for entry in pwd.getpwall()}


@cache
def connect(dialect):
    """Return a connection to an empty database."""
    if dialect == "sqlite":
        return sqlite3.connect(":memory:")
    if dialect == "duckdb":
        return pytest.importorskip("duckdb", reason="duckdb is not installed").connect()
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    programs = _programs()
    if programs is None or not _may_run():
        pytest.skip("PostgreSQL is not installed")
    folder = tempfile.mkdtemp(prefix="weald-pg-")
    user = USER if os.getuid() == 0 else None
    if user:
        shutil.chown(folder, user)
    data, options = f"{folder}/data", f"-k {folder} -c listen_addresses= -c fsync=off"

    def call(program, *arguments):
        command = [str(programs / program), "-D", data, *arguments]
        subprocess.run(command, check=True, user=user, cwd="/", capture_output=True, timeout=120)

    call("initdb", "-A", "trust", "-N", "-U", USER, "-E", "UTF8", "--locale=C")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    call("pg_ctl", "-o", options, "-l", f"{folder}/log", "-w", "start")
    atexit.register(call, "pg_ctl", "-m", "immediate", "stop")
    return psycopg.connect(host=folder, user=USER, dbname="postgres", autocommit=True)
