"""How Sphinx builds these pages: `make docs`. Warnings are errors."""

import re
from importlib.metadata import version as installed

from docutils import nodes

project = "weald"
author = "the weald authors"
project_copyright = author
version = release = installed("weald")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "_templates", "figures"]
templates_path = ["_templates"]
root_doc = "index"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # types are in the docstrings
autodoc_member_order = "bysource"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True  # attributes as a list, beside the parameters
autosummary_generate = True  # a page per class and function, into docs/reference/api
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
toc_object_entries_show_parents = "hide"

# Docstrings use short type names; cluster forests (weald.dask) have the same class names as local ones.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = "weald"
html_static_path = ["_static"]
html_css_files = ["weald.css"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # they are fetched, which a page opened from a disk may not
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#3f7d4f", "color-brand-content": "#3f7d4f"},
    "dark_css_variables": {"color-brand-primary": "#8fc79d", "color-brand-content": "#8fc79d"},
}


def keep_trailing_underscores(app, what, name, obj, options, lines):
    """Escape the names of learned attributes, `classes_`: Sphinx would take the underscore for a link and drop it."""
    lines[:] = [re.sub(r"^(:(?:ivar|vartype) \w+)_:", r"\1\\_:", line) for line in lines]


# Methods that every scikit-learn estimator has.
SKLEARN_METHODS = {"get_metadata_routing", "get_params", "set_output", "set_params"}


def skip_members(app, what, name, obj, skip, options):
    """Skip members documented by scikit-learn or Python, and attributes listed in the docstring of a class."""
    if callable(obj):
        builtin = isinstance(obj, type(tuple.count))
        return True if builtin or name in SKLEARN_METHODS or name.endswith("_request") else None
    return None if isinstance(obj, property) and not name.endswith("_") else True


def strip_code(app, doctree):
    """Remove the empty last line of code blocks, which doctest needs and readers do not."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip()
        block[:] = [nodes.Text(text)]
        block.rawsource = text


def setup(app):
    app.connect("doctree-read", strip_code)
    app.connect("autodoc-skip-member", skip_members)
    # After napoleon, which writes these lines.
    app.connect("autodoc-process-docstring", keep_trailing_underscores, priority=900)
