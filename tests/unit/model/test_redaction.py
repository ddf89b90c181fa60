"""What a run has seen of a Secret stands in nothing that is shown of it, whatever it holds and in whatever form."""

from __future__ import annotations

import base64
import gzip
import json
import random
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.model import redaction
from ansible_operator.model.redaction import HIDDEN, OVERFLOW, Redactor
from tests.support.properties import json_values

# Without the star, of which the marks consist that are put in place of secrets.
characters = st.characters(exclude_categories=["Cs"], exclude_characters="*")
secrets = st.text(characters, min_size=4, max_size=40).filter(
    lambda text: len(text.strip()) >= 4 and text.strip().lower() not in redaction._EVERYDAY
)
words = st.text(characters, max_size=20)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def secret_object(*values: str, field: str = "data") -> dict[str, Any]:
    data = {f"key{n}": encoded(value) if field == "data" else value for n, value in enumerate(values)}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, field: data}


def knowing(*values: str) -> Redactor:
    redactor = Redactor()
    redactor.learn({"res": {"resources": [secret_object(*values)]}})
    return redactor


def texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value, keys included."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)
    else:
        yield str(value)


FORMS = {
    "decoded": lambda secret: secret,
    "base64": encoded,
    "base64 without its line break": lambda secret: encoded(secret.strip()),
    "base64 for URLs": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
    "in JSON": lambda secret: json.dumps(secret)[1:-1],
    "in JSON as it is": lambda secret: json.dumps(secret, ensure_ascii=False)[1:-1],
    "in JSON in JSON": lambda secret: json.dumps(json.dumps(secret)[1:-1])[1:-1],
    "in Python": lambda secret: repr(secret)[1:-1],
    "in a URL": lambda secret: quote(secret, safe=""),
}


@pytest.mark.parametrize("form", FORMS)
@given(secrets, secrets, words, words)
def test_no_form_of_a_secret_is_left_in_a_text(form: str, secret: str, other: str, before: str, behind: str) -> None:
    shown = FORMS[form](secret)
    text = knowing(other, secret).text(f"{before}{shown}{behind}{shown}")
    assert shown.strip() not in text
    assert secret.strip() not in text


@pytest.mark.parametrize("field", ["data", "stringData"])
@given(secrets, json_values, words)
def test_no_secret_is_left_in_a_result(field: str, secret: str, other: Any, name: str) -> None:
    document = {
        "item": secret,
        "resources": [secret_object(secret, field=field), {name: [secret, {secret: other}]}],
        "stdout_lines": ["a", f"x{encoded(secret)}y"],
    }
    redactor = Redactor()
    redactor.learn(document)
    for text in texts(redactor.value(document)):
        assert secret.strip() not in text
        assert encoded(secret) not in text


@given(st.lists(secrets, min_size=1, max_size=6), st.lists(words, max_size=4))
def test_no_secret_is_left_when_several_stand_in_one_text_in_any_way(values: list[str], between: list[str]) -> None:
    text = "".join([*values, *between, *reversed(values), *map(encoded, values)])
    shown = knowing(*values).text(text)
    for value in values:
        assert value.strip() not in shown
        assert encoded(value) not in shown


@given(st.lists(st.text("abc", min_size=6, max_size=9), min_size=1, max_size=5), st.integers(0, 200))
def test_secrets_that_overlap_are_hidden_as_well(values: list[str], cut: int) -> None:
    text = "".join(values * 5)[cut:]
    shown = knowing(*values).text(text)
    assert not [value for value in values if value in shown]


@given(secrets, st.integers(0, 120))
def test_no_secret_is_left_where_a_text_is_cut(secret: str, limit: int) -> None:
    text = f"a word, {secret} and {secret}, {encoded(secret)}."
    shown = knowing(secret).shortened(text, limit)
    assert secret.strip() not in shown
    for length in range(4, len(secret) + 1):  # nor a part of it at the cut
        assert not shown.partition(" ... (")[0].endswith(secret[:length])


