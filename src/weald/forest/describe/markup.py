"""HTML and SVG with escaped text.

    Markup   text that is HTML already; everything else is escaped
    legible  text with unprintable characters replaced
    tag      an element with attributes and content
    join     concatenates pieces

Names and labels come from the user's table and may contain anything. Only `tag` creates markup, so they cannot.
"""

from html import escape

VOID = frozenset({"meta", "input", "br"})  # elements without content or end


class Markup(str):
    """HTML. Adding anything to it gives plain text again, which the next `tag` escapes."""

    __slots__ = ()


def legible(text: str) -> str:
    """Replace control characters and surrogates, which cannot be shown or would affect other text."""
    printable = "".join(c if c.isprintable() or c == " " else "�" for c in text)
    return printable.encode("utf-8", "replace").decode("utf-8")


def safe(text: str) -> str:
    """Escape the user's text."""
    return text if isinstance(text, Markup) else escape(legible(text))


def join(*pieces: str, between: str = "") -> Markup:
    """Concatenate pieces."""
    return Markup(between.join(safe(piece) for piece in pieces))


def tag(name: str, /, *content: str, **attributes: object) -> Markup:
    """Make an element.

    Parameters
    ----------
    name : str
        The name of the element.
    *content : str or Markup
        The content; text is escaped.
    **attributes
        `class_` is class, `aria_label` is aria-label. None and False are left out, True has no value.

    Returns
    -------
    Markup

    Examples
    --------
    >>> from weald.forest.describe.markup import tag
    >>> print(tag("p", "1 < 2, ", tag("b", "<script>"), class_="note"))
    <p class="note">1 &lt; 2, <b>&lt;script&gt;</b></p>
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    if name in VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{join(*content)}</{name}>")


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    if isinstance(value, bool):
        return f" {name}" if value else ""
    shown = f"{value:.5g}" if isinstance(value, float) else str(value)
    return f' {name}="{escape(legible(shown))}"'
