"""The names in weald.plot, and its errors without matplotlib."""

import inspect
import subprocess
import sys

import pytest

from weald import plot

WITHOUT = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refuse())
import weald
weald.export_html(weald.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1]))
try:
    import weald.plot
except ModuleNotFoundError as error:
    print(error)
"""


def test_all_is_exact_and_sorted():
    displays = {name for name, value in vars(plot).items() if inspect.isclass(value)}
    assert set(plot.__all__) == displays
    assert plot.__all__ == sorted(plot.__all__)


@pytest.mark.parametrize("name", plot.__all__)
def test_displays_have_what_displays_have(name):
    display = getattr(plot, name)
    assert callable(display.plot)
    assert [method for method in vars(display) if method.startswith("from_")]
    assert "ax_ :" in inspect.getdoc(display)
    assert "figure_ :" in inspect.getdoc(display)
    assert name in plot.__doc__


def test_without_matplotlib_the_error_says_what_to_do_and_pages_can_still_be_written():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=240)
    assert "pip install matplotlib" in done.stdout
