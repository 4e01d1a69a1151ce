"""All sections as one self-contained HTML file.

The Content-Security-Policy in the head allows only the page's own script, identified by its hash, and no loading of
other resources: even text that became markup by mistake cannot run a script.
"""

import base64
import hashlib
from collections.abc import Sequence

from weald.forest.describe.markup import Markup, join, tag
from weald.reports.guides import GUIDES, WHERE
from weald.reports.section import Section
from weald.reports.style import script, style


def write_page(title: str, words: str, cards: Sequence[tuple[str, str]], sections: Sequence[Section], foot: str) -> str:
    """Assemble the page."""
    links = (tag("li", tag("a", section.title.split(":")[0], href=f"#{section.name}")) for section in sections)
    theme = tag("button", "Light or dark", type="button", class_="theme", aria_pressed="false")
    nav = tag("nav", tag("ul", *links), tag("div", theme, class_="tools"), aria_label="Sections")
    facts = (tag("li", tag("span", words_), tag("b", figure)) for words_, figure in cards)
    header = tag("header", tag("h1", title), tag("p", words, class_="sub"), tag("ul", *facts, class_="cards"))
    main = tag("main", *(_show(section) for section in sections), id="main")
    skip = tag("a", "Skip to the content", href="#main", class_="skip")
    body = tag(
        "body",
        skip,
        tag("div", header, nav, main, tag("footer", foot, " ", WHERE), class_="page"),
        tag("script", Markup(script())),
    )
    return "<!doctype html>\n" + tag("html", _head(title), body, lang="en") + "\n"


def _head(title: str) -> Markup:
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    rule = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=rule),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(style())),
    )


def _show(section: Section) -> Markup:
    head = join(tag("h2", section.title, id=f"{section.name}-title"), tag("p", section.lead, class_="lead"))
    guides = join(*(tag("cite", title, title=f"docs/{file}") for title, file in GUIDES[section.name]), between=", ")
    more = tag("p", "Guide: " if len(GUIDES[section.name]) == 1 else "Guides: ", guides, class_="guide")
    return tag("section", head, section.body, more, id=section.name, aria_labelledby=f"{section.name}-title")
