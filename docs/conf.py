"""How Sphinx builds these pages: `make docs`. Warnings are errors."""

import re
from importlib.metadata import version as installed

project = "weald"
author = "the weald authors"
project_copyright = author
version = release = installed("weald")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "figures"]
root_doc = "index"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings say what a parameter may be
autodoc_member_order = "bysource"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True  # attributes as a list, beside the parameters
toc_object_entries_show_parents = "hide"

# Docstrings name types shortly; forests of a cluster (weald.dask) have the names of those of one machine.
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


def setup(app):
    # After napoleon, which writes these lines.
    app.connect("autodoc-process-docstring", keep_trailing_underscores, priority=900)