def test_a_password_in_a_url_is_not_shown_where_the_cut_makes_it_look_like_something_else() -> None:
    text = "see https://me:pa55w0rd-that-is-rather-long-too@db/x and so on"
    for limit in range(len(text)):
        assert "rd-that" not in Redactor().shortened(text, limit)


def test_nor_is_a_part_of_a_secret_with_blanks_where_the_cut_is_at_a_blank() -> None:
    text = "they say correct horse b and so on"
    for limit in range(len(text)):
        assert "corr" not in knowing("correct horse b").shortened(text, limit)


@given(st.text("abcdefghijklmnop", min_size=40, max_size=200), st.integers(16, 39))
def test_the_beginning_of_a_long_secret_is_hidden_where_another_has_cut_it(secret: str, length: int) -> None:
    assert knowing(secret).text(f"> {secret[:length]}...") == f"> {HIDDEN}..."


@given(st.lists(st.text("abcdefgh", min_size=6, max_size=12), min_size=2, max_size=6))
def test_the_lines_of_a_secret_are_hidden_one_by_one(lines: list[str]) -> None:
    redactor = knowing("\n".join(lines))
    assert redactor.value([f"> {line}" for line in lines]) == [f"> {HIDDEN}"] * len(lines)
    assert not [line for line in lines if line in redactor.text("\r\n".join(lines))]


def test_a_huge_secret_is_hidden_to_its_end() -> None:
    secret = encoded("".join(map(chr, range(32, 127))) * 1000)
    redactor = Redactor()
    redactor.add(secret)
    assert redactor.text(f"<< {secret} >>") == f"<< {HIDDEN} >>"


@pytest.mark.parametrize("value", ["abc", "true", "", "   ", "localhost"])
def test_what_is_short_or_everyday_is_hidden_in_the_secret_only(value: str) -> None:
    redactor = knowing(value)
    assert redactor.text(f"it is {value} here") == f"it is {value} here"
    assert redactor.value(secret_object(value))["data"] == {"key0": HIDDEN}


def test_a_number_can_be_a_secret() -> None:
    assert knowing("12345678").value([12345678, 12, True, None, 1.5]) == [HIDDEN, 12, True, None, 1.5]


def test_a_redactor_that_knows_nothing_changes_nothing() -> None:
    value = {"a": ["text", 1, None, True, {"b": "ünï"}], "data": {"x": "y"}}
    assert Redactor().value(value) == value
    assert Redactor().text("plain text") == "plain text"


@given(json_values)
def test_a_value_without_secrets_stays_as_it_is(value: Any) -> None:
    assert Redactor().value({"value": value}, 10**9) == {"value": value}


# --- credentials by their form ---------------------------------------------------------------------------------------

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl-_x"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"got {JWT}, bad", "got ***, bad"),
        (f"line\\n{JWT}\\n", "line\\n***\\n"),
        ("Authorization: Bearer abcdef0123456789", "Authorization: Bearer ***"),
        ("{'Authorization': 'bearer abcdef0123456789'}", "{'Authorization': 'bearer ***'}"),
        ('{\\"authorization\\": \\"Basic dXNlcjpwYXNz\\"}', '{\\"authorization\\": \\"Basic ***\\"}'),
        ("GET https://me:pa55@db:5432/x?y failed", "GET https://me:***@db:5432/x?y failed"),
        ("amqp://u:p@ss@host", "amqp://u:***@host"),
        ("http://host:80/a@b", "http://host:80/a@b"),
        ("mysql --password=hunter2 -u x", "mysql --password=*** -u x"),
        ("PGPASSWORD=hunter2", "PGPASSWORD=***"),
        ("?token=abc&x=1", "?token=***&x=1"),
        ('"client_secret": "abc"', '"client_secret": "***"'),
        ('{\\"password\\": \\"abc\\"}', '{\\"password\\": \\"***\\"}'),
        ("the bearer of bad news", "the bearer of bad news"),
        ("password: required", "password: required"),
        ("a.b.c eyJust.a.word", "a.b.c eyJust.a.word"),
    ],
)
def test_credentials_are_known_by_their_form(text: str, shown: str) -> None:
    assert Redactor().text(text) == shown


