"""Expansion of variables in the raw text of a watches file, as Go's ``os.Expand`` does it (contract 4.2)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.config.expansion import expand
from tests.support.properties import settings

ENVIRONMENT = {"FOO": "bar", "EMPTY": "", "_x1": "under", "my.var": "dotted", "A-B": "hyphen", "NESTED": "$FOO"}

TABLE = {
    "$FOO": "bar",
    "${FOO}": "bar",
    "a${FOO}b": "abarb",
    "$FOO.txt": "bar.txt",
    "$FOO$FOO": "barbar",
    "$FOOD": "${FOOD}",
    "${FOO}D": "barD",
    "$_x1": "under",
    "$EMPTY": "",
    "${EMPTY}": "",
    "$UNSET": "${UNSET}",
    "${UNSET}": "${UNSET}",
    "${my.var}": "dotted",
    "$my.var": "${my}.var",
    "${A-B}": "hyphen",
    "${FOO:-default}": "${FOO:-default}",
    "${not a name}": "${not a name}",
    "${ $FOO }": "${ $FOO }",
    "$NESTED": "$FOO",
    "$$": "${$}",
    "$$FOO": "${$}FOO",
    "${$}": "${$}",
    "$1": "${1}",
    "$12": "${1}2",
    "${12}": "${12}",
    "$1abc": "${1}abc",
    "$*": "${*}",
    "$?": "${?}",
    "$-": "${-}",
    "$": "$",
    "^a$": "^a$",
    "cost: 5$ each": "cost: 5$ each",
    "$ FOO": "$ FOO",
    "$(cmd)": "$(cmd)",
    "$(FOO)": "$(FOO)",
    '"$"': '"$"',
    "$é": "$é",
    "${}": "",
    "a${}b": "ab",
    "${": "",
    "a${": "a",
    "${FOO": "FOO",
    "${FOO\n$FOO": "FOO\nbar",
    r"\$FOO": r"\bar",
    "{{ FOO }}": "{{ FOO }}",
    "{{ $FOO }}": "{{ bar }}",
}


@pytest.mark.parametrize(("text", "expanded"), TABLE.items(), ids=TABLE)
def test_the_table(text: str, expanded: str) -> None:
    assert expand(text, ENVIRONMENT) == expanded


@given(st.text(st.characters(exclude_characters="$")))
def test_a_text_without_a_dollar_stays_as_it_is(text: str) -> None:
    assert expand(text, ENVIRONMENT) == text


DOLLARS = st.text(st.sampled_from("$${}FOO_x1 .-*(\n")) | st.text()


@settings(max_examples=500)
@given(DOLLARS)
def test_every_text_expands_as_in_go(text: str) -> None:
    assert expand(text, ENVIRONMENT) == go_expand(text)


def go_expand(text: str) -> str:
    """os.Expand, transcribed, with the operator's mapping."""
    result, position = "", 0
    while position < len(text):
        char = text[position]
        if char == "$" and position + 1 < len(text):
            name, width = shell_name(text[position + 1 :])
            if not name and width == 0:
                result += char
            elif name:
                result += ENVIRONMENT.get(name, f"${{{name}}}")
            position += width
        else:
            result += char
        position += 1
    return result


def shell_name(text: str) -> tuple[str, int]:
    special = "*#$@!?-0123456789"
    if text[0] == "{":
        if len(text) > 2 and text[1] in special and text[2] == "}":
            return text[1], 3
        end = text.find("}")
        if end == 1:
            return "", 2
        return (text[1:end], end + 1) if end > 0 else ("", 1)
    if text[0] in special:
        return text[0], 1
    width = 0
    while width < len(text) and text[width].isascii() and (text[width].isalnum() or text[width] == "_"):
        width += 1
    return text[:width], width
