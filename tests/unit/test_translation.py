"""A translated page follows its original: the same sections, commands, values and links, and what was read is noted.

Below each heading of the translation stands the digest of the section that it was made from. Who changes the original
looks at the translation, and writes the new digest there; nothing writes it for him.
"""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from tests.support.documents import PAGES, ROOT, blocks, commands, links, sections

TRANSLATIONS = [page for page in PAGES if page.name.endswith(".zh-CN.md")]
NOTE = re.compile(r"^<!-- follows: ([0-9a-f]{12}) -->$", re.MULTILINE)

pytestmark = pytest.mark.parametrize("page", TRANSLATIONS, ids=lambda page: str(page.relative_to(ROOT)))


def original(page: Path) -> Path:
    return page.with_name(page.name.replace(".zh-CN", ""))


def digest(body: str) -> str:
    return sha256(body.encode()).hexdigest()[:12]


def stale(english: str, translated: str) -> list[str]:
    """The headings of the original whose text is not the one that was translated, with the digest to note."""
    pairs = zip(sections(english), sections(translated), strict=True)
    return [
        f"{heading}: read its translation, then note <!-- follows: {digest(body)} -->"
        for (heading, body), (_, text) in pairs
        if NOTE.findall(text) != [digest(body)]
    ]


def test_it_has_the_same_sections(page: Path) -> None:
    levels = [[heading.partition(" ")[0] for heading, _ in sections(one.read_text())] for one in (original(page), page)]
    assert levels[0] == levels[1]


def test_each_section_was_read_since_the_original_changed(page: Path) -> None:
    assert stale(original(page).read_text(), page.read_text()) == []


def test_a_section_that_changed_is_noticed(page: Path) -> None:
    changed = original(page).read_text().replace("kubeconfig", "kube-config", 1)
    assert len(stale(changed, page.read_text())) == 1


def test_commands_and_values_are_the_same(page: Path) -> None:
    for language in ("console", "yaml"):
        ours, theirs = blocks(original(page), language), blocks(page, language)
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            if language == "console":
                assert commands(one) == commands(other)
            else:
                assert yaml.safe_load(one.text) == yaml.safe_load(other.text)


def test_links_and_code_are_the_same(page: Path) -> None:
    pair = original(page), page
    spans, targets = ([set(read(one.read_text())) for one in pair] for read in (code_spans, links))
    assert spans[0] == spans[1]
    assert targets[0] - {page.name} == targets[1] - {original(page).name}


def code_spans(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
