"""A forest on one page that opens in any browser: what it learned from, how good it is, and why it says what it says.

    report       the function that users call              writing.py
    answers      what the forest says of rows, and what is true
    metrics      how good that is, with intervals
    sections     columns, quality (classes, numbers), growth, reasons, dependence, mistakes, browser, making
    svg, charts  pictures
    page         all of it as one file, with its style and script

Each section is a file: it takes what it needs and returns a `Section`. Text goes through
`weald.forest.describe.markup`, which escapes.
"""

from weald.reports.writing import Report, report

__all__ = ["Report", "report"]
