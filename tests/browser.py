"""A headless browser for tests of pages; without one, those tests are skipped."""

import os
import shutil
import subprocess

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def needs_browser(test):
    """Skip a test if there is no browser, or if it cannot run."""
    test = pytest.mark.skipif(BROWSER is None, reason="there is no chromium to open the page with")(test)
    no_sanitizer = "libasan" in os.environ.get("LD_PRELOAD", "")
    return pytest.mark.skipif(no_sanitizer, reason="a browser cannot run under the sanitizers")(test)


def open_page(file, profile, *options, query=""):
    """Open a page; return its DOM after its scripts have run, and the console output."""
    usual = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", f"--user-data-dir={profile}"]
    command = [BROWSER, *usual, *options, "--dump-dom", file.as_uri() + query]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]
