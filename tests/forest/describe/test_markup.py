"""Text is never interpreted as markup."""

from xml.etree import ElementTree as ET

import pytest

from weald.forest.describe.markup import Markup, join, legible, tag

HOSTILE = [
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "</style>&amp;\x00\n",
    "\u202egnirts \ud800",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_and_attributes_are_escaped(text):
    made = tag("p", text, title=text)
    inside = made.removeprefix("<p title=").removesuffix("</p>")
    assert made.count("<") == 2 and made.count(">") == 2, made  # noqa: PT018
    assert inside.count('"') == 2
    made.encode("utf-8")


def test_markup_is_not_escaped_twice_and_becomes_text_when_added_to():
    made = tag("b", "a < b")
    assert tag("p", made) == "<p><b>a &lt; b</b></p>"
    assert tag("p", made + "<i>") == "<p>&lt;b&gt;a &amp;lt; b&lt;/b&gt;&lt;i&gt;</p>"
    assert isinstance(join(made, "<"), Markup)


def test_attributes_have_the_names_of_html():
    assert tag("meta", http_equiv="x", hidden=True, open=False, title=None, class_="c") == (
        '<meta http-equiv="x" hidden class="c">'
    )


def test_signs_that_change_the_text_around_them_are_replaced():
    assert legible("a\u202eb\x00c é 漢") == "a�b�c é 漢"


def test_every_character_makes_well_formed_markup():
    text = "".join(map(chr, [*range(0x3000), *range(0xD7F0, 0xE010), *range(0xFDD0, 0x10010), 0x1FFFE, 0x10FFFF]))
    read = ET.fromstring(tag("p", text, title=text))  # noqa: S314  (written here)
    assert read.text == read.attrib["title"] == legible(text)
