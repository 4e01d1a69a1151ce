"""The style sheet and script of the page: page.css, narrow.css and page.js, with colors and tree lines.

Colors of text have a contrast of at least 4.5 in light and dark mode. Print is always light.
"""

from importlib.resources import files

from weald.reports.tree_page import LINES

LIGHT = """--ink: #1f2933; --soft: #5b6672; --line: #d9dfe5; --paper: #fff; --card: #f6f8f9; --hover: #eef2f5;
  --note: #fdf6e3; --note-line: #b58219; --link: #2d6140; --c0: #33649a; --c1: #d08a12; --c2: #2f8a72; --c3: #842b48;
  --c4: #9d62a0; --c5: #5ea3cf; --c6: #7d6b35; --c7: #2a2a2a"""
DARK = """--ink: #e4e8ec; --soft: #a3aeb9; --line: #36404a; --paper: #14191e; --card: #1b2127; --hover: #232b33;
  --note: #2a2415; --note-line: #d7a63a; --link: #8fc79d; --c0: #6d9fd6; --c1: #f0b54d; --c2: #55b89d; --c3: #d4708f;
  --c4: #d3a9d6; --c5: #b4dcf2; --c6: #b09c5c; --c7: #c9ced3"""

SERIES = "\n".join(f".s{k} {{ --series: var(--c{k}) }} .b{k} {{ background: var(--c{k}) }}" for k in range(8))

HERE = files("weald.reports")
COLORS = f"""
:root {{ color-scheme: light; {LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {{ color-scheme: dark; {DARK} }} }}
:root[data-theme=dark] {{ color-scheme: dark; {DARK} }}
@media print {{ :root, :root:not([data-theme=light]), :root[data-theme=dark] {{ color-scheme: light; {LIGHT} }} }}
""".strip()


def style() -> str:
    """Assemble the style sheet."""
    page, narrow = ((HERE / name).read_text(encoding="utf-8") for name in ("page.css", "narrow.css"))
    return f"{COLORS}\n{SERIES}\n{page}\n{LINES}\n{narrow}"


def script() -> str:
    """Read the script."""
    return (HERE / "page.js").read_text(encoding="utf-8")