def test_credentials_are_known_by_the_name_of_their_field() -> None:
    value = {
        "password": "x",
        "db_password": "x",
        "apiKey": "x",
        "rootPassword": "x",
        "token": 5,
        "tokenName": "x",
        "Authorization": "x",
    }
    assert Redactor().value(value) == {
        "password": HIDDEN,
        "db_password": HIDDEN,
        "apiKey": HIDDEN,
        "rootPassword": HIDDEN,
        "token": 5,
        "tokenName": "x",
        "Authorization": HIDDEN,
    }


# --- bounds ----------------------------------------------------------------------------------------------------------


def test_a_run_that_reads_more_than_can_be_known_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "MAX_KNOWN", 1000)
    redactor = knowing(*(f"secret number {n}" for n in range(20)))
    assert redactor.text("anything") == OVERFLOW
    assert redactor.value({"a": 1}) == OVERFLOW
    assert redactor.shortened("anything " * 100, 10) == OVERFLOW


def test_a_copy_is_bounded_in_breadth_and_depth() -> None:
    deep: Any = "bottom"
    for _ in range(1000):
        deep = [deep]
    assert "bottom" not in json.dumps(Redactor().value(deep))
    wide = Redactor().value({f"key{n}": "x" * 100 for n in range(10_000)}, 5000)
    assert len(json.dumps(wide)) < 7000
    assert wide["..."] == "..."


def seconds(redactor: Redactor, text: str) -> float:
    started = time.process_time()
    redactor.text(text)
    return time.process_time() - started


@pytest.mark.parametrize(
    "unit",
    [
        "aaaa",
        "://a:",
        "eyJ.-",
        "bearer ",
        "authorization: ",
        'password="',
        "secret number 1 is not this ",
        "\\\\\\",
        "token=",
    ],
)
def test_the_time_grows_with_the_text_and_not_with_its_square(unit: str) -> None:
    """Sixteen times the text takes 16 times the time; a square would take 256 times."""
    redactor = knowing(*(f"secret number {n} of many, and rather long" for n in range(500)), "aaaaab", "a" * 50 + "b")
    small = unit * (20_000 // len(unit))
    once = min(seconds(redactor, small) for _ in range(3))
    assert seconds(redactor, small * 16) < 80 * max(once, 0.001)


def release_record(number: int) -> str:
    """As Helm keeps a release in a Secret's `data`."""
    manifest = random.Random(number).randbytes(9000).hex()
    content = json.dumps({"name": f"r{number}", "version": number, "manifest": manifest})
    return encoded(base64.b64encode(gzip.compress(content.encode())).decode())


def test_hundreds_of_release_records_are_known_and_hidden_to_their_end() -> None:
    """Each has more than ten kilobytes: known in every form, 130 were all that there was room for."""
    records = [release_record(number) for number in range(1000)]
    redactor = knowing("hunter22")
    for record in records:
        redactor.learn(secret_object(base64.b64decode(record).decode()))
    assert not redactor.overflowed
    for record in (records[0], records[-1]):
        for shown in (record, base64.b64decode(record).decode()):
            assert len(shown) > 10_000
            assert redactor.text(f'{{"release":"{shown}","type":1}} hunter22') == '{"release":"***","type":1} ***'


def test_what_begins_like_a_record_and_is_short_is_a_secret_like_others() -> None:
    short = base64.b64encode(gzip.compress(b"hunter2")).decode()
    redactor = knowing(short)
    assert redactor.text(f"{short} {encoded(short)} {quote(short, safe='')}") == "*** *** ***"
